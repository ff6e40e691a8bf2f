"""One script for each peer, run by the Python of an environment that holds that peer alone."""
