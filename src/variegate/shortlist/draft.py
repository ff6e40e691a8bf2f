"""A first draft of one user's list, from the best candidates found so far."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import IndexArray
from variegate.catalogue import Catalogue
from variegate.kernels import upper_bounds
from variegate.kernels.cells import add_distances, bound_parts, light_rows
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
        d, m = catalogue.d, catalogue.m
        self._catalogue, self._belief, self._alpha = catalogue, belief, float(exploration)
        self._beta, self._C = belief.mean[d:], np.ascontiguousarray(belief.covariance[d:, d:])
        self._mean, self._variance = np.empty(room), np.empty(room)
        self._cross, self._sums = np.empty((room, m)), np.zeros((room, m))
        none = np.empty(0, dtype=np.intp)
        self._data = [
            np.empty((room, h.rows.shape[1]), dtype=light_rows(h, none).dtype)
            for h in catalogue.distances
        ]
        self._picked: list[int] = []
        self._size = 0

    def add(self, rows: IndexArray) -> None:
        """Take in items, none of which is here yet."""
        new = slice(self._size, self._size + len(rows))
        z, belief = self._catalogue.features[rows], self._belief
        parts = bound_parts(z, belief.mean, belief.covariance)
        self._mean[new], self._variance[new], self._cross[new] = parts
        for column, h in enumerate(self._catalogue.distances):
            data = self._data[column]
            data[new] = h.rows[rows]
            for place in self._picked:
                add_distances(h, data[new], data[place], column, self._sums[new])
        self._size = new.stop

    def take_best(self, factor: float) -> list[NDArray[Any]]:
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
            add_distances(h, data[here], data[best], column, self._sums[here])
        self._picked.append(best)
        return [data[best] for data in self._data]
