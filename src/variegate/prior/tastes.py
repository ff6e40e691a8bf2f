"""The tastes that run through a crowd's likes, as more features of the items."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from variegate.arrays import FloatArray, IndexArray, check_count
from variegate.model.catalogue import Catalogue
from variegate.prior.likes import liked_rows

#: How many tastes are told apart. A learner that starts from nothing cannot afford so many
#: features; one that starts from a prior knows beforehand which of them matter.
TASTES: Final = 20
#: What the first is called.
FIRST_TASTE: Final = "taste 1"


def add_svd_features(
    catalogue: Catalogue, likes: Iterable[ArrayLike], *, count: int = TASTES
) -> Catalogue:
    """Return the catalogue with features "taste 1", "taste 2", ... in the order of their weight.

    They are the leading right singular vectors of the matrix of users' likes: the directions in
    which likes go together, in [-1, 1]. Where users or items are fewer than `count` there are
    fewer.

    Parameters
    ----------
    likes
        For each training user the rows of the items liked, or a mask of them.

    Examples
    --------
    >>> shop = Catalogue(["tea", "mate", "rum", "ale"], np.eye(4), "cosine")
    >>> more = with_tastes(shop, [[0, 1], [0, 1], [0, 1], [2, 3], [2, 3]], count=2)
    >>> more.feature_names[4:]
    ('taste 1', 'taste 2')
    >>> np.abs(more.features[:, 4:]).round(1).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    check_count(count, 10_000, name="count", of="the most that make sense")
    directions = _directions(liked_rows(likes, len(catalogue)), len(catalogue), count)
    return catalogue.with_features(
        {f"taste {number}": column for number, column in enumerate(directions, 1)}
    )


def _directions(likes: list[IndexArray], items: int, count: int) -> FloatArray:
    """Return the directions, the weightiest first, (at most count, items)."""
    lengths = [len(rows) for rows in likes]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    table = csr_array((np.ones(ends[-1]), np.concatenate(likes), ends), shape=(len(likes), items))
    most = min(count, min(table.shape) - 1)
    if most < 1:
        return np.zeros((0, items))
    # A start of its own, so that every run finds the same.
    start = np.random.default_rng(0).standard_normal(min(table.shape))
    _, weights, found = svds(table, k=most, v0=start)
    directions = found[np.argsort(-weights, kind="stable")]
    extremes = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    # Neither sign nor length of a singular vector means anything.
    return np.asarray(directions / np.where(extremes == 0.0, 1.0, extremes))
