"""The prior of features' weights: their distribution over users, and its checks."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    check_numbers,
    check_positive,
    check_range,
    read_only_copy,
    set_read_only,
)
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.prior.files import PriorFile
from variegate.prior.text import describe

#: Bounds of a prior's numbers. Within them every estimate is finite: features may be as large as
#: a catalogue accepts (1e100), and their weights as small.
MAX_MEAN: Final = 1e30
MIN_VARIANCE, MAX_VARIANCE = 1e-220, 1e120
MIN_NOISE, MAX_NOISE = 1e-30, 1e30


@dataclass(frozen=True, eq=False)
class Prior(PriorFile):
    """The distribution of the weights eta = (theta, beta) over users: N(mean, covariance).

    For catalogues without training users; see `ItemPrior` for the others.

    A policy that starts from it and has observed the sums `gram` of zeta zeta' and `response` of
    w zeta estimates (gram + precision)^-1 (response + precision mean).

    Examples
    --------
    >>> prior = Prior([0.5, 0.3], [[0.25, 0.0], [0.0, 0.25]], 0.125, ("popularity",), ("cosine",))
    >>> prior
    Prior(1 features, 1 distances, not fitted)
    >>> np.diag(prior.precision).tolist()
    [0.5, 0.5]
    """

    kind = "features"

    #: The mean of the weights, theta before beta, (d + m,)
    mean: FloatArray
    #: Their covariance over users, symmetric and positive definite, (d + m, d + m)
    covariance: FloatArray
    #: The variance of a reward around the model's estimate
    noise: float
    #: Names of the features that theta weights, (d,)
    feature_names: tuple[str, ...]
    #: Names of the distances that beta weights, (m,)
    distances: tuple[str, ...]
    #: Number of users that it was fitted to; 0 if it was not fitted
    users: int = 0

    def __post_init__(self) -> None:
        check_range("noise", self.noise, MIN_NOISE, MAX_NOISE)
        names, distances = tuple(map(str, self.feature_names)), tuple(map(str, self.distances))
        size = len(names) + len(distances)
        if size == 0:
            raise InputError("`feature_names` must name at least one feature, got none")
        # The only place where a frozen object is written to.
        put = object.__setattr__
        put(self, "mean", _checked_mean(self.mean, size))
        put(self, "covariance", _checked_covariance(self.covariance, size))
        put(self, "noise", float(self.noise))
        put(self, "feature_names", names)
        put(self, "distances", distances)
        put(self, "users", _checked_users(self.users))

    def __repr__(self) -> str:
        origin = f"fitted to {self.users} users" if self.users else "not fitted"
        return f"Prior({self.d} features, {self.m} distances, {origin})"

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    @property
    def m(self) -> int:
        """The number of distances."""
        return len(self.distances)

    @cached_property
    def precision(self) -> FloatArray:
        """What a policy adds to its Gram matrix: noise covariance^-1, (d + m, d + m)."""
        deviations = np.sqrt(np.diag(self.covariance))
        inverse = np.linalg.inv(self.covariance / deviations[:, None] / deviations)
        precision = self.noise * inverse / deviations[:, None] / deviations
        return set_read_only((precision + precision.T) / 2)

    def check(self, catalogue: Catalogue) -> None:
        """Raise InputError unless the prior has this catalogue's features and distances."""
        names = [h.name for h in catalogue.distances]
        _check_names("features", self.feature_names, catalogue, catalogue.feature_names)
        _check_names("distances", self.distances, catalogue, names)

    def with_beta(self, mean: ArrayLike, variance: ArrayLike) -> "Prior":
        """Return the same distribution of theta with another, independent one of beta.

        Both arguments are one number for all distances or one for each.
        """
        means = per_distance("beta", mean, self.m)
        variances = per_distance("beta_variance", variance, self.m)
        for number in variances:
            check_positive(beta_variance=float(number))
        covariance = np.zeros_like(self.covariance)
        covariance[: self.d, : self.d] = self.covariance[: self.d, : self.d]
        covariance[self.d :, self.d :] = np.diag(variances)
        return replace(
            self, mean=np.append(self.mean[: self.d], means), covariance=set_read_only(covariance)
        )

    def describe(self, catalogue: Catalogue | None = None) -> tuple[str, ...]:
        """Return a description in text, one line per fact.

        Features without names are described by examples from `catalogue`, if given.
        """
        if catalogue is not None:
            self.check(catalogue)
        return describe(self, catalogue)

    def _header(self) -> Mapping[str, Any]:
        return {
            "noise": self.noise,
            "feature_names": self.feature_names,
            "distances": self.distances,
            "users": self.users,
        }

    def _arrays(self) -> Mapping[str, FloatArray]:
        return {"mean": self.mean, "covariance": self.covariance}

    @classmethod
    def _of(cls, header: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> "Prior":
        return cls(
            arrays["mean"],
            arrays["covariance"],
            header["noise"],
            tuple(header["feature_names"]),
            tuple(header["distances"]),
            header["users"],
        )


def _checked_mean(mean: ArrayLike, size: int) -> FloatArray:
    array = check_numbers("mean", mean, ndim=1)
    if array.shape != (size,):
        raise InputError(
            f"`mean` must have shape ({size},), one for each feature and distance, "
            f"got {array.shape}"
        )
    if not (np.abs(array) <= MAX_MEAN).all():
        raise InputError(
            f"`mean` must be at most {MAX_MEAN:g} in size, got {np.abs(array).max():g}"
        )
    return read_only_copy(array)


def _checked_covariance(covariance: ArrayLike, size: int) -> FloatArray:
    array = check_numbers("covariance", covariance, ndim=2)
    if array.shape != (size, size):
        raise InputError(f"`covariance` must have shape ({size}, {size}), got {array.shape}")
    variances = np.diag(array)
    in_range = (variances >= MIN_VARIANCE) & (variances <= MAX_VARIANCE)
    if not in_range.all():
        row = int(np.argmin(in_range))
        raise InputError(
            f"`covariance` must have variances from {MIN_VARIANCE:g} to {MAX_VARIANCE:g}, "
            f"got {variances[row]} at {row}"
        )
    # As correlations: weights of very different sizes are allowed.
    deviations = np.sqrt(variances)
    correlations = array / deviations[:, None] / deviations
    if not np.allclose(correlations, correlations.T, rtol=0.0, atol=1e-8):
        raise InputError("`covariance` must be symmetric, got one that is not")
    smallest = float(np.linalg.eigvalsh((correlations + correlations.T) / 2).min(initial=1.0))
    if smallest <= size * np.finfo(np.float64).eps:
        raise InputError(
            "`covariance` must be positive definite, got one whose correlations have an "
            f"eigenvalue of {smallest:.2g}"
        )
    return read_only_copy((array + array.T) / 2)


def _checked_users(users: int) -> int:
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


def _check_names(
    what: str, fitted: Sequence[str], catalogue: Catalogue, expected: Sequence[str]
) -> None:
    if len(fitted) != len(expected):
        raise InputError(
            f"`prior` must have the {len(expected)} {what} of {catalogue}, got one of {len(fitted)}"
        )
    for place, (ours, other) in enumerate(zip(fitted, expected, strict=True)):
        if ours != other:
            raise InputError(
                f"`prior` must have the {what} of {catalogue}, got {ours!r} in place of "
                f"{other!r} at {place}"
            )
