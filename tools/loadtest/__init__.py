"""Load test: the rate of lists and feedback, compared with a route that does nothing."""
