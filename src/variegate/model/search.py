"""Searches for a list: greedy (Algorithm 1), non-oblivious greedy, local and exhaustive."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, islice, permutations
from math import comb, perm
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_count
from variegate.errors import InputError


class Scorer(ABC):
    """Scores the candidates for the next position, given those taken so far.

    Policies differ in their scorer: eta . Delta is the oracle, an upper confidence bound LMDH, a
    similarity penalty MMR, a determinant DC2B. The value of a list is the sum of the scores that
    its items had when they were taken.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def scores(self) -> FloatArray:
        """Return a score for each candidate, given those taken so far, (n,)."""

    @abstractmethod
    def take(self, place: int) -> None:
        """Take the candidate at `place` for the next position."""

    @abstractmethod
    def fresh(self) -> "Scorer":
        """Return a scorer of the same candidates with nothing taken."""

    def along(self, places: IndexArray) -> FloatArray:
        """Return the score that each of `places` has when taken in this order, (k,)."""
        scorer, scores = self.fresh(), np.empty(len(places))
        for position, place in enumerate(places):
            scores[position] = scorer.scores()[place]
            scorer.take(int(place))
        return scores

    def values(self, lists: IndexArray) -> FloatArray:
        """Return the value of each list of places, one per row, (s,).

        A scorer whose value is a set function overrides this with something faster.
        """
        return np.array([self.along(places).sum() for places in lists])


#: Takes k candidates and returns their places in order, and the score of each when taken.
Search: TypeAlias = Callable[[Scorer, int], tuple[IndexArray, FloatArray]]


class FixedScores(Scorer):
    """Scores that do not depend on what was taken: the best k are the best list."""

    def __init__(self, scores: FloatArray) -> None:
        self._scores = scores

    def __len__(self) -> int:
        return len(self._scores)

    def scores(self) -> FloatArray:
        """Return the fixed scores."""
        return self._scores

    def take(self, place: int) -> None:
        """Change nothing."""

    def fresh(self) -> "FixedScores":
        """Return itself: it has no state."""
        return self


class Chooser(Protocol):
    """Chooses the candidate for each position by the scores; none twice."""

    def choose(self, position: int, scores: FloatArray) -> int:
        """Return the place of the candidate for a position, which counts from 0."""


class BestLeft:
    """Chooses the best candidate that was not taken, the first in case of ties."""

    def __init__(self, size: int) -> None:
        self._free = np.ones(size, dtype=np.bool_)

    def choose(self, position: int, scores: FloatArray) -> int:
        """Return the best candidate left."""
        place = int(np.argmax(np.where(self._free, scores, -np.inf)))
        self._free[place] = False
        return place


def greedy(scorer: Scorer, k: int, chooser: Chooser | None = None) -> tuple[IndexArray, FloatArray]:
    """Take `k` candidates, each the best given those taken before it (Algorithm 1).

    Ties go to the candidate that comes first. For a metric distance and non-negative
    preferences the list is worth at least a quarter of the best (Theorem 1). A `chooser` can limit
    what is taken.
    """
    return _take(scorer, k, chooser, relevance_share=1.0)


def non_oblivious_greedy(
    scorer: Scorer, k: int, chooser: Chooser | None = None
) -> tuple[IndexArray, FloatArray]:
    """Take `k` candidates by half of their relevance and all of their diversity.

    For a metric distance and non-negative preferences the list is worth at least half of
    the best (Borodin et al. 2012, Theorem 1). The score of a candidate before any pick is its
    relevance; the rest of its score is diversity.
    """
    return _take(scorer, k, chooser, relevance_share=0.5)


def _take(
    scorer: Scorer, k: int, chooser: Chooser | None, *, relevance_share: float
) -> tuple[IndexArray, FloatArray]:
    k, chooser = check_count(k, len(scorer)), chooser or BestLeft(len(scorer))
    scorer = scorer.fresh()
    held_back = (1.0 - relevance_share) * scorer.scores()
    places, scores_taken = np.empty(k, dtype=np.intp), np.empty(k)
    for position in range(k):
        scores = scorer.scores()
        place = chooser.choose(position, scores - held_back)
        places[position], scores_taken[position] = place, scores[place]
        scorer.take(place)
    return places, scores_taken


#: Lists valued at a time: bounds the memory.
BATCH = 20_000


def exhaustive(
    scorer: Scorer, k: int, *, ordered: bool = False, max_lists: int = 2_000_000
) -> tuple[IndexArray, FloatArray]:
    """Take the set of `k` candidates with the highest value of all sets.

    Each set is valued in the order of its places; with `ordered`, in every order, for scores whose
    value depends on it. More than
    `max_lists` lists raise InputError.
    """
    k = check_count(k, len(scorer))
    n_lists = perm(len(scorer), k) if ordered else comb(len(scorer), k)
    if n_lists > max_lists:
        raise InputError(
            f"`k` = {k} of {len(scorer)} candidates makes {n_lists:,} lists, more than "
            f"`max_lists` = {max_lists:,}: use greedy or local search"
        )
    best, best_value = np.empty(0, dtype=np.intp), -np.inf
    for lists in _batches(len(scorer), k, ordered):
        values = scorer.values(lists)
        place = int(np.argmax(values))
        if values[place] > best_value:
            best, best_value = lists[place], float(values[place])
    return best, scorer.along(best)


def _batches(n: int, k: int, ordered: bool) -> Iterator[IndexArray]:
    every = permutations(range(n), k) if ordered else combinations(range(n), k)
    while batch := list(islice(every, BATCH)):
        yield np.array(batch, dtype=np.intp)


#: Minimum relative gain of a swap, so that rounding cannot cause a cycle.
MIN_GAIN = 1e-12


def local_search(scorer: Scorer, k: int, *, max_swaps: int = 1000) -> tuple[IndexArray, FloatArray]:
    """Take the greedy list, then swap one item for one outside while that raises the value.

    The best of all swaps is made each time, at most `max_swaps` times. The list is never
    worth less than the greedy one; at a local optimum it is worth at least half of the best
    (Borodin et al. 2012, Theorem 2; for a metric distance and non-negative preferences).
    """
    places, scores = greedy(scorer, k)
    value = scores.sum()
    for _ in range(max_swaps):
        swaps = _swaps(places, len(scorer))
        if not len(swaps):
            break
        values = scorer.values(swaps)
        best = int(np.argmax(values))
        if values[best] <= value + MIN_GAIN * max(abs(value), 1.0):
            break
        places, value = swaps[best], values[best]
    return places, scorer.along(places)


def _swaps(places: IndexArray, n: int) -> IndexArray:
    """Return every list that differs from `places` in one position, (k (n - k), k)."""
    outside = np.setdiff1d(np.arange(n), places)
    swaps = np.tile(places, (len(places) * len(outside), 1))
    position = np.repeat(np.arange(len(places)), len(outside))
    swaps[np.arange(len(swaps)), position] = np.tile(outside, len(places))
    return swaps


#: The searches by name.
SEARCHES: Final[Mapping[str, Search]] = MappingProxyType(
    {
        "greedy": greedy,
        "non-oblivious": non_oblivious_greedy,
        "local": local_search,
        "exhaustive": exhaustive,
    }
)
