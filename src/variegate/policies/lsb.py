"""LSB, by LSBGreedy (Yue and Guestrin, NIPS 2011): learning over topic coverage."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_not_negative,
    check_numbers,
    check_positive,
)
from variegate.errors import InputError
from variegate.kernels.baselines import lsb_list
from variegate.kernels.layout import Layout
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import Estimate, Ridge
from variegate.model.search import Scorer
from variegate.model.slate import Slate, slate_of
from variegate.model.utility import Preferences, known_preferences
from variegate.policies.base import Explanation
from variegate.policies.ridge_policy import RidgePolicy


class LSB(RidgePolicy):
    """Choose by the upper bound on w . Delta, the topics that an item adds to those covered.

    Parameters
    ----------
    topics
        P(i | a), how much item a covers topic i, in [0, 1], (L, D); by default the features
        clipped to [0, 1], as in the simulation.
    ridge
        lambda.
    exploration
        alpha.
    """

    name = "lsb"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        topics: ArrayLike | None = None,
        ridge: float = 100.0,
        exploration: float = 1.0,
        normaliser: Normaliser = "growing",
    ) -> None:
        check_positive(ridge=ridge)
        check_not_negative(exploration=exploration)
        self.exploration = exploration
        self._topics = None if topics is None else _checked_topics(topics, catalogue)
        size = catalogue.d if self._topics is None else self._topics.shape[1]
        super().__init__(catalogue, Ridge(size, ridge), normaliser=normaliser)

    @property
    def topic_weights(self) -> FloatArray:
        """The estimate of w, one weight per topic, (D,)."""
        return self._ridge.estimate().mean

    def _preferences_of(self, estimate: Estimate) -> Preferences:
        # Weights of topics that are not the features are no preferences for features.
        if self._topics is None:
            return super()._preferences_of(estimate)
        return known_preferences(np.zeros(self.catalogue.d), np.zeros(self.catalogue.m))

    def _coverage(self, rows: IndexArray) -> FloatArray:
        if self._topics is not None:
            return self._topics[rows]
        return np.clip(self.catalogue.features[rows], 0.0, 1.0)

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate:
        bounds = self._upper_bounds(self.exploration)
        items, scores, gains = lsb_list(layout, free, k, bounds, self._topics)
        return self._slate_by_loops(layout, items, scores, gains)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        return CoverageBounds(self._coverage(rows), self._ridge.estimate(), self.exploration)

    def _slate(self, items: IndexArray, scores: FloatArray) -> Slate:
        gains = coverage_gains(self._coverage(items))
        return slate_of(self.catalogue, items, scores, self.normaliser, gains)

    def items_alone(self, items: ArrayLike) -> Slate:
        slate = super().items_alone(items)
        return replace(slate, coverage=self._coverage(slate.items))

    def _regressors(self, slate: Slate) -> FloatArray:
        size = len(self._ridge.response)
        if slate.coverage.shape != (len(slate), size):
            raise InputError(
                f"`slate` must carry the coverage of {size} topics, got shape "
                f"{slate.coverage.shape}: LSB accepts only its own slates"
            )
        return slate.coverage

    def _explain(self, slate: Slate) -> Explanation:
        weights = self._ridge.estimate().mean
        gains, alone = self._regressors(slate), self._coverage(slate.items)
        _mean, bonus = self._mean_and_bonus(gains, self.exploration)
        overlap = (gains - alone) @ weights
        return Explanation(alone @ weights, overlap[:, None], bonus, ("overlap",))


def coverage_gains(coverage: FloatArray) -> FloatArray:
    """Return Delta_i(a | A) = P(i | a) prod (1 - P(i | b)) over the rows b above a, (k, D)."""
    left = np.cumprod(1.0 - coverage, axis=0)
    return coverage * np.vstack([np.ones((1, coverage.shape[1])), left[:-1]])


class CoverageBounds(Scorer):
    """w . Delta + alpha sqrt(Delta' M^-1 Delta) as topics are covered."""

    def __init__(self, coverage: FloatArray, estimate: Estimate, exploration: float) -> None:
        self._coverage, self._estimate, self._exploration = coverage, estimate, exploration
        self._uncovered = np.ones(coverage.shape[1])

    def __len__(self) -> int:
        return len(self._coverage)

    def scores(self) -> FloatArray:
        delta = self._coverage * self._uncovered
        bonus = np.sqrt(self._estimate.variances(delta))
        scores: FloatArray = delta @ self._estimate.mean + self._exploration * bonus
        return scores

    def take(self, place: int) -> None:
        self._uncovered = self._uncovered * (1.0 - self._coverage[place])

    def fresh(self) -> "CoverageBounds":
        other = copy(self)
        other._uncovered = np.ones_like(self._uncovered)
        return other


def _checked_topics(topics: ArrayLike, catalogue: Catalogue) -> FloatArray:
    table = check_numbers("topics", topics, ndim=2)
    if len(table) != len(catalogue):
        raise InputError(f"`topics` must have {len(catalogue)} rows, got {len(table)}")
    if table.min(initial=0.0) < 0.0 or table.max(initial=0.0) > 1.0:
        raise InputError(f"`topics` must lie from 0 to 1, got {table.min()} to {table.max()}")
    return table
