"""Candidates for lists out of large catalogues, found without looking at every item."""

from variegate.shortlist.shortlist import Shortlist, checked_shortlist, layout_of_rows

__all__ = ["Shortlist", "checked_shortlist", "layout_of_rows"]
