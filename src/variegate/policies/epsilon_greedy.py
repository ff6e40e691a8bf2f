"""Epsilon-greedy: LogRank, with a random item in some positions."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, MaskArray, as_generator, check_fraction
from variegate.kernels.baselines import top_list
from variegate.kernels.layout import Layout
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.search import Scorer
from variegate.model.slate import Slate, slate_of
from variegate.policies.base import linear_scores
from variegate.policies.logrank import LogRank


class EpsilonGreedy(LogRank):
    """In each position take a random item with probability epsilon, else the best one left.

    Parameters
    ----------
    epsilon
        The probability of a random item, for each position.
    mean_user
        As for LogRank.
    """

    name = "epsilon-greedy"
    is_stochastic = True

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        epsilon: float = 0.05,
        mean_user: ArrayLike | None = None,
        normaliser: Normaliser = "growing",
    ) -> None:
        super().__init__(catalogue, mean_user=mean_user, normaliser=normaliser)
        check_fraction(epsilon=epsilon)
        self.epsilon = epsilon

    @property
    def label(self) -> str:
        return "ε-Greedy"

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate:
        best, _ = top_list(layout, free, k, linear_scores(self.mean_user), squashed=True)
        explores, draws = self._drawn(k, int(np.count_nonzero(free)), rng)
        items = _mixed(best, np.flatnonzero(free), explores, draws) if len(draws) else best
        return self._slate_by_loops(layout, items, self._relevance(items))

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        return SometimesRandom(self._relevance(rows), *self._drawn(k, len(rows), rng))

    def _drawn(self, k: int, candidates: int, rng: Any) -> tuple[MaskArray, FloatArray]:
        """Return the positions that explore, and for each of them a number per candidate."""
        draw = as_generator(rng)
        explores = draw.random(k) < self.epsilon
        return explores, draw.random((int(explores.sum()), candidates))

    def _slate(self, items: IndexArray, scores: FloatArray) -> Slate:
        # A random item was scored by its random number; its own score is r_a.
        return slate_of(self.catalogue, items, self._relevance(items), self.normaliser)


def _mixed(
    best: IndexArray, rows: IndexArray, explores: MaskArray, draws: FloatArray
) -> IndexArray:
    """Return the list of greedy search with `SometimesRandom`, given the k best rows."""
    taken: list[int] = []
    drawn = iter(draws)
    for explore in explores:
        if explore:
            numbers = next(drawn)
            numbers[np.searchsorted(rows, taken)] = -np.inf
            taken.append(int(rows[np.argmax(numbers)]))
        else:
            taken.append(next(row for row in best.tolist() if row not in taken))
    return np.array(taken, dtype=np.intp)


class SometimesRandom(Scorer):
    """Relevance in most positions; in those that explore, a random number per candidate."""

    def __init__(self, relevance: FloatArray, explores: MaskArray, draws: FloatArray) -> None:
        # Drawn in advance, so that a list has the same value each time it is scored.
        drawn = iter(draws)
        self._rows = [next(drawn) if explore else relevance for explore in explores]
        self._position = 0

    def __len__(self) -> int:
        return len(self._rows[0])

    def scores(self) -> FloatArray:
        return self._rows[min(self._position, len(self._rows) - 1)]

    def take(self, place: int) -> None:
        self._position += 1

    def fresh(self) -> "SometimesRandom":
        other = copy(self)
        other._position = 0
        return other
