"""The covariance of users' likes, whose rows are computed when they are first needed."""

from threading import Lock
from typing import Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray
from variegate.errors import StateError
from variegate.kernels.rows import dense_product

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


class _Rows(NamedTuple):
    #: Where the row of each item is in the matrix, -1 if it is not there, (L,)
    places: IndexArray
    #: Its memory is taken as rows are filled
    matrix: NDArray[np.float32]
    filled: int


class LikesCovariance:
    """Rows of the covariance of the likes, and of the items that were added later.

    Threads can share it: what a reader holds stays as it is when rows are added.
    """

    def __init__(self, moments: Moments, mixtures: "scipy.sparse.csr_array | None") -> None:
        self._moments, self._mixtures = moments, mixtures
        self._size = len(moments.shares) if mixtures is None else mixtures.shape[0]
        self._kept = self._no_rows(0)
        self._lock = Lock()

    def rows(self, items: IndexArray) -> tuple[NDArray[np.float32], IndexArray]:
        """Return a matrix of rows, and the place of each item's row in it, (n,)."""
        if items.max(initial=0) >= self._size:
            raise StateError(f"item {items.max()} must be one of the {self._size} of the prior")
        kept = self._kept
        if kept.places[items].min(initial=0) < 0:
            kept = self._with_rows(np.unique(items))
        return kept.matrix, kept.places[items]

    def _with_rows(self, wanted: IndexArray) -> _Rows:
        """Return the cached rows with those that are wanted, and keep them."""
        with self._lock:
            kept = self._kept
            missing = wanted[kept.places[wanted] < 0]
            if kept.filled + len(missing) > len(kept.matrix):
                most = min(self._size, CACHE_BYTES // (4 * self._size))
                kept, missing = self._no_rows(max(most, len(wanted))), wanted
            places, end = kept.places.copy(), kept.filled + len(missing)
            places[missing] = np.arange(kept.filled, end)
            kept.matrix[kept.filled : end] = self._computed(missing)
            self._kept = _Rows(places, kept.matrix, end)
            return self._kept

    def _no_rows(self, room: int) -> _Rows:
        matrix = np.empty((room, self._size), dtype=np.float32)
        return _Rows(np.full(self._size, -1), matrix, 0)

    def _computed(self, rows: IndexArray) -> FloatArray:
        """Return rows of the covariance; those of mixtures follow linearly from the others."""
        likes, sums, mixtures = self._moments.by_item, self._moments.weighted, self._mixtures
        if mixtures is None:
            likes, weights = likes[rows], sums[rows]
        else:
            likes, weights = scipy.sparse.csr_array(mixtures[rows] @ likes), mixtures[rows] @ sums
        found = dense_product(likes, self._moments.weighted_likes)
        found -= np.outer(weights, sums / self._moments.total)
        return np.asarray(found if mixtures is None else (mixtures @ found.T).T)
