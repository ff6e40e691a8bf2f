"""Observations of a user, and the factor that conditions a prior of items on them."""

from threading import Lock
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray
from variegate.errors import StateError
from variegate.kernels.rows import add_posterior, extend_factor, n_common, whiten

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


class Rewards(NamedTuple):
    """What is assumed of the rewards of a user before they are observed."""

    #: Mean relevance of each item, (L,)
    mean: FloatArray
    #: Rows of the covariance of the items, and where that of each observed item is, -1 for zeros
    matrix: NDArray[np.float32]
    places: IndexArray
    #: Variance of the weight of each distance, (m,), and of a reward
    beta_variance: FloatArray
    noise: float


class Factor:
    """The Cholesky factor L of the covariance of a user's rewards, one row per observation.

    With C the covariance of the items shown, scaled, and X their gains, the rewards have the
    covariance C + X diag(beta_variance) X' + noise I before they are observed.
    """

    def __init__(self, m: int) -> None:
        self._seen: Observations | None = None
        self._rows, self._whitened = np.empty(0), np.empty((1 + m, 0))

    def condition(self, seen: Observations, before: Rewards) -> None:
        """Make it the factor of these observations; rows that it has already are kept."""
        n, start = len(seen.items), 0 if self._seen is None else n_common(self._seen, seen)
        start -= start % GROUP
        if n > self._whitened.shape[1] - GROUP:
            self._grow(n + n // 2 + GROUP, start)
        self._seen = None  # until all rows are those of `seen`
        is_positive = extend_factor(
            before.matrix,
            before.places,
            seen,
            before.mean,
            before.beta_variance,
            before.noise,
            self._rows,
            self._whitened,
            start,
        )
        if not is_positive:
            raise StateError("the rewards of a user must have a positive covariance, but have not")
        self._seen = seen

    def _grow(self, size: int, kept: int) -> None:
        rows, whitened = np.empty(_packed(size)), np.empty((len(self._whitened), size))
        rows[: _packed(kept)] = self._rows[: _packed(kept)]
        whitened[:, :kept] = self._whitened[:, :kept]
        self._rows, self._whitened = rows, whitened

    def add_posterior(self, seen: Observations, before: Rewards, total: FloatArray) -> None:
        """Add what the observations add to the mean relevance of each item."""
        add_posterior(before.matrix, before.places, seen.scales, self._rows, self._whitened, total)

    def beta(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the mean of beta after n observations, (m,), and what its covariance loses."""
        surprise, cross = self._whitened[0, :n], self._whitened[1:, :n]
        return cross @ surprise, cross @ cross.T

    def explained(self, covariances: FloatArray) -> FloatArray:
        """Return the variance that n observations explain, by covariances with them, (c, n)."""
        whitened = np.array(covariances, dtype=np.float64)
        whiten(self._rows, whitened)
        found: FloatArray = np.sum(whitened**2, axis=1)
        return found


class Factors:
    """The factors of the latest users: with new observations, only new rows are computed.

    Threads can share it: each has a factor to itself between `take` and `put`.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, Factor] = {}
        self._lock = Lock()

    def take(self, seen: Observations) -> Factor:
        """Return the factor whose first observations are these, or a new one."""
        with self._lock:
            found = self._kept.pop(_key(seen), None)
        return Factor(seen.gains.shape[1]) if found is None else found

    def put(self, seen: Observations, factor: Factor) -> None:
        """Keep a factor for the next list of the same user."""
        if len(seen.items) < N_FIRST:
            return
        with self._lock:
            self._kept[_key(seen)] = factor
            while len(self._kept) > MAX_FACTORS:
                del self._kept[next(iter(self._kept))]


def _key(seen: Observations) -> bytes:
    return seen.items[:N_FIRST].tobytes() + seen.rewards[:N_FIRST].tobytes()


def _packed(n: int) -> int:
    """Return the numbers in n rows of a packed factor."""
    return n * (n + 1) // 2
