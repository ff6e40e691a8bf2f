"""The covariance of users' likes, whose rows are computed when they are first needed."""

from threading import Lock
from typing import Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray
from variegate.kernels.rows import dense_product
from variegate.prior.new_items import LaterItems

#: Bytes of rows that are kept, at most.
CACHE_BYTES: Final = 2**28


class Moments(NamedTuple):
    """Sums over the likes of users, who are weighted by their number of likes."""

    #: Share of users who like each item, (L,)
    shares: FloatArray
    #: Likes by item, (L, users), and weighted by user, (users, L)
    by_item: "scipy.sparse.csr_array"
    weighted_likes: "scipy.sparse.csr_array"
    #: Weighted likes of each item, (L,), and the weight of all users
    weighted: FloatArray
    total: float

    @classmethod
    def of(
        cls, liked: IndexArray, ends: IndexArray, items: int, activity_weight: float
    ) -> "Moments":
        """Return the sums; the arguments are those of `ItemPrior`."""
        users, starts = len(ends), np.append(0, ends)
        counts = np.diff(starts)
        table = scipy.sparse.csr_array((np.ones(len(liked)), liked, starts), (users, items))
        weights = counts.astype(np.float64) ** -activity_weight
        # As many weighted likes as likes: the noise has the same meaning on any data.
        weights *= counts.sum() / (weights @ counts) / users
        weighted = scipy.sparse.csr_array(
            (np.repeat(weights, counts), liked, starts), (users, items)
        )
        return cls(
            np.bincount(liked, minlength=items) / users,
            scipy.sparse.csr_array(table.T),
            weighted,
            np.asarray(weighted.sum(axis=0), dtype=np.float64),
            float(weights.sum()),
        )


class LikesCovariance:
    """Rows of the covariance of the likes, and of the items that were added later.

    Threads can share it: what a reader holds stays as it is when rows are added.
    """

    def __init__(self, moments: Moments, later: LaterItems | None) -> None:
        self._moments, self._later = moments, later
        self._size = len(moments.shares) if later is None else later.size
        self._kept = _no_rows(self._size)
        self._lock = Lock()

    def rows(self, items: IndexArray) -> tuple[NDArray[np.float32], IndexArray]:
        """Return a matrix of rows, and the place of each item's row in it, (n,).

        The place is -1 for an item that is not in the prior.
        """
        is_known = items < self._size
        known = items if is_known.all() else items[is_known]
        kept = self._kept
        found = kept.places[known]
        if found.min(initial=0) < 0:
            kept = self._with_rows(known)
            found = kept.places[known]
        if known is items:
            return kept.matrix, found
        places = np.full(len(items), -1)
        places[is_known] = found
        return kept.matrix, places

    def _with_rows(self, wanted: IndexArray) -> "_Rows":
        """Return the cached rows with those that are wanted, and keep them."""
        with self._lock:
            kept = self._kept
            missing = np.unique(wanted[kept.places[wanted] < 0])
            if 4 * self._size * (kept.filled + len(missing)) > CACHE_BYTES:
                kept, missing = _no_rows(self._size), np.unique(wanted)
            self._kept = kept = kept.with_rows(missing, self._computed(missing))
        return kept

    def _computed(self, rows: IndexArray) -> FloatArray:
        """Return rows of the covariance; those of later items follow linearly from the others."""
        moments, later = self._moments, self._later
        likes, sums = moments.by_item, moments.weighted
        if later is None:
            likes, weights = likes[rows], sums[rows]
        else:
            likes, weights = later.mixed(rows, likes, sums)
        found = dense_product(likes, moments.weighted_likes)
        found -= np.outer(weights, sums / moments.total)
        return np.asarray(found if later is None else later.with_columns(found))


class _Rows(NamedTuple):
    #: Where the row of each item is in the matrix, -1 if it is not there, (L,)
    places: IndexArray
    matrix: NDArray[np.float32]
    filled: int

    def with_rows(self, rows: IndexArray, values: FloatArray) -> "_Rows":
        places, matrix, count = self.places.copy(), self.matrix, self.filled + len(rows)
        places[rows] = np.arange(self.filled, count)
        if count > len(matrix):
            size = min(max(count, 2 * len(matrix)), len(places))
            matrix = np.empty((size, len(places)), dtype=np.float32)
            matrix[: self.filled] = self.matrix[: self.filled]
        matrix[self.filled : count] = values
        return _Rows(places, matrix, count)


def _no_rows(size: int) -> _Rows:
    return _Rows(np.full(size, -1), np.zeros((0, size), dtype=np.float32), 0)
