"""The prior of a catalogue without training users."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_positive
from variegate.model.catalogue import Catalogue
from variegate.prior.features import POPULARITY
from variegate.prior.prior import Prior

#: Means of beta and of the weight of popularity, and variance of beta.
DEFAULT_BETA: Final = 0.35
DEFAULT_POPULARITY: Final = 0.1
BETA_VARIANCE: Final = 0.05


def default_prior(
    catalogue: Catalogue,
    *,
    variance: float = 0.02,
    noise: float = 0.25,
    beta: ArrayLike | None = None,
    beta_variance: ArrayLike = BETA_VARIANCE,
) -> Prior:
    """Return a prior for a catalogue without training users.

    Parameters
    ----------
    variance
        Variance of each feature's weight. The means are 0, except 0.1 for a feature named
        "popularity".
    noise
        The variance of a reward around the model's estimate; 0.25 is that of a coin toss.
    beta, beta_variance
        Mean and variance of the weight of diversity: one number for all distances or one for
        each. By default the distances share a mean of 0.35.
    """
    check_positive(variance=variance, noise=noise)
    names = catalogue.feature_names
    mean = [DEFAULT_POPULARITY if name == POPULARITY else 0.0 for name in names]
    theta = Prior(
        np.append(mean, np.zeros(catalogue.m)),
        _with_unit_block(variance * np.eye(catalogue.d), catalogue.m),
        noise,
        names,
        tuple(h.name for h in catalogue.distances),
    )
    return theta.with_beta(_shared(beta, catalogue.m, DEFAULT_BETA), beta_variance)


def _shared(beta: ArrayLike | None, m: int, total: float) -> ArrayLike:
    return total / max(m, 1) if beta is None else beta


def _with_unit_block(theta: FloatArray, m: int) -> FloatArray:
    """Return theta's covariance extended by `m` independent weights of variance 1."""
    size = len(theta)
    covariance = np.eye(size + m)
    covariance[:size, :size] = theta
    return covariance
