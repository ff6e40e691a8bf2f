"""LSB, by LSBGreedy (Yue and Guestrin, NIPS 2011): learning over topic coverage."""

from collections.abc import Mapping
from copy import copy
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
from variegate.kernels.baselines import coverage_list
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import Estimate, Ridge
from variegate.model.search import Scorer
from variegate.model.slate import Slate, slate_of
from variegate.model.utility import Preferences
from variegate.policies.base import Explanation, Policy
from variegate.policies.compiled import bounded, compiled_slate
from variegate.policies.ridge_policy import (
    check_ridge,
    learnt_preferences,
    restore_ridge,
    ridge_arrays,
)


class LSB(Policy):
    """Pick by the upper bound on w . Delta, the topics that an item adds to those covered.

    Parameters
    ----------
    topics
        P(i | a), how much item a covers topic i, in [0, 1], (L, D); the features cut to
        [0, 1], if not given, as in the simulation.
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
        super().__init__(catalogue, normaliser=normaliser)
        check_positive(ridge=ridge)
        check_not_negative(exploration=exploration)
        self.exploration = exploration
        self._topics = None if topics is None else _checked_topics(topics, catalogue)
        size = catalogue.d if self._topics is None else self._topics.shape[1]
        self._ridge = Ridge(size, ridge)

    @property
    def preferences(self) -> Preferences:
        """What it believes of w, one weight a topic; where topics are not the features, zero."""
        if self._topics is not None:
            return super().preferences
        return learnt_preferences(self._ridge, self.catalogue.d, self.catalogue.m)

    @property
    def topic_weights(self) -> FloatArray:
        """The estimate of w, one weight a topic, (D,)."""
        return self._ridge.estimate().mean

    def _coverage(self, rows: IndexArray) -> FloatArray:
        if self._topics is not None:
            return self._topics[rows]
        return np.clip(self.catalogue.features[rows], 0.0, 1.0)

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        catalogue, layout = self.catalogue, self.catalogue.layout
        if layout is None:
            return super()._recommend(free, k, rng)
        belief = bounded(self._ridge.estimate(), self.exploration)
        items, scores, gains = coverage_list(layout, free, k, belief, self._topics)
        return compiled_slate(catalogue, layout, items, scores, self.normaliser, gains)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:  # noqa: ARG002
        return CoverageBounds(self._coverage(rows), self._ridge.estimate(), self.exploration)

    def _slate(self, items: IndexArray, scores: FloatArray) -> Slate:
        gains = coverage_gains(self._coverage(items))
        return slate_of(self.catalogue, items, scores, self.normaliser, gains)

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        self._ridge.learn(self._checked_gains(slate)[seen], rewards[seen])

    def _checked_gains(self, slate: Slate) -> FloatArray:
        size = len(self._ridge.response)
        if slate.coverage.shape != (len(slate), size):
            raise InputError(
                f"`slate` must carry the coverage of {size} topics, got shape "
                f"{slate.coverage.shape}: LSB learns from its own slates and explains them"
            )
        return slate.coverage

    def _explain(self, slate: Slate) -> Explanation:
        belief = self._ridge.estimate()
        gains, alone = self._checked_gains(slate), self._coverage(slate.items)
        overlap = (gains - alone) @ belief.mean
        bonus = self.exploration * np.sqrt(belief.variances(gains))
        return Explanation(alone @ belief.mean, overlap[:, None], bonus, ("overlap",))

    def _arrays(self) -> Mapping[str, FloatArray]:
        return ridge_arrays(self._ridge)

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        check_ridge(arrays)

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        restore_ridge(self._ridge, arrays)


def coverage_gains(coverage: FloatArray) -> FloatArray:
    """Return Delta_i(a | A) = P(i | a) prod (1 - P(i | b)) over the rows b above a, (k, D)."""
    left = np.cumprod(1.0 - coverage, axis=0)
    return coverage * np.vstack([np.ones((1, coverage.shape[1])), left[:-1]])


class CoverageBounds(Scorer):
    """w . Delta + alpha sqrt(Delta' M^-1 Delta) as topics fill up."""

    def __init__(self, coverage: FloatArray, belief: Estimate, exploration: float) -> None:
        self._coverage, self._belief, self._exploration = coverage, belief, exploration
        self._uncovered = np.ones(coverage.shape[1])

    def __len__(self) -> int:
        return len(self._coverage)

    def scores(self) -> FloatArray:
        delta = self._coverage * self._uncovered
        bonus = np.sqrt(self._belief.variances(delta))
        scores: FloatArray = delta @ self._belief.mean + self._exploration * bonus
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
