"""What a prior asks of its numbers."""

import operator
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_numbers, check_positive, frozen
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue

#: What a prior's numbers are at most and at least. Within these bounds every estimate is finite:
#: features may be as large as a catalogue takes (1e100), and their weights as small.
LARGEST_MEAN: Final = 1e30
LEAST_VARIANCE, LARGEST_VARIANCE = 1e-220, 1e120
LEAST_NOISE, LARGEST_NOISE = 1e-30, 1e30


def checked_mean(mean: ArrayLike, size: int) -> FloatArray:
    """Return the mean, a number for each of `size` weights, for reading only."""
    array = check_numbers("mean", mean, ndim=1)
    if array.shape != (size,):
        raise InputError(
            f"`mean` must have shape ({size},), one for each feature and distance, "
            f"got {array.shape}"
        )
    if not (np.abs(array) <= LARGEST_MEAN).all():
        raise InputError(
            f"`mean` must be at most {LARGEST_MEAN:g} in size, got {np.abs(array).max():g}"
        )
    return frozen(array)


def checked_covariance(covariance: ArrayLike, size: int) -> FloatArray:
    """Return the covariance, symmetric and positive definite, for reading only."""
    array = check_numbers("covariance", covariance, ndim=2)
    if array.shape != (size, size):
        raise InputError(f"`covariance` must have shape ({size}, {size}), got {array.shape}")
    variances = np.diag(array)
    fits = (variances >= LEAST_VARIANCE) & (variances <= LARGEST_VARIANCE)
    if not fits.all():
        row = int(np.argmin(fits))
        raise InputError(
            f"`covariance` must have variances from {LEAST_VARIANCE:g} to {LARGEST_VARIANCE:g}, "
            f"got {variances[row]} at {row}"
        )
    # In units of their own deviations: weights of very different sizes are no harm.
    deviations = np.sqrt(variances)
    correlations = array / deviations[:, None] / deviations
    if not np.allclose(correlations, correlations.T, rtol=0.0, atol=1e-8):
        raise InputError("`covariance` must be symmetric, got one that is not")
    least = float(np.linalg.eigvalsh((correlations + correlations.T) / 2).min(initial=1.0))
    if least <= size * np.finfo(np.float64).eps:
        raise InputError(
            "`covariance` must be positive definite, got one whose correlations have an "
            f"eigenvalue of {least:.2g}"
        )
    return frozen((array + array.T) / 2)


def checked_users(users: int) -> int:
    """Return a count of users, which may be 0."""
    try:
        count = operator.index(users)
    except TypeError:
        count = -1
    if count < 0:
        raise InputError(f"`users` must be a whole number of at least 0, got {users!r}")
    return count


def per_distance(name: str, values: ArrayLike, m: int) -> FloatArray:
    """Return one number for each of `m` distances, from so many or from one for all."""
    array = np.asarray(values)
    if array.ndim == 0:
        return np.full(m, check_numbers(name, values, ndim=0))
    array = check_numbers(name, values, ndim=1)
    if array.shape != (m,):
        raise InputError(
            f"`{name}` must be a number, or one for each of {m} distances, got shape {array.shape}"
        )
    return array


def checked_beta(mean: ArrayLike, variance: ArrayLike, m: int) -> tuple[FloatArray, FloatArray]:
    """Return a mean and a variance of beta for each of `m` distances."""
    means, variances = per_distance("beta", mean, m), per_distance("beta_variance", variance, m)
    for number in variances:
        check_positive(beta_variance=float(number))
    return means, variances


def check_names(
    what: str, fitted: Sequence[str], catalogue: Catalogue, theirs: Sequence[str]
) -> None:
    """Raise InputError unless the prior's names are those of the catalogue."""
    if len(fitted) != len(theirs):
        raise InputError(
            f"`prior` must be of the {len(theirs)} {what} of {catalogue}, got one of {len(fitted)}"
        )
    for place, (ours, other) in enumerate(zip(fitted, theirs, strict=True)):
        if ours != other:
            raise InputError(
                f"`prior` must be of the {what} of {catalogue}, got {ours!r} in place of "
                f"{other!r} at {place}"
            )
