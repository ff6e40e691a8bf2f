"""Ratings and item tables, from the files that they come in."""

from variegate.datasets.dataset import Dataset
from variegate.datasets.items import ItemTable

__all__ = ["Dataset", "ItemTable"]
