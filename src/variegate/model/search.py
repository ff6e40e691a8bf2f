"""What every list search needs to know of a score, and what it gives back."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, islice, permutations
from math import comb, perm
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_count
from variegate.errors import InputError


class Scorer(ABC):
    """Scores candidates for the next position, and is told which one got it.

    This is all that sets the policies apart: eta . Delta makes the oracle, an upper
    confidence bound LMDH, a similarity penalty MMR, a determinant DC2B. The value of a list
    is the sum of the scores that its items had, each when it was taken.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def scores(self) -> FloatArray:
        """Return a score for each candidate, given those taken so far, (n,)."""

    @abstractmethod
    def take(self, place: int) -> None:
        """Note that the candidate at `place` was taken."""

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
        """Return the value of each list of places, one a row, (s,).

        A scorer whose value is a set function does better than this to work out many.
        """
        return np.array([self.along(places).sum() for places in lists])


#: Takes k candidates: their places in the order taken, and the score that each had then.
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
        """Return itself: nothing was ever taken."""
        return self


# Greedy search over any way of scoring (Algorithm 1), and its non-oblivious sister.


def greedy(scorer: Scorer, k: int) -> tuple[IndexArray, FloatArray]:
    """Take `k` candidates, each the best given those taken before it (Algorithm 1).

    Ties go to the candidate that comes first. For a metric distance and non-negative
    preferences the list is worth at least a quarter of the best (Theorem 1).
    """
    return _taken(scorer, k, relevance_share=1.0)


def non_oblivious_greedy(scorer: Scorer, k: int) -> tuple[IndexArray, FloatArray]:
    """Take `k` candidates by half their relevance and all of their diversity.

    For a metric distance and non-negative preferences the list is worth at least half of
    the best (Borodin et al. 2012, Theorem 1). What a candidate scores with nothing taken
    is its relevance; the rest of its score is diversity.
    """
    return _taken(scorer, k, relevance_share=0.5)


def _taken(scorer: Scorer, k: int, *, relevance_share: float) -> tuple[IndexArray, FloatArray]:
    k = check_count(k, len(scorer))
    scorer = scorer.fresh()
    held_back = (1.0 - relevance_share) * scorer.scores()
    places, scores_taken = np.empty(k, dtype=np.intp), np.empty(k)
    free = np.ones(len(scorer), dtype=bool)
    for position in range(k):
        scores = scorer.scores()
        place = int(np.argmax(np.where(free, scores - held_back, -np.inf)))
        places[position], scores_taken[position] = place, scores[place]
        free[place] = False
        scorer.take(place)
    return places, scores_taken


# The best list of all, for sets small enough to look at every one.


#: Lists looked at in one go: bounds the memory.
BATCH = 20_000


def exhaustive(
    scorer: Scorer, k: int, *, ordered: bool = False, most: int = 2_000_000
) -> tuple[IndexArray, FloatArray]:
    """Take the set of `k` candidates with the highest value, looking at all of them.

    Each set is valued in the order of its places, which is the set's value for any score
    whose value does not depend on the order; `ordered` looks at every order. More than `most`
    lists raise InputError.
    """
    k = check_count(k, len(scorer))
    lists_in_all = perm(len(scorer), k) if ordered else comb(len(scorer), k)
    if lists_in_all > most:
        raise InputError(
            f"`k` = {k} of {len(scorer)} candidates makes {lists_in_all:,} lists, more than "
            f"`most` = {most:,}: take greedy or local search"
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


# Local search by swaps: what greedy found, bettered until no swap helps.


#: A swap must better the list's value by this share, so that rounding cannot go round in circles.
LEAST_GAIN = 1e-12


def local_search(
    scorer: Scorer, k: int, *, most_swaps: int = 1000
) -> tuple[IndexArray, FloatArray]:
    """Take the greedy list, then swap one item for one outside while that raises the value.

    The best of all swaps is made each time, at most `most_swaps` times. The list is never
    worth less than the greedy one; at a local optimum it is worth at least half of the best
    (Borodin et al. 2012, Theorem 2; for a metric distance and non-negative preferences).
    """
    places, scores = greedy(scorer, k)
    value = scores.sum()
    for _ in range(most_swaps):
        swaps = _swaps(places, len(scorer))
        if not len(swaps):
            break
        values = scorer.values(swaps)
        best = int(np.argmax(values))
        if values[best] <= value + LEAST_GAIN * max(abs(value), 1.0):
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


# Ways to search for a list, each over any way of scoring.


#: The searches by the name that options and commands call them.
SEARCHES: Final[Mapping[str, Search]] = MappingProxyType(
    {
        "greedy": greedy,
        "non-oblivious": non_oblivious_greedy,
        "local": local_search,
        "exhaustive": exhaustive,
    }
)
