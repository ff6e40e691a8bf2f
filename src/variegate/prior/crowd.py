"""All that a crowd's likes tell of the items."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from variegate.model.catalogue import Catalogue
from variegate.prior.likes import liked_rows
from variegate.prior.popularity import POPULARITY, add_popularity_feature
from variegate.prior.tastes import FIRST_TASTE, TASTES, add_svd_features


def add_collaborative_features(
    catalogue: Catalogue, likes: Iterable[ArrayLike], *, tastes: int = TASTES
) -> Catalogue:
    """Return the catalogue with the popularity feature and the SVD features.

    What it has of them already stays as it is.

    Parameters
    ----------
    likes
        For each training user the rows of the items liked, or a mask of them.
    tastes
        How many directions of taste; 0 for none.

    Examples
    --------
    >>> shop = Catalogue(["tea", "rum", "ale"], np.eye(3), "cosine")
    >>> with_crowd(shop, [[0], [1, 2], [1, 2]], tastes=1).feature_names[3:]
    ('popularity', 'taste 1')
    """
    rows = liked_rows(likes, len(catalogue))
    if POPULARITY not in catalogue.feature_names:
        counts = np.bincount(np.concatenate(rows), minlength=len(catalogue))
        catalogue = add_popularity_feature(catalogue, counts)
    if tastes == 0 or FIRST_TASTE in catalogue.feature_names:
        return catalogue
    return add_svd_features(catalogue, rows, count=tastes)
