"""Ratings and item tables, from the files that they come in."""

from variegate.datasets.anime import load_anime
from variegate.datasets.dataset import Dataset
from variegate.datasets.fetch import fetch
from variegate.datasets.folders import data_folder, find
from variegate.datasets.item_file import load_items
from variegate.datasets.items import ItemTable
from variegate.datasets.movielens import load_movielens_1m, load_movielens_100k
from variegate.datasets.registry import DATASETS, KnownDataset
from variegate.datasets.split import Split, split_users
from variegate.datasets.table import load_table

__all__ = [
    "DATASETS",
    "Dataset",
    "ItemTable",
    "KnownDataset",
    "Split",
    "data_folder",
    "fetch",
    "find",
    "load_anime",
    "load_items",
    "load_movielens_1m",
    "load_movielens_100k",
    "load_table",
    "split_users",
]
