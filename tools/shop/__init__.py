"""A made-up shop, for documents and measurements."""
