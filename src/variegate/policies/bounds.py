"""LMDH's scores, candidate by candidate."""

from copy import copy

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.kernels import upper_bounds
from variegate.model.gains import Gains
from variegate.model.ridge import Estimate
from variegate.model.search import Scorer


class UpperBounds(Scorer):
    """Lines 8 to 10: the highest reward that each candidate could plausibly earn."""

    def __init__(self, gains: Gains, belief: Estimate, exploration: float) -> None:
        z, d = gains.z, gains.z.shape[1]
        P = belief.covariance
        # z stays as it is while the list grows, so its share of line 9 is worked out once.
        self._mean_z = z @ belief.mean[:d]
        self._variance_z = np.einsum("ni,ni->n", z @ P[:d, :d], z)
        self._cross = z @ P[:d, d:]
        self._beta, self._C = belief.mean[d:], np.ascontiguousarray(P[d:, d:])
        self._gains, self._exploration = gains, float(exploration)

    def __len__(self) -> int:
        return len(self._mean_z)

    def scores(self) -> FloatArray:
        return self._bounds(slice(None), self._gains.x)

    def take(self, place: int) -> None:
        self._gains.take(place)

    def fresh(self) -> "UpperBounds":
        other = copy(self)
        other._gains = self._gains.fresh()
        return other

    def values(self, lists: IndexArray) -> FloatArray:
        gains = self._gains.of_lists(lists)
        bounds = self._bounds(lists.ravel(), gains.reshape(lists.size, gains.shape[-1]))
        totals: FloatArray = bounds.reshape(lists.shape).sum(axis=1)
        return totals

    def _bounds(self, places: IndexArray | slice, x: FloatArray) -> FloatArray:
        return upper_bounds(
            self._mean_z[places],
            self._variance_z[places],
            self._cross[places],
            self._beta,
            self._C,
            x,
            self._exploration,
        )
