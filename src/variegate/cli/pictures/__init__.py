"""Pictures of the page, taken with a real browser."""
