"""Epsilon-greedy: LogRank, with a random item in some positions."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_fraction, generator
from variegate.catalogue import Catalogue
from variegate.gains import Normaliser
from variegate.policies.base import Explanation, Policy
from variegate.policies.ranking import checked_mean_user, relevance_scores
from variegate.search import Scorer
from variegate.slate import Slate, slate_of


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

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        relevance = relevance_scores(self.catalogue, rows, self.mean_user)
        draw = generator(rng)
        explores = draw.random(k) < self.epsilon
        return SometimesRandom(relevance, explores, draw.random((int(explores.sum()), len(rows))))

    def _slate(self, items: IndexArray, scores: FloatArray) -> Slate:  # noqa: ARG002
        # A random pick was scored by its draw; what the item is worth is r_a.
        relevance = relevance_scores(self.catalogue, items, self.mean_user)
        return slate_of(self.catalogue, items, relevance, self.normaliser)

    def _explained(self, slate: Slate) -> Explanation:
        scores = relevance_scores(self.catalogue, slate.items, self.mean_user)
        return Explanation(scores, np.zeros((len(slate), 0)), np.zeros(len(slate)), ())


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
