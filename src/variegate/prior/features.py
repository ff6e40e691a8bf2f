"""How many liked an item, as one more feature of it."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from variegate.arrays import FloatArray, IndexArray, check_count, check_numbers
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.catalogue_checks import selected_rows

#: What the feature is called.
POPULARITY: Final = "popularity"
#: How many tastes are told apart. A learner that starts from nothing cannot afford so many
#: features; one that starts from a prior knows beforehand which of them matter.
TASTES: Final = 20
#: What the first is called.
FIRST_TASTE: Final = "taste 1"


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
    >>> add_collaborative_features(shop, [[0], [1, 2], [1, 2]], tastes=1).feature_names[3:]
    ('popularity', 'taste 1')
    """
    rows = liked_rows(likes, len(catalogue))
    if POPULARITY not in catalogue.feature_names:
        counts = np.bincount(np.concatenate(rows), minlength=len(catalogue))
        catalogue = add_popularity_feature(catalogue, counts)
    if tastes == 0 or FIRST_TASTE in catalogue.feature_names:
        return catalogue
    return add_svd_features(catalogue, rows, count=tastes)


def add_popularity_feature(catalogue: Catalogue, counts: ArrayLike) -> Catalogue:
    """Return the catalogue with a feature "popularity": log(1 + count), the largest of them 1.

    Parameters
    ----------
    counts
        How many users liked each item, (L,): training users, where others are to be tested on.

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
    >>> more = add_svd_features(shop, [[0, 1], [0, 1], [0, 1], [2, 3], [2, 3]], count=2)
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


def liked_rows(likes: Iterable[ArrayLike], items: int) -> list[IndexArray]:
    """Return the rows that each user likes, sorted, but for users who like none."""
    if isinstance(likes, str) or not isinstance(likes, Iterable):
        raise InputError(f"`likes` must hold the rows that each user likes, got {likes!r}")
    rows = [np.unique(selected_rows("likes", liked, items)) for liked in likes]
    rows = [liked for liked in rows if len(liked)]
    if not rows:
        raise InputError("`likes` must hold at least one user who likes an item, got none")
    return rows
