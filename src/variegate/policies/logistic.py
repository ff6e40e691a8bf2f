"""Bayesian logistic regression by the bound of Jaakkola and Jordan (2000)."""

from dataclasses import dataclass

import numpy as np
import scipy

from variegate.arrays import FloatArray, safe_sqrt


@dataclass(frozen=True, eq=False)
class Posterior:
    """A Gaussian N(m, S) over the weights, stored as S^-1 and S^-1 m: observations are added."""

    #: S^-1, (p, p)
    precision: FloatArray
    #: S^-1 m, (p,)
    information: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """S, (p, p)."""
        inverse: FloatArray = np.linalg.inv(self.precision).astype(np.float64, copy=False)
        return inverse

    @property
    def mean(self) -> FloatArray:
        """m, (p,)."""
        return np.asarray(np.linalg.solve(self.precision, self.information), dtype=np.float64)

    def sample(self, rng: np.random.Generator, scale: float = 1.0) -> FloatArray:
        """Sample from N(m, scale^2 S), by the Cholesky root: the same on every machine."""
        root = np.linalg.cholesky(self.precision)
        noise = rng.standard_normal(len(self.information))
        drawn: FloatArray = self.mean + scale * np.linalg.solve(root.T, noise)
        return drawn


def curvature(xi: FloatArray) -> FloatArray:
    """Return lam(xi) = tanh(xi / 2) / (4 xi), which is 1/8 at 0."""
    safe = np.where(xi < 1e-6, 1.0, xi)
    return np.where(xi < 1e-6, 0.125, np.tanh(safe / 2.0) / (4.0 * safe))


def update_posterior(
    before: Posterior,
    features: FloatArray,
    clicks: FloatArray,
    *,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
) -> tuple[Posterior, FloatArray]:
    """Return the posterior after `clicks` (n,) on `features` (n, p), and the bound's xi (n,).

    `before` holds the earlier rounds with the xi of their time (assumed density filtering).
    The xi returned are those that the posterior is optimal for, as `evidence_bound` needs.
    """
    information = before.information + (clicks - 0.5) @ features
    last = xi = _spread(before, features)
    after = before
    for _ in range(max_iterations):
        # A root on either side: the product is exactly symmetric, as a state stores it.
        weighted = features * np.sqrt(2.0 * curvature(xi))[:, None]
        after = Posterior(before.precision + weighted.T @ weighted, information)
        last, xi = xi, _spread(after, features)
        if np.max(np.abs(xi - last), initial=0.0) < tolerance:
            break
    return after, last


def evidence_bound(before: Posterior, after: Posterior, xi: FloatArray) -> float:
    """Return the lower bound on the log evidence of a round; no iteration lowers it.

    `after` and `xi` must come from one call of `update_posterior`.
    """
    data = np.sum(scipy.special.log_expit(xi) - xi / 2.0 + curvature(xi) * xi**2)
    return float(data + 0.5 * (_log_partition(after) - _log_partition(before)))


def _spread(posterior: Posterior, features: FloatArray) -> FloatArray:
    """sqrt(x' (S + m m') x) for each row x."""
    across = features @ posterior.covariance  # one inverse for both the variance and the mean
    second = (across * features).sum(axis=1) + (across @ posterior.information) ** 2
    return safe_sqrt(second)


def _log_partition(posterior: Posterior) -> float:
    """ln |S| + m' S^-1 m."""
    _sign, log_precision = np.linalg.slogdet(posterior.precision)
    return float(posterior.mean @ posterior.information - log_precision)
