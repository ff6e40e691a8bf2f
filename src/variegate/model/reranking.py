"""`diversify`: diverse lists from given scores, without learning."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    check_choice,
    check_count,
    check_fraction,
    check_numbers,
)
from variegate.errors import InputError
from variegate.kernels import lmdh_list
from variegate.kernels.layout import layout_of
from variegate.kernels.vectors import vector_list
from variegate.model.catalogue import Catalogue
from variegate.model.catalogue_checks import check_distances, check_features
from variegate.model.distances import Distance
from variegate.model.search import SEARCHES
from variegate.model.utility import Utility

#: No uncertainty of two weights.
_KNOWN = np.zeros((2, 2))
#: Weight of the largest score if `diversity` is 1.
TIE_BREAK = 1e-12


def diversify(
    scores: ArrayLike,
    features: ArrayLike,
    k: int,
    *,
    diversity: float | Sequence[float] = 0.5,
    distances: str | Distance | Sequence[str | Distance] = "cosine",
    search: str = "greedy",
) -> IndexArray:
    """Return the rows of `k` items that score well and differ, in the order taken.

    The list's value is (1 - diversity) times its scores and diversity times its sum of
    distances; both greedy searches begin with the highest score. With one cosine distance
    and greedy search this is what pyversity calls MSD, so that
    ``pyversity.diversify(x, s, k, strategy="msd", diversity=0.5).indices`` becomes
    ``variegate.diversify(s, x, k, diversity=0.5)``.

    Parameters
    ----------
    scores
        How relevant each item is, (n,).
    features
        The items' vectors, on which distances given by name are computed, (n, d).
    k
        The number of items, from 1 to n.
    diversity
        From 0 (scores only) to 1 (distances only). With several distances, one weight each; the
        weight of the scores is 1 minus their sum.
    distances
        One or several, by name or with their own data; see `variegate.model.distances`.
    search
        ``greedy``, ``non-oblivious``, ``local`` or ``exhaustive``.

    Examples
    --------
    >>> vectors = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    >>> diversify([0.9, 0.8, 0.5], vectors, 2, diversity=0.5)
    array([0, 2])
    >>> diversify([0.9, 0.8, 0.5], vectors, 2, diversity=0.0)
    array([0, 1])
    """
    relevance = check_numbers("scores", scores, ndim=1)
    k = check_count(k, len(relevance), of="the items")
    check_choice("search", search, SEARCHES)
    if search == "greedy" and isinstance(distances, str) and distances == "cosine":
        weights = _weights(diversity, 1)
        rows = _list_from_vectors(_worth(relevance, weights), features, weights, k)
        if rows is not None:
            return rows
    vectors = check_features(features, len(relevance))
    bound = check_distances(distances, vectors)
    weights = _weights(diversity, len(bound))
    worth = _worth(relevance, weights)
    layout = layout_of(worth[:, None], bound) if search == "greedy" else None
    if layout is not None:
        # LMDH's list for known preferences: one feature, the score, with weight 1.
        eta = np.append(1.0, weights)
        known = np.zeros((len(eta), len(eta)))
        found = lmdh_list(layout, np.ones(len(worth), np.bool_), eta, known, 0.0, np.ones(k))
        if found is not None:
            return found[0]
    items = Catalogue(range(len(worth)), worth[:, None], bound)
    scorer = Utility(items, [1.0], weights).scorer(np.arange(len(worth)), k)
    places, _values = SEARCHES[search](scorer, k)
    return places


def _worth(relevance: FloatArray, weights: FloatArray) -> FloatArray:
    """Return what the scores add to a list."""
    # One scale for every position: the searches compare sums of gains. If only distances count,
    # scores still decide the first item and break ties.
    share = 1.0 - sum(weights.tolist())
    if share <= TIE_BREAK:
        share = max(share, TIE_BREAK / max(float(np.abs(relevance).max(initial=0.0)), 1.0))
    worth: FloatArray = share * relevance
    return worth


def _list_from_vectors(
    worth: FloatArray, features: ArrayLike, weights: FloatArray, k: int
) -> IndexArray | None:
    """Return the rows by the vectors as they are; None for other numbers and shapes."""
    vectors = np.asarray(features)
    if vectors.dtype not in (np.float32, np.float64) or vectors.ndim != 2:
        return None
    if len(vectors) != len(worth) or not vectors.shape[1]:
        return None
    everything = np.ones(len(worth), dtype=np.bool_)
    eta = np.array([1.0, float(weights[0])])
    rows = np.ascontiguousarray(vectors)
    found = vector_list(worth[:, None], rows, everything, eta, _KNOWN, 0.0, np.ones(k))
    return None if found is None else found[0]


def _weights(diversity: float | Sequence[float], m: int) -> FloatArray:
    if m == 1 and isinstance(diversity, float) and 0.0 <= diversity <= 1.0:
        return np.array([diversity])  # the usual case, without the checks below
    weights = check_numbers("diversity", np.atleast_1d(diversity), ndim=1)
    if weights.shape == (1,) and m > 1:
        weights = np.full(m, weights[0] / m)
    if weights.shape != (m,):
        raise InputError(
            f"`diversity` must be one number or one for each of {m} distances, got {diversity!r}"
        )
    for weight in weights:
        check_fraction(diversity=float(weight))
    if weights.sum() > 1.0 + 1e-12:
        raise InputError(f"`diversity` must add up to at most 1, got {weights.sum()}")
    return weights
