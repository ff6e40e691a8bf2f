"""From files to a catalogue: loaders, splits, embeddings, builders and the bundled films."""

from typing import TYPE_CHECKING

from variegate.lazy import lazy_names

if TYPE_CHECKING:
    from variegate.data.als import fit_als as fit_als
    from variegate.data.anime import load_anime as load_anime
    from variegate.data.bpr import cache_folder as cache_folder
    from variegate.data.bpr import fit_bpr as fit_bpr
    from variegate.data.build import add_items as add_items
    from variegate.data.build import content_catalogue as content_catalogue
    from variegate.data.build import rated_catalogue as rated_catalogue
    from variegate.data.build import updated_catalogue as updated_catalogue
    from variegate.data.dataset import Dataset as Dataset
    from variegate.data.download import DATASETS as DATASETS
    from variegate.data.download import data_folder as data_folder
    from variegate.data.download import fetch_dataset as fetch_dataset
    from variegate.data.download import find_dataset as find_dataset
    from variegate.data.embeddings import Embeddings as Embeddings
    from variegate.data.embeddings import make_embeddings as make_embeddings
    from variegate.data.films import film_catalogue as film_catalogue
    from variegate.data.movielens import load_movielens_1m as load_movielens_1m
    from variegate.data.movielens import load_movielens_100k as load_movielens_100k
    from variegate.data.splits import Split as Split
    from variegate.data.splits import split_users as split_users
    from variegate.data.tables import load_items as load_items
    from variegate.data.tables import load_table as load_table
    from variegate.data.vectors import vector_catalogue as vector_catalogue
    from variegate.model.encoder import content_features as content_features
    from variegate.model.item_table import ItemTable as ItemTable

# A service that serves a catalogue needs none of the readers of tables and archives.
__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
