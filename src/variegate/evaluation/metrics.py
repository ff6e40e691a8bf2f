"""Measures of a replay: the paper's, and other usual ones.

Lists are rows of the catalogue, (users, rounds, K), with -1 where a list was shorter; clicks have
the same shape. Measures per user have shape (users, rounds).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.evaluation.replay import ReplayTask, Trace
from variegate.files import atomic_write, open_npz
from variegate.model.distances import Distance

#: With more items than this, the distances of all pairs would take gigabytes.
MAX_ITEMS_IN_MEMORY: Final = 5000
#: Up to this length, a loop over pairs of positions is faster than a loop over lists.
MAX_LENGTH_IN_MEMORY: Final = 40


def recall(clicks: MaskArray, n_likes: IndexArray) -> FloatArray:
    """Return Recall(t) of each user: the share of their liked items that was shown by round t.

    Parameters
    ----------
    clicks
        Which positions were clicked, (users, rounds, K).
    n_likes
        How many items each user likes, at least 1, (users,).

    Examples
    --------
    >>> clicks = np.array([[[True, False], [False, True]]])
    >>> recall(clicks, n_likes=np.array([4]))
    array([[0.25, 0.5 ]])
    """
    if np.any(n_likes < 1):
        user = int(np.argmax(n_likes < 1))
        raise InputError(f"`n_likes` must be at least 1, got {n_likes[user]} for user {user}")
    hits: FloatArray = np.cumsum(clicks.sum(axis=2), axis=1) / n_likes[:, None]
    return hits


def list_diversity(lists: IndexArray, h: Distance, pairs: FloatArray | None = None) -> FloatArray:
    """Return the mean distance between the items of each list, (users, rounds).

    The diversity of a list with fewer than two items is 0. `pairs` are the distances from
    `pair_distances`, if they are known already.
    """
    k = lists.shape[2]
    pairs = pair_distances(h, k) if pairs is None else pairs
    if pairs is None:
        return _one_by_one(lists, h)
    total, count = np.zeros(lists.shape[:2]), np.zeros(lists.shape[:2])
    for i in range(k):
        for j in range(i):
            both = (lists[:, :, i] >= 0) & (lists[:, :, j] >= 0)
            total += np.where(both, pairs[lists[:, :, i], lists[:, :, j]], 0.0)
            count += both
    return total / np.maximum(count, 1.0)


def pair_distances(h: Distance, k: int) -> FloatArray | None:
    """Return the distances of all pairs, (L, L); None for too many items or too long lists."""
    return None if len(h) > MAX_ITEMS_IN_MEMORY or k > MAX_LENGTH_IN_MEMORY else h.matrix()


def _one_by_one(lists: IndexArray, h: Distance) -> FloatArray:
    """`list_diversity` list by list, with the distances of one list in memory."""
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
    """Return F_beta, in which recall has `beta` times the weight; 0 where both are 0.

    The paper computes it from the means over users, not per user.

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
    """Return the share of the catalogue that was shown to any user by round t, (rounds,)."""
    first = np.full(items, lists.shape[1])
    for t in reversed(range(lists.shape[1])):
        shown = lists[:, t]
        first[shown[shown >= 0]] = t
    shares: FloatArray = np.cumsum(np.bincount(first, minlength=lists.shape[1] + 1)[:-1]) / items
    return shares


def gini(lists: IndexArray, items: int) -> float:
    """Return the Gini coefficient of how often items are shown: 0 if equally often.

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

    Items that nobody liked count as liked by one. The mean is over the lists up to round t,
    (users, rounds).
    """
    surprise = -np.log2(np.maximum(popularity, 1.0) / max(users, 1))
    is_item = lists >= 0
    total = np.cumsum(np.where(is_item, surprise[lists], 0.0).sum(axis=2), axis=1)
    means: FloatArray = total / np.maximum(np.cumsum(is_item.sum(axis=2), axis=1), 1)
    return means


def hit_rate(lists: IndexArray, clicks: MaskArray) -> FloatArray:
    """Return the share of clicks at each position, over all users and rounds, (K,)."""
    shown = (lists >= 0).sum(axis=(0, 1))
    rates: FloatArray = clicks.sum(axis=(0, 1)) / np.maximum(shown, 1)
    return rates


@dataclass(frozen=True, eq=False)
class Scores:
    """The measures of one policy on one task."""

    label: str
    #: Recall(t) of each user, (users, rounds)
    recall: FloatArray
    #: Div(t) of each user, for each distance of the catalogue, (m, users, rounds)
    diversity: FloatArray
    #: Share of the catalogue that was shown to any user by round t, (rounds,)
    coverage: FloatArray
    #: Mean surprise of the items shown, (users, rounds); nan where popularity is not known
    novelty: FloatArray
    #: Share of clicks at each position, (K,)
    hits: FloatArray
    #: Gini coefficient of how often items are shown
    gini: float
    #: The names of the distances
    distances: tuple[str, ...]
    #: What was measured: policy, split and the like
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mean_recall(self) -> FloatArray:
        """Recall(t), mean over users, (rounds,)."""
        return np.asarray(self.recall.mean(axis=0))

    @property
    def mean_diversity(self) -> FloatArray:
        """Div(t) by the first distance, mean over users, (rounds,)."""
        return np.asarray(self.diversity[0].mean(axis=0))

    def f_score(self, beta: float = 1.0) -> FloatArray:
        """F_beta(t) of the mean recall and diversity, (rounds,)."""
        return f_score(self.mean_recall, self.mean_diversity, beta)

    def save(self, path: str | Path) -> None:
        """Write the scores to a file, atomically."""
        header = {
            "label": self.label,
            "gini": self.gini,
            "distances": self.distances,
            "settings": dict(self.settings),
        }
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        with atomic_write(path) as file:
            np.savez_compressed(file, allow_pickle=False, header=text, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Scores":
        """Read a file that `save` wrote, or raise DataError."""
        with open_npz(path, "scores") as arrays:
            header = json.loads(arrays["header"].tobytes())
            return cls(
                label=header["label"],
                gini=header["gini"],
                distances=tuple(header["distances"]),
                settings=header["settings"],
                **{name: arrays[name] for name in _ARRAYS},
            )


_ARRAYS = tuple(f.name for f in fields(Scores) if f.type is FloatArray)


def scores_of(
    trace: Trace,
    task: ReplayTask,
    settings: Mapping[str, Any] | None = None,
    *,
    pairs: Sequence[FloatArray | None] | None = None,
) -> Scores:
    """Return the measures of a trace.

    `pairs` are the `pair_distances` of the catalogue's distances, if they are known already.
    """
    catalogue = task.catalogue
    known = [None] * catalogue.m if pairs is None else pairs
    diversities = [
        diversity(trace.lists, h, each) for h, each in zip(catalogue.distances, known, strict=True)
    ]
    surprise = np.full(trace.lists.shape[:2], np.nan)
    if task.popularity is not None:
        surprise = novelty(trace.lists, task.popularity, task.training_users)
    return Scores(
        trace.label,
        recall(trace.clicks, task.n_likes),
        np.array(diversities).reshape(len(diversities), *trace.lists.shape[:2]),
        coverage(trace.lists, len(catalogue)),
        surprise,
        hit_rate(trace.lists, trace.clicks),
        gini(trace.lists, len(catalogue)),
        tuple(h.name for h in catalogue.distances),
        settings or {},
    )
