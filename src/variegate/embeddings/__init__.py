"""Item vectors: learnt from who liked what, or brought along from elsewhere."""

from variegate.embeddings.bpr import fit_bpr
from variegate.embeddings.cache import cache_folder
from variegate.embeddings.embeddings import Embeddings, embeddings_of
from variegate.embeddings.normalising import NORMALISATIONS, normalised

__all__ = [
    "NORMALISATIONS",
    "Embeddings",
    "cache_folder",
    "embeddings_of",
    "fit_bpr",
    "normalised",
]
