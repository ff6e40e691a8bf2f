"""All that a crowd's likes tell of the items."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from variegate.model.catalogue import Catalogue
from variegate.prior.likes import liked_rows
from variegate.prior.popularity import POPULARITY, with_popularity
from variegate.prior.tastes import FIRST_TASTE, TASTES, with_tastes


def with_crowd(
    catalogue: Catalogue, likes: Iterable[ArrayLike], *, tastes: int = TASTES
) -> Catalogue:
    """Return the catalogue with the features that `with_popularity` and `with_tastes` make.

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
        catalogue = with_popularity(catalogue, counts)
    if tastes == 0 or FIRST_TASTE in catalogue.feature_names:
        return catalogue
    return with_tastes(catalogue, rows, count=tastes)
