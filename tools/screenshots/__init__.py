"""Screenshots of the page, taken with a real browser: ``python -m tools.screenshots``."""
