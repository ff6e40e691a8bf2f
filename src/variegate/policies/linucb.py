"""LinUCB with disjoint models (Li et al., WWW 2010): one regression per item."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    check_not_negative,
    check_positive,
    check_range,
)
from variegate.errors import StateError
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import MAX_RIDGE, MIN_RIDGE, Ridge, check_sums, packed, unpacked
from variegate.model.search import FixedScores, Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation, Policy


class LinUCB(Policy):
    """The `k` items with the highest upper bounds, with one ridge regression per item.

    An item's context is its own features, so clicks on one item say nothing about another. The
    state holds only items that were seen.

    Parameters
    ----------
    ridge
        lambda, 1 in the original.
    exploration
        alpha.
    """

    name = "linucb"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        ridge: float = 1.0,
        exploration: float = 1.0,
        normaliser: Normaliser = "growing",
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_positive(ridge=ridge)
        check_range("ridge", ridge, MIN_RIDGE, MAX_RIDGE)
        check_not_negative(exploration=exploration)
        self.ridge, self.exploration = float(ridge), exploration
        self._arms: dict[int, Ridge] = {}

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        mean, bonus = self._mean_and_bonus(rows, self.catalogue.features[rows])
        return FixedScores(mean + bonus)

    def _explain(self, slate: Slate) -> Explanation:
        mean, bonus = self._mean_and_bonus(slate.items, slate.relevance)
        return Explanation(mean, np.zeros((len(slate), 0)), bonus, ())

    def _mean_and_bonus(self, rows: IndexArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean = np.zeros(len(rows))
        variance = np.einsum("ni,ni->n", z, z) / self.ridge  # of an item without observations
        for place in np.flatnonzero(np.isin(rows, list(self._arms))):
            estimate = self._arms[int(rows[place])].estimate()
            mean[place] = z[place] @ estimate.mean
            variance[place] = estimate.variances(z[place : place + 1])[0]
        return mean, self.exploration * np.sqrt(variance)

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        learnt = {}
        for position in seen:
            item, before = int(slate.items[position]), self._arms.get(int(slate.items[position]))
            arm = Ridge(self.catalogue.d, self.ridge)
            if before is not None:
                arm.set_sums(before.gram, before.response)
            arm.learn(slate.relevance[position : position + 1], rewards[position : position + 1])
            learnt[item] = arm
        self._arms |= learnt  # only now: an error above leaves every arm unchanged

    def _arrays(self) -> Mapping[str, FloatArray]:
        d, rows = self.catalogue.d, sorted(self._arms)
        grams = [packed(self._arms[row].gram) for row in rows]
        responses = [self._arms[row].response for row in rows]
        return {
            "items": np.array(rows, dtype=np.float64),
            "gram": np.array(grams).reshape(len(rows), d * (d + 1) // 2),
            "response": np.array(responses).reshape(len(rows), d),
        }

    def _shapes(self, arrays: Mapping[str, FloatArray]) -> dict[str, tuple[int, ...]]:
        d, items = self.catalogue.d, np.size(arrays.get("items", ()))
        return {"items": (items,), "gram": (items, d * (d + 1) // 2), "response": (items, d)}

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        rows = arrays["items"]
        if not np.isin(rows, np.arange(len(self.catalogue))).all():
            raise StateError(f"`state` has items that are not in {self.catalogue}")
        if len(np.unique(rows)) < len(rows):
            raise StateError(f"`state` must have each item once, got {rows.tolist()}")
        check_sums(arrays["gram"], arrays["response"])

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        d = self.catalogue.d
        self._arms = {}
        for row, gram, response in zip(
            arrays["items"], arrays["gram"], arrays["response"], strict=True
        ):
            arm = self._arms[int(row)] = Ridge(d, self.ridge)
            arm.set_sums(unpacked(gram, d), np.array(response))
