"""Ridge regression on the concatenated features; Algorithm 2 does the same in blocks."""

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import sqrt
from types import ModuleType
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy

from variegate.arrays import FloatArray, IndexArray, check_range, safe_sqrt, set_read_only
from variegate.errors import InputError, StateError

if TYPE_CHECKING:
    from variegate.prior import Prior

#: Up to this many weights, compiled loops are faster than calls of LAPACK.
SMALL: Final = 48
#: Limit of the sums: 1e20 observations of the largest features of a catalogue (1e100).
LARGEST_SUM: Final = 1e220
#: Limit of the number of observations. A reward is at most 1, so |sum of w zeta| is at most the
#: root of this times the sum of zeta^2.
MAX_OBSERVATIONS: Final = 1e20
#: Limits of lambda, within which every estimate from valid sums is finite.
MIN_RIDGE, MAX_RIDGE = 1e-60, 1e60


@dataclass(frozen=True, eq=False)
class Estimate:
    """The estimate of the weights eta from the observations so far."""

    #: eta_hat, (p,)
    mean: FloatArray
    #: G with G'G = Phi^-1, lower triangular: the variance of zeta is the square of G zeta
    inverse_root: FloatArray

    @cached_property
    def covariance(self) -> FloatArray:
        """P = Phi^-1, (p, p)."""
        covariance: FloatArray = self.inverse_root.T @ self.inverse_root
        return covariance

    @cached_property
    def deviations(self) -> FloatArray:
        """The standard deviation of each weight for noise of variance 1, (p,)."""
        return safe_sqrt(np.diag(self.covariance))

    def variances(self, features: FloatArray) -> FloatArray:
        """Return zeta' P zeta for each row zeta, never below 0, (n,)."""
        squares = np.einsum("ni,ni->n", features @ self.covariance, features)
        variances: FloatArray = np.maximum(squares, 0.0)
        return variances

    def sample(self, rng: np.random.Generator, scale: float = 1.0) -> FloatArray:
        """Draw from N(mean, scale^2 P), by a triangular root: the same on every machine."""
        noise = rng.standard_normal(len(self.mean))
        drawn: FloatArray = self.mean + scale * (noise @ self.inverse_root)
        return drawn


