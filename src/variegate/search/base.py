"""What every list search needs to know of a score, and what it gives back."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray


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
