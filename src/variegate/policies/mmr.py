"""Maximal Marginal Relevance, as the paper defines it: relevance minus similarity to the list."""

from copy import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_choice,
    check_fraction,
    unit_rows,
)
from variegate.kernels.baselines import mmr_list
from variegate.kernels.layout import Layout, unit_features
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.search import Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation
from variegate.policies.logrank import LogRank


class MMR(LogRank):
    """Choose by alpha r_a - (1 - alpha) times the similarity to the items above.

    Parameters
    ----------
    trade_off
        alpha: 1 is LogRank, 0 considers similarity only.
    similarity
        ``mean`` cosine to the items above, as the paper defines it, or their ``max``, as
        Carbonell and Goldstein (1998). It is 0 for the first item.
    mean_user
        As for LogRank.
    """

    name = "mmr"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        trade_off: float = 0.9,
        similarity: Literal["mean", "max"] = "mean",
        mean_user: ArrayLike | None = None,
        normaliser: Normaliser = "growing",
    ) -> None:
        super().__init__(catalogue, mean_user=mean_user, normaliser=normaliser)
        check_fraction(trade_off=trade_off)
        check_choice("similarity", similarity, ("mean", "max"))
        self.trade_off, self.similarity = trade_off, similarity

    @property
    def label(self) -> str:
        return "MMR" if self.similarity == "mean" else "MMR (max)"

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate:
        units = unit_features(layout, self.catalogue.distances)
        items, scores = mmr_list(
            layout, units, free, k, self.mean_user, self.trade_off, self.similarity
        )
        return self._slate_by_loops(layout, items, scores)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> "MarginalRelevance":
        return MarginalRelevance(
            self.trade_off * self._relevance(rows),
            unit_rows(self.catalogue.features[rows]),
            1.0 - self.trade_off,
            self.similarity,
        )

    def _explain(self, slate: Slate) -> Explanation:
        scorer = self._scorer(slate.items, len(slate), None)
        relevance = scorer.relevance
        penalty = scorer.along(np.arange(len(slate))) - relevance
        return Explanation(relevance, penalty[:, None], np.zeros(len(slate)), ("similarity",))


class MarginalRelevance(Scorer):
    """Weighted relevance minus weighted similarity to the items taken."""

    def __init__(
        self, relevance: FloatArray, units: FloatArray, weight: float, similarity: str
    ) -> None:
        self.relevance, self._units = relevance, units
        self._weight, self._similarity = weight, similarity
        self._taken = 0
        self._sum, self._max = np.zeros(len(units)), np.full(len(units), -np.inf)

    def __len__(self) -> int:
        return len(self.relevance)

    def scores(self) -> FloatArray:
        if not self._taken:
            return self.relevance
        similarity = self._sum / self._taken if self._similarity == "mean" else self._max
        return self.relevance - self._weight * similarity

    def take(self, place: int) -> None:
        cosines = self._units @ self._units[place]
        self._taken += 1
        self._sum = self._sum + cosines
        self._max = np.maximum(self._max, cosines)

    def fresh(self) -> "MarginalRelevance":
        other = copy(self)
        other._taken = 0
        other._sum, other._max = np.zeros_like(self._sum), np.full_like(self._max, -np.inf)
        return other
