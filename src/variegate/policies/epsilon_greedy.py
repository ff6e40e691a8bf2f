"""Epsilon-greedy: LogRank, with a random item in some positions."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_fraction, generator
from variegate.kernels.baselines import top_list
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.search import Scorer
from variegate.model.slate import Slate, slate_of
from variegate.policies.base import Explanation, Policy
from variegate.policies.compiled import compiled_slate, weighted
from variegate.policies.logrank import checked_mean_user, relevance_scores


class EpsilonGreedy(Policy):
    """In each position take, with probability epsilon, any item, else the best that is left.

    Parameters
    ----------
    epsilon
        The chance of a random item, position by position.
    mean_user
        As for LogRank.
    """

    name = "epsilon-greedy"
    draws = True

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        epsilon: float = 0.05,
        mean_user: ArrayLike | None = None,
        normaliser: Normaliser = "growing",
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_fraction(epsilon=epsilon)
        self.epsilon = epsilon
        self.mean_user = checked_mean_user(catalogue, mean_user)

    @property
    def label(self) -> str:
        return "ε-Greedy"

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        layout = self.catalogue.layout
        if layout is None:
            return super()._recommend(free, k, rng)
        best, _ = top_list(layout, free, k, weighted(self.mean_user), squashed=True)
        explores, draws = self._drawn(k, int(np.count_nonzero(free)), rng)
        items = _mixed(best, np.flatnonzero(free), explores, draws) if len(draws) else best
        relevance = relevance_scores(self.catalogue, items, self.mean_user)
        return compiled_slate(self.catalogue, layout, items, relevance, self.normaliser)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        relevance = relevance_scores(self.catalogue, rows, self.mean_user)
        return SometimesRandom(relevance, *self._drawn(k, len(rows), rng))

    def _drawn(self, k: int, candidates: int, rng: Any) -> tuple[MaskArray, FloatArray]:
        """Return the positions that explore, and for each of them a number a candidate."""
        draw = generator(rng)
        explores = draw.random(k) < self.epsilon
        return explores, draw.random((int(explores.sum()), candidates))

    def _slate(self, items: IndexArray, scores: FloatArray) -> Slate:  # noqa: ARG002
        # A random pick was scored by its draw; what the item is worth is r_a.
        relevance = relevance_scores(self.catalogue, items, self.mean_user)
        return slate_of(self.catalogue, items, relevance, self.normaliser)

    def _explain(self, slate: Slate) -> Explanation:
        scores = relevance_scores(self.catalogue, slate.items, self.mean_user)
        return Explanation(scores, np.zeros((len(slate), 0)), np.zeros(len(slate)), ())


def _mixed(
    best: IndexArray, rows: IndexArray, explores: MaskArray, draws: FloatArray
) -> IndexArray:
    """Return what greedy search does with `SometimesRandom`, where `best` has the k best rows."""
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
    """Relevance in most positions; in those that explore, a number drawn for each candidate."""

    def __init__(self, relevance: FloatArray, explores: MaskArray, draws: FloatArray) -> None:
        # Drawn beforehand, so that a list keeps its value however often it is worked out.
        drawn = iter(draws)
        self._rows = [next(drawn) if explore else relevance for explore in explores]
        self._position = 0

    def __len__(self) -> int:
        return len(self._rows[0])

    def scores(self) -> FloatArray:
        return self._rows[min(self._position, len(self._rows) - 1)]

    def take(self, place: int) -> None:  # noqa: ARG002
        self._position += 1

    def fresh(self) -> "SometimesRandom":
        other = copy(self)
        other._position = 0
        return other
