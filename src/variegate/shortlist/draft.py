"""A first draft of one user's list, from the best candidates found so far."""

from collections.abc import Sequence

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.catalogue import Catalogue
from variegate.kernels import upper_bounds
from variegate.ridge import Estimate


class Draft:
    """Items that come in position by position, and the list made of them: what to vary from.

    Parameters
    ----------
    room
        How many items can come in.
    """

    def __init__(
        self, catalogue: Catalogue, belief: Estimate, exploration: float, room: int
    ) -> None:
        d, m, P = catalogue.d, catalogue.m, belief.covariance
        self._catalogue, self._alpha = catalogue, float(exploration)
        self._theta, self._beta = belief.mean[:d], belief.mean[d:]
        self._P_z, self._C = np.ascontiguousarray(P[:d]), np.ascontiguousarray(P[d:, d:])
        self._rows = np.empty(room, dtype=np.intp)
        self._mean, self._variance = np.empty(room), np.empty(room)
        self._cross, self._sums = np.empty((room, m)), np.empty((room, m))
        self._data = [np.empty((room, h.rows.shape[1])) for h in catalogue.distances]
        self._picked: list[int] = []
        self._size = 0

    def add(self, rows: IndexArray) -> None:
        """Take in items, none of which is here yet."""
        new, d = slice(self._size, self._size + len(rows)), self._catalogue.d
        z = self._catalogue.features[rows]
        moved = z @ self._P_z
        self._rows[new] = rows
        self._mean[new] = z @ self._theta
        self._variance[new] = np.einsum("ij,ij->i", moved[:, :d], z)
        self._cross[new] = moved[:, d:]
        self._sums[new] = 0.0
        for column, h in enumerate(self._catalogue.distances):
            data = self._data[column]
            data[new] = h.rows[rows]
            for place in self._picked:
                self._sums[new, column] += h.formula.between(data[place], data[new]) / h.scale
        self._size = new.stop

    def take_best(self, factor: float) -> Sequence[FloatArray]:
        """Add the best item to the list, and return its data in each distance."""
        here = slice(self._size)
        scores = upper_bounds(
            self._mean[here],
            self._variance[here],
            self._cross[here],
            self._beta,
            self._C,
            self._sums[here] * factor,
            self._alpha,
        )
        scores[self._picked] = -np.inf
        best = int(np.argmax(scores))
        for column, h in enumerate(self._catalogue.distances):
            data = self._data[column]
            self._sums[here, column] += h.formula.between(data[best], data[here]) / h.scale
        self._picked.append(best)
        return [data[best] for data in self._data]