class Ridge:
    """The sums of least squares: the state of LMDH, C2UCB, LSB and related policies.

    The paper keeps H, u, M, y and B, takes the diversity part out of H and u after each
    round and puts it back before the next (Algorithm 2, lines 16, 17, 21, 22). With the
    plain sums of the concatenated features the estimate is the same, the two lines that the
    paper misprints do not occur, and no error accumulates: the inverse is recomputed from the
    sums when needed.

    Parameters
    ----------
    size
        Number of weights p (d + m for LMDH).
    ridge
        lambda: Phi starts at lambda I.
    prior
        Used instead of `ridge`: Phi starts at noise * covariance^-1, the weights at its mean. The
        sums are those of the observations only, so the prior can be changed at any time.
    forgetting
        The factor of the sums at each update: 1 as in the paper. The prior does not decay, so
        Phi stays invertible.
    """

    def __init__(
        self, size: int, ridge: float, prior: "Prior | None" = None, *, forgetting: float = 1.0
    ) -> None:
        check_range("ridge", ridge, MIN_RIDGE, MAX_RIDGE)
        self.ridge = float(ridge)
        self.prior = prior
        self.forgetting = float(forgetting)
        #: The standard deviation of the noise of a reward; 1 in the paper
        self.deviation = 1.0 if prior is None else sqrt(prior.noise)
        self._precision, self._mean = (
            _ridge_prior(size, self.ridge) if prior is None else (prior.precision, prior.mean)
        )
        self.gram: FloatArray = np.zeros((size, size))  # sum of zeta zeta'
        self.response: FloatArray = np.zeros(size)  # sum of w zeta
        self._estimate: Estimate | None = None

    def learn(
        self, features: FloatArray, rewards: FloatArray, *, forgetting: float | None = None
    ) -> None:
        """Add one observation per row: features (n, p), rewards (n,). All of them, or none.

        Without a row nothing is learnt or forgotten. `forgetting` replaces that of the object.
        """
        if not len(rewards):
            return
        if features.shape != (len(rewards), len(self.response)):
            raise InputError(
                f"`features` must have shape {(len(rewards), len(self.response))}, "
                f"got {features.shape}"
            )
        keep = self.forgetting if forgetting is None else forgetting
        gram, response, is_sound = self._sums_with(features, rewards, keep)
        if not is_sound:
            raise InputError(
                "the features are too large to learn from: their squares overflow "
                f"{LARGEST_SUM:g}, the limit of the sums"
            )
        self.set_sums(gram, response)

    def set_sums(self, gram: FloatArray, response: FloatArray) -> None:
        """Replace the sums."""
        self.gram, self.response, self._estimate = gram, response, None

    def estimate(self) -> Estimate:
        """Return Algorithm 2's line 4 and the inverse that line 9 needs."""
        if self._estimate is None:
            self._estimate = self._solved()
        return self._estimate

    def drop_estimate(self) -> None:
        """Free the memory of the estimate, which the next call computes again."""
        self._estimate = None

    def widened(self, direction: FloatArray, variance: float) -> tuple[FloatArray, FloatArray]:
        """Return mean and covariance of the weights if they vary more along a direction.

        Parameters
        ----------
        direction
            (p,)
        variance
            What it adds to the prior: `variance` direction direction', for noise of variance 1.
        """
        estimate = self.estimate()
        # Sherman and Morrison, for the prior's precision and then for Phi.
        q = self._precision @ direction
        scale = variance / (1.0 + variance * float(direction @ q))
        along = estimate.covariance @ q
        scale /= 1.0 - scale * float(q @ along)
        mean = estimate.mean + scale * float(q @ (estimate.mean - self._mean)) * along
        return mean, estimate.covariance + scale * np.outer(along, along)

    def log_determinant_ratio(self) -> float:
        """Return ln(det Phi / det(lambda I)), the information gained."""
        after, before = np.linalg.slogdet(self._phi()), np.linalg.slogdet(self._precision)
        return float(after.logabsdet - before.logabsdet)

    def _sums_with(
        self, features: FloatArray, rewards: FloatArray, keep: float
    ) -> tuple[FloatArray, FloatArray, bool]:
        if len(self.response) <= SMALL:
            sums: tuple[FloatArray, FloatArray, bool] = _loops().sums_with(
                self.gram, self.response, features, rewards, keep, LARGEST_SUM
            )
            return sums
        with np.errstate(over="ignore", invalid="ignore"):
            gram = keep * self.gram + features.T @ features
            response = keep * self.response + rewards @ features
        # A comparison with nan is false.
        is_sound = (np.abs(gram) <= LARGEST_SUM).all() and (np.abs(response) <= LARGEST_SUM).all()
        return gram, response, bool(is_sound)

    def _solved(self) -> Estimate:
        if len(self.response) <= SMALL:
            mean, G, is_sound = _loops().solved(
                self.gram, self.response, self._precision, self._mean
            )
            return Estimate(mean, G) if is_sound else self._solved_by_eigenvalues()
        phi = self._phi()
        root, failed = scipy.linalg.lapack.dpotrf(phi, lower=0, clean=1)
        if failed or np.diag(root).min(initial=np.inf) ** 2 < _rounding(phi):
            return self._solved_by_eigenvalues()
        G = _transposed_inverse(root)
        return Estimate(self._mean + (G @ self._residual()) @ G, G)

    def _solved_by_eigenvalues(self) -> Estimate:
        # What was learnt in directions below rounding is lost: the mean there stays the prior's.
        phi = self._phi()
        if not (np.abs(self.gram) <= LARGEST_SUM).all():
            raise StateError(
                f"`gram` must be at most {LARGEST_SUM:g} in size, got {np.abs(self.gram).max():g}"
            )
        values, vectors = np.linalg.eigh(phi)
        floor = max(float(np.linalg.eigvalsh(self._precision)[0]), _rounding(phi))
        known, values = values > floor, np.maximum(values, floor)
        mean = self._mean + vectors @ (known / values * (vectors.T @ self._residual()))
        root = np.asarray(np.linalg.qr(np.sqrt(values)[:, None] * vectors.T, mode="r"))
        return Estimate(mean, _transposed_inverse(root))

    def _phi(self) -> FloatArray:
        phi: FloatArray = self.gram + self._precision
        return phi

    def _residual(self) -> FloatArray:
        """Return the response minus what the prior mean predicts."""
        residual: FloatArray = self.response - self.gram @ self._mean
        return residual


