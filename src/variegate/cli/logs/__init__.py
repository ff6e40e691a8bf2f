"""What other policies would have earned, from a service's log."""
