"""Observations of a user, and the factor that conditions a prior of items on them."""

from threading import Lock
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray
from variegate.errors import StateError
from variegate.kernels.rows import add_posterior, extend_factor, n_common, whiten
from variegate.prior.covariance import LikesCovariance

#: Users whose factors are kept, the latest ones. Each takes 4 n^2 bytes.
MAX_FACTORS: Final = 32
#: A factor is found again by so many first observations; a smaller one is made quickly.
N_FIRST: Final = 40
#: Rows that are computed together.
GROUP: Final = 4


class Observations(NamedTuple):
    """The rewards of one user: w = scale * relevance of the item + beta . gains + noise."""

    #: Rows of the items, (n,)
    items: IndexArray
    #: Probability that the position was examined, times what forgetting left of it, (n,)
    scales: FloatArray
    #: Diversity gains x of the positions, scaled likewise, (n, m), and rewards, (n,)
    gains: FloatArray
    rewards: FloatArray


class Factor(NamedTuple):
    """The Cholesky factor L of the covariance of a user's rewards, one row per observation.

    With C the covariance of the items shown, scaled, and X their gains, the rewards have the
    covariance C + X diag(beta_variance) X' + noise I before they are observed.
    """

    seen: Observations
    #: Rows of the covariance of the items, and where that of each observed item is
    matrix: NDArray[np.float32]
    places: IndexArray
    #: Packed rows of L
    rows: FloatArray
    #: L^-1 times the rewards minus their means, and times their covariances with beta, (1 + m, n)
    whitened: FloatArray

    def add_posterior(self, total: FloatArray) -> None:
        """Add what the observations add to the mean relevance of each item."""
        add_posterior(self.matrix, self.places, self.seen.scales, self.rows, self.whitened, total)

    def beta(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean of beta after the observations, (m,), and what its covariance loses."""
        n = len(self.seen.items)
        surprise, cross = self.whitened[0, :n], self.whitened[1:, :n]
        return cross @ surprise, cross @ cross.T

    def explained(self, covariances: FloatArray) -> FloatArray:
        """Return the variance that n observations explain, by covariances with them, (c, n)."""
        whitened = np.array(covariances, dtype=np.float64)
        whiten(self.rows, whitened)
        found: FloatArray = np.sum(whitened**2, axis=1)
        return found


class Conditioning:
    """Conditions a prior of items on observations.

    The factors of the latest users are kept: with new observations, only new rows are computed.
    Threads can share it.
    """

    def __init__(
        self,
        covariance: LikesCovariance,
        mean: FloatArray,
        beta_variance: FloatArray,
        noise: float,
    ) -> None:
        self._covariance, self._mean = covariance, mean
        self._beta_variance, self._noise = beta_variance, noise
        self._kept: dict[bytes, Factor] = {}
        self._lock = Lock()

    def factor(self, seen: Observations) -> Factor:
        """Return the factor of a user's observations, and keep it for their next list."""
        if len(seen.items) < N_FIRST:
            return self._extended(seen, None)
        key = seen.items[:N_FIRST].tobytes() + seen.rewards[:N_FIRST].tobytes()
        with self._lock:
            known = self._kept.pop(key, None)
        factor = self._extended(seen, known)
        with self._lock:
            self._kept[key] = factor
            while len(self._kept) > MAX_FACTORS:
                del self._kept[next(iter(self._kept))]
        return factor

    def _extended(self, seen: Observations, known: Factor | None) -> Factor:
        """Return the factor of observations; the rows that `known` has already are copied."""
        size, start = len(seen.items) + GROUP, 0
        rows, whitened = np.empty(_packed(size)), np.empty((1 + seen.gains.shape[1], size))
        if known is not None:
            start = n_common(known.seen, seen) // GROUP * GROUP
            rows[: _packed(start)] = known.rows[: _packed(start)]
            whitened[:, :start] = known.whitened[:, :start]
        matrix, places = self._covariance.rows(seen.items)
        before = self._mean, self._beta_variance, self._noise
        if not extend_factor(matrix, places, seen, *before, rows, whitened, start):
            raise StateError("the rewards of a user must have a positive covariance, but have not")
        return Factor(seen, matrix, places, rows, whitened)


def _packed(n: int) -> int:
    """Return the numbers in n rows of a packed factor."""
    return n * (n + 1) // 2
