"""Features of items from the likes of training users: popularity and SVD components."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from variegate.arrays import FloatArray, IndexArray, check_count, check_numbers
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue, check_rows

#: Name of the popularity feature.
POPULARITY: Final = "popularity"
#: Name of the first SVD feature.
FIRST_COMPONENT: Final = "taste 1"
#: SVD features by default. Without a prior, a learner cannot use so many features; a fitted
#: prior says in advance which of them matter.
N_COMPONENTS: Final = 20


def add_collaborative_features(
    catalogue: Catalogue, likes: Iterable[ArrayLike], *, n_components: int = N_COMPONENTS
) -> Catalogue:
    """Return the catalogue with the popularity feature and the SVD features.

    Those that it has already are kept.

    Parameters
    ----------
    likes
        For each training user the rows of the items liked, or a mask of them.
    n_components
        The number of SVD features; 0 for none.

    Examples
    --------
    >>> shop = Catalogue(["tea", "rum", "ale"], np.eye(3), "cosine")
    >>> more = add_collaborative_features(shop, [[0], [1, 2], [1, 2]], n_components=1)
    >>> more.feature_names[3:]
    ('popularity', 'taste 1')
    """
    rows = liked_rows(likes, len(catalogue))
    if POPULARITY not in catalogue.feature_names:
        counts = np.bincount(np.concatenate(rows), minlength=len(catalogue))
        catalogue = add_popularity_feature(catalogue, counts)
    if n_components == 0 or FIRST_COMPONENT in catalogue.feature_names:
        return catalogue
    return add_svd_features(catalogue, rows, n_components=n_components)


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


def add_svd_features(
    catalogue: Catalogue, likes: Iterable[ArrayLike], *, n_components: int = N_COMPONENTS
) -> Catalogue:
    """Return the catalogue with features "taste 1", "taste 2", ..., largest singular value first.

    They are the leading right singular vectors of the matrix of users' likes, scaled to
    [-1, 1]. There are fewer if there are fewer users or items than `n_components`.

    Parameters
    ----------
    likes
        For each training user the rows of the items liked, or a mask of them.
    n_components
        The number of features.

    Examples
    --------
    >>> shop = Catalogue(["tea", "mate", "rum", "ale"], np.eye(4), "cosine")
    >>> likes = [[0, 1], [0, 1], [0, 1], [2, 3], [2, 3]]
    >>> more = add_svd_features(shop, likes, n_components=2)
    >>> more.feature_names[4:]
    ('taste 1', 'taste 2')
    >>> np.abs(more.features[:, 4:]).round(1).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    check_count(n_components, 10_000, name="n_components", of="the maximum")
    vectors = _singular_vectors(liked_rows(likes, len(catalogue)), len(catalogue), n_components)
    return catalogue.with_features(
        {f"taste {number}": column for number, column in enumerate(vectors, 1)}
    )


def _singular_vectors(likes: list[IndexArray], items: int, count: int) -> FloatArray:
    """Return the leading right singular vectors, (at most count, items)."""
    lengths = [len(rows) for rows in likes]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    table = csr_array((np.ones(ends[-1]), np.concatenate(likes), ends), shape=(len(likes), items))
    available = min(count, min(table.shape) - 1)
    if available < 1:
        return np.zeros((0, items))
    # A fixed start, so that every run gives the same vectors.
    start = np.random.default_rng(0).standard_normal(min(table.shape))
    _, values, found = svds(table, k=available, v0=start)
    vectors = found[np.argsort(-values, kind="stable")]
    extremes = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=1)[:, None], axis=1)
    # Neither the sign nor the length of a singular vector has a meaning.
    return np.asarray(vectors / np.where(extremes == 0.0, 1.0, extremes))


def liked_rows(likes: Iterable[ArrayLike], items: int) -> list[IndexArray]:
    """Return the sorted rows that each user likes, without users who like none."""
    if isinstance(likes, str) or not isinstance(likes, Iterable):
        raise InputError(f"`likes` must hold the rows that each user likes, got {likes!r}")
    rows = [np.unique(check_rows("likes", liked, items)) for liked in likes]
    rows = [liked for liked in rows if len(liked)]
    if not rows:
        raise InputError("`likes` must hold at least one user who likes an item, got none")
    return rows
