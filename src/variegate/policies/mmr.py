"""Maximal Marginal Relevance, as the paper has it: relevance less likeness to the list."""

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
from variegate.kernels.layout import units_of
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.search import Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation, Policy
from variegate.policies.compiled import compiled_slate
from variegate.policies.logrank import checked_mean_user, relevance_scores


class MMR(Policy):
    """Pick by alpha r_a - (1 - alpha) times the likeness to the items above.

    Parameters
    ----------
    trade_off
        alpha: 1 is LogRank, 0 looks at likeness alone.
    likeness
        ``mean`` cosine to the items above, as the paper defines it, or the ``max`` of them,
        as Carbonell and Goldstein (1998) did. The first item has none above.
    mean_user
        As for LogRank.
    """

    name = "mmr"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        trade_off: float = 0.9,
        likeness: Literal["mean", "max"] = "mean",
        mean_user: ArrayLike | None = None,
        normaliser: Normaliser = "growing",
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_fraction(trade_off=trade_off)
        check_choice("likeness", likeness, ("mean", "max"))
        self.trade_off, self.likeness = trade_off, likeness
        self.mean_user = checked_mean_user(catalogue, mean_user)

    @property
    def label(self) -> str:
        return "MMR" if self.likeness == "mean" else "MMR (max)"

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        catalogue, layout = self.catalogue, self.catalogue.layout
        if layout is None:
            return super()._recommend(free, k, rng)
        units = units_of(layout, catalogue.distances)
        items, scores = mmr_list(
            layout, units, free, k, self.mean_user, self.trade_off, self.likeness
        )
        return compiled_slate(catalogue, layout, items, scores, self.normaliser)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> "MarginalRelevance":  # noqa: ARG002
        relevance = relevance_scores(self.catalogue, rows, self.mean_user)
        return MarginalRelevance(
            self.trade_off * relevance,
            unit_rows(self.catalogue.features[rows]),
            1.0 - self.trade_off,
            self.likeness,
        )

    def _explain(self, slate: Slate) -> Explanation:
        scorer = self._scorer(slate.items, len(slate), None)
        relevance = scorer.relevance
        penalty = scorer.along(np.arange(len(slate))) - relevance
        return Explanation(relevance, penalty[:, None], np.zeros(len(slate)), ("likeness",))


class MarginalRelevance(Scorer):
    """Weighted relevance less weighted likeness to what was taken."""

    def __init__(
        self, relevance: FloatArray, units: FloatArray, weight: float, likeness: str
    ) -> None:
        self.relevance, self._units = relevance, units
        self._weight, self._likeness = weight, likeness
        self._taken = 0
        self._sum, self._most = np.zeros(len(units)), np.full(len(units), -np.inf)

    def __len__(self) -> int:
        return len(self.relevance)

    def scores(self) -> FloatArray:
        if not self._taken:
            return self.relevance
        like = self._sum / self._taken if self._likeness == "mean" else self._most
        return self.relevance - self._weight * like

    def take(self, place: int) -> None:
        cosines = self._units @ self._units[place]
        self._taken += 1
        self._sum = self._sum + cosines
        self._most = np.maximum(self._most, cosines)

    def fresh(self) -> "MarginalRelevance":
        other = copy(self)
        other._taken = 0
        other._sum, other._most = np.zeros_like(self._sum), np.full_like(self._most, -np.inf)
        return other
