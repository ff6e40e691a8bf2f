"""What the service bears: many users at once, beside a route that does nothing."""
