"""Likes larger than memory: a generated log is prepared and a prior is fitted, with the memory."""