@lru_cache(maxsize=64)
def _ridge_prior(size: int, ridge: float) -> tuple[FloatArray, FloatArray]:
    return set_read_only(ridge * np.eye(size)), set_read_only(np.zeros(size))


@cache
def _loops() -> ModuleType:
    from variegate.kernels.loops import ridge  # numba: not at import

    return ridge


def _rounding(phi: FloatArray) -> float:
    """Return the size below which a pivot or an eigenvalue of Phi is only rounding."""
    return len(phi) * float(np.finfo(np.float64).eps) * float(np.diag(phi).max(initial=0.0))


def _transposed_inverse(root: FloatArray) -> FloatArray:
    inverse, _ = scipy.linalg.lapack.dtrtri(root, lower=0)
    return np.ascontiguousarray(inverse.T)


def check_sums(gram: FloatArray, response: FloatArray) -> None:
    """Raise StateError unless these can be the sums of zeta zeta' and of w zeta.

    Valid sums give finite estimates for every valid prior and lambda.

    Parameters
    ----------
    gram
        The upper triangle of each matrix, one per row, (n, p (p + 1) / 2).
    response
        (n, p).
    """
    size = response.shape[1]
    if gram.shape != (len(response), size * (size + 1) // 2):
        raise StateError(f"`gram` must have a triangle of {size} rows each, got {gram.shape}")
    sums = np.array(gram, dtype=np.float64), np.array(response, dtype=np.float64)
    if _loops().sums_fit(*sums, LARGEST_SUM, MAX_OBSERVATIONS):
        return
    squares = gram[:, _diagonal(size)]
    if not (squares >= 0.0).all():
        raise StateError(
            f"`gram` must have squares of at least 0 on its diagonal, got {squares.min()}"
        )
    largest = squares.max(axis=1, initial=0.0)
    most = np.abs(gram).max(axis=1, initial=0.0)
    # Rounding may take a product slightly above the squares.
    if not (most <= np.minimum(2.0 * largest, LARGEST_SUM)).all():
        raise StateError(
            f"`gram` must be at most {LARGEST_SUM:g} in size and largest on its diagonal, "
            f"got {most.max():g} and a diagonal of at most {largest.max():g}"
        )
    limit = np.sqrt(MAX_OBSERVATIONS * (squares + np.finfo(np.float64).tiny))
    if not (np.abs(response) <= limit).all():
        at = np.unravel_index(np.argmax(np.abs(response) / limit), response.shape)
        raise StateError(
            f"`response` must be at most {limit[at]:g} where the square in `gram` is "
            f"{squares[at]:g}, as rewards are at most 1, got {response[at]:g}"
        )


def check_squares(name: str, gram: FloatArray) -> None:
    """Raise StateError unless a matrix (p, p) is positive semi-definite, up to rounding."""
    least = float(np.linalg.eigvalsh(gram)[0]) if len(gram) else 0.0
    if least < -4.0 * _rounding(gram):
        raise StateError(
            f"`{name}` must be positive semi-definite, got one with an eigenvalue of {least:g}"
        )


def packed(symmetric: FloatArray) -> FloatArray:
    """Return the upper triangle of a symmetric matrix, row by row, (p (p + 1) / 2,)."""
    return symmetric.take(_flat_upper(len(symmetric)))


def unpacked(triangle: FloatArray, size: int) -> FloatArray:
    """Return the symmetric matrix whose upper triangle is `triangle`, or one for each row of it."""
    matrix = np.empty((*triangle.shape[:-1], size, size))
    rows, columns = upper_indices(size)
    matrix[..., rows, columns] = triangle
    matrix[..., columns, rows] = triangle
    return matrix


@lru_cache(maxsize=64)
def _diagonal(size: int) -> IndexArray:
    """Return the indices of the diagonal in a packed triangle, (p,)."""
    rows, columns = upper_indices(size)
    return np.flatnonzero(rows == columns)


@lru_cache(maxsize=64)
def _flat_upper(size: int) -> IndexArray:
    rows, columns = upper_indices(size)
    return rows * size + columns


@lru_cache(maxsize=64)
def upper_indices(size: int) -> tuple[IndexArray, IndexArray]:
    """Return the rows and columns of the upper triangle of a matrix (p, p)."""
    return np.triu_indices(size)
