"""A feature of items from the likes of users: popularity."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import check_numbers
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue

#: Name of the popularity feature.
POPULARITY: Final = "popularity"


def add_popularity_feature(catalogue: Catalogue, counts: ArrayLike) -> Catalogue:
    """Return the catalogue with a feature "popularity": log(1 + count), scaled to at most 1.

    Parameters
    ----------
    counts
        How many users liked each item, (L,). For an evaluation, count training users only.

    Examples
    --------
    >>> shop = Catalogue(["a", "b", "c"], [[1.0], [0.5], [0.2]], "cosine")
    >>> add_popularity_feature(shop, [0, 1, 3]).features[:, 1].tolist()
    [0.0, 0.5, 1.0]
    """
    numbers = check_numbers("counts", counts, ndim=1)
    if numbers.shape != (len(catalogue),):
        raise InputError(
            f"`counts` must have {len(catalogue)} entries, one for each item, got {len(numbers)}"
        )
    if numbers.min() < 0:
        raise InputError(f"`counts` must be at least 0, got {numbers.min():g}")
    logarithms = np.log1p(numbers)
    largest = logarithms.max()
    column = logarithms / largest if largest > 0 else logarithms
    return catalogue.with_features({POPULARITY: column})
