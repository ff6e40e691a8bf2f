"""The paper's measures of a replay, and what else people ask of one.

Lists come as rows of the catalogue, (users, rounds, K), with -1 where a list was shorter;
clicks have the same shape. Measures of users come back as (users, rounds).
"""

from typing import Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.model.distances import Distance

#: With more items than this, the distances of all pairs would take gigabytes.
MAX_ITEMS_IN_MEMORY: Final = 5000
#: Up to this length, going through the pairs of positions is quicker than through the lists.
MAX_LENGTH_IN_MEMORY: Final = 40


def recall(clicks: MaskArray, liked: IndexArray) -> FloatArray:
    """Return Recall(t) of each user: the share of what they like that was shown by round t.

    Parameters
    ----------
    clicks
        Which positions were clicked, (users, rounds, K).
    liked
        How many items each user likes, at least 1, (users,).

    Examples
    --------
    >>> clicks = np.array([[[True, False], [False, True]]])
    >>> recall(clicks, liked=np.array([4]))
    array([[0.25, 0.5 ]])
    """
    if np.any(liked < 1):
        user = int(np.argmax(liked < 1))
        raise InputError(f"`liked` must be at least 1, got {liked[user]} for user {user}")
    hits: FloatArray = np.cumsum(clicks.sum(axis=2), axis=1) / liked[:, None]
    return hits


def list_diversity(lists: IndexArray, h: Distance, pairs: FloatArray | None = None) -> FloatArray:
    """Return the mean distance between the items of each list, (users, rounds).

    A list of one item has no pairs: its diversity is 0, as is that of an empty one. `pairs` are
    the distances from `pair_distances`, if they are known already.
    """
    k = lists.shape[2]
    pairs = pair_distances(h, k) if pairs is None else pairs
    if pairs is None:
        return _one_by_one(lists, h)
    total, count = np.zeros(lists.shape[:2]), np.zeros(lists.shape[:2])
    for i in range(k):
        for j in range(i):
            there = (lists[:, :, i] >= 0) & (lists[:, :, j] >= 0)
            total += np.where(there, pairs[lists[:, :, i], lists[:, :, j]], 0.0)
            count += there
    return total / np.maximum(count, 1.0)


def pair_distances(h: Distance, k: int) -> FloatArray | None:
    """Return the distances of all pairs, (L, L); None for too many items or too long lists."""
    return None if len(h) > MAX_ITEMS_IN_MEMORY or k > MAX_LENGTH_IN_MEMORY else h.matrix()


def _one_by_one(lists: IndexArray, h: Distance) -> FloatArray:
    """Return what `list_diversity` does, with the memory of one list's distances."""
    means = np.zeros(lists.shape[:2])
    for place in np.ndindex(*means.shape):
        rows = lists[place][lists[place] >= 0]
        if len(rows) > 1:
            means[place] = h.among(rows).matrix().sum() / (len(rows) * (len(rows) - 1))
    return means


def diversity(lists: IndexArray, h: Distance, pairs: FloatArray | None = None) -> FloatArray:
    """Return Div(t) of each user: the mean diversity of the lists up to round t that had items.

    `pairs` as for `list_diversity`.
    """
    shown = (lists >= 0).any(axis=2)
    rounds = np.maximum(np.cumsum(shown, axis=1), 1)
    means: FloatArray = np.cumsum(list_diversity(lists, h, pairs), axis=1) / rounds
    return means


def f_score(recall: FloatArray, diversity: FloatArray, beta: float = 1.0) -> FloatArray:
    """Return F_beta, in which recall weighs `beta` times as much; 0 where both are 0.

    The paper takes it of the user-averaged recall and diversity, not of each user's.

    Examples
    --------
    >>> f_score(np.array([0.5, 0.0]), np.array([0.5, 0.0]))
    array([0.5, 0. ])
    """
    both = (1.0 + beta**2) * recall * diversity
    either = beta**2 * diversity + recall
    scores: FloatArray = np.zeros_like(both)
    return np.divide(both, either, out=scores, where=either > 0)


def coverage(lists: IndexArray, items: int) -> FloatArray:
    """Return the share of the catalogue that some user was shown by round t, (rounds,)."""
    first = np.full(items, lists.shape[1])
    for t in reversed(range(lists.shape[1])):
        shown = lists[:, t]
        first[shown[shown >= 0]] = t
    shares: FloatArray = np.cumsum(np.bincount(first, minlength=lists.shape[1] + 1)[:-1]) / items
    return shares


def gini(lists: IndexArray, items: int) -> float:
    """Return how unevenly showings fall on the items: 0 all alike, near 1 a few get them all.

    Examples
    --------
    >>> gini(np.array([[[0, 1]]]), items=2), gini(np.array([[[0, 0]]]), items=2)
    (0.0, 0.5)
    """
    shown = np.sort(np.bincount(lists[lists >= 0], minlength=items)).astype(np.float64)
    if shown.sum() == 0:
        return 0.0
    ranks = np.arange(1, items + 1)
    return float((2.0 * ranks - items - 1.0) @ shown / (items * shown.sum()))


def novelty(lists: IndexArray, popularity: FloatArray, users: int) -> FloatArray:
    """Return the mean of -log2 of the share of training users who liked a shown item.

    Items that nobody liked count as liked by one. Shape (users, rounds); lists up to round t.
    """
    surprise = -np.log2(np.maximum(popularity, 1.0) / max(users, 1))
    there = lists >= 0
    total = np.cumsum(np.where(there, surprise[lists], 0.0).sum(axis=2), axis=1)
    means: FloatArray = total / np.maximum(np.cumsum(there.sum(axis=2), axis=1), 1)
    return means


def hit_rate(lists: IndexArray, clicks: MaskArray) -> FloatArray:
    """Return the share of clicks at each position, over all users and rounds, (K,)."""
    shown = (lists >= 0).sum(axis=(0, 1))
    rates: FloatArray = clicks.sum(axis=(0, 1)) / np.maximum(shown, 1)
    return rates
