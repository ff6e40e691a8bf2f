"""From files to a catalogue: loaders, splits, embeddings, builders and the bundled films."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from variegate.data.anime import load_anime
    from variegate.data.bpr import cache_folder, fit_bpr
    from variegate.data.build import (
        add_items,
        content_catalogue,
        rated_catalogue,
        updated_catalogue,
    )
    from variegate.data.dataset import Dataset
    from variegate.data.download import DATASETS, data_folder, fetch_dataset, find_dataset
    from variegate.data.embeddings import Embeddings, make_embeddings
    from variegate.data.films import film_catalogue
    from variegate.data.movielens import load_movielens_1m, load_movielens_100k
    from variegate.data.splits import Split, split_users
    from variegate.data.tables import load_items, load_table
    from variegate.data.vectors import vector_catalogue
    from variegate.model.encoder import content_features
    from variegate.model.item_table import ItemTable

__all__ = [
    "DATASETS",
    "Dataset",
    "Embeddings",
    "ItemTable",
    "Split",
    "add_items",
    "cache_folder",
    "content_catalogue",
    "content_features",
    "data_folder",
    "fetch_dataset",
    "film_catalogue",
    "find_dataset",
    "fit_bpr",
    "load_anime",
    "load_items",
    "load_movielens_1m",
    "load_movielens_100k",
    "load_table",
    "make_embeddings",
    "rated_catalogue",
    "split_users",
    "updated_catalogue",
    "vector_catalogue",
]

#: The module of each name. It is imported at first use: a service that serves a catalogue needs
#: none of the readers of tables and archives.
_MODULES = {
    "load_anime": "data.anime",
    **dict.fromkeys(("cache_folder", "fit_bpr"), "data.bpr"),
    **dict.fromkeys(
        ("add_items", "content_catalogue", "rated_catalogue", "updated_catalogue"), "data.build"
    ),
    "Dataset": "data.dataset",
    **dict.fromkeys(("DATASETS", "data_folder", "fetch_dataset", "find_dataset"), "data.download"),
    **dict.fromkeys(("Embeddings", "make_embeddings"), "data.embeddings"),
    "film_catalogue": "data.films",
    **dict.fromkeys(("load_movielens_1m", "load_movielens_100k"), "data.movielens"),
    **dict.fromkeys(("Split", "split_users"), "data.splits"),
    **dict.fromkeys(("load_items", "load_table"), "data.tables"),
    "vector_catalogue": "data.vectors",
    "content_features": "model.encoder",
    "ItemTable": "model.item_table",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"variegate.{_MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
