"""The prior of features' weights: their distribution over users, and its checks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    MaskArray,
    check_numbers,
    check_positive,
    check_range,
    read_only_copy,
    set_read_only,
)
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.prior.files import PriorFile

#: Bounds of a prior's numbers. Within them every estimate is finite: features may be as large as
#: a catalogue accepts (1e100), and their weights as small.
MAX_MEAN: Final = 1e30
MIN_VARIANCE, MAX_VARIANCE = 1e-220, 1e120
MIN_NOISE, MAX_NOISE = 1e-30, 1e30
#: Maximum number of features per line of a description.
MAX_NAMES: Final = 3
#: A weight this many deviations from 0 has the same sign for three users in four.
THREE_IN_FOUR: Final = 0.674


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
        if not (np.issubdtype(type(self.users), np.integer) and self.users >= 0):
            raise InputError(f"`users` must be a whole number of at least 0, got {self.users!r}")

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
        check_names("features", self.feature_names, catalogue, catalogue.feature_names)
        check_names("distances", self.distances, catalogue, names)

    def _facts(self, catalogue: Catalogue | None) -> Iterator[tuple[str, str]]:
        theta, deviations = self.mean[: self.d], np.sqrt(np.diag(self.covariance))
        wide, labels, spread = deviations[: self.d], self.feature_names, np.ones(self.d)
        if catalogue is not None:
            # A feature's effect on scores is its weight times its spread over the items.
            labels, spread = catalogue.feature_labels, catalogue.features.std(axis=0)

        def largest(strengths: FloatArray, threshold: float = 0.0) -> str:
            return examples(strengths * spread, labels, strengths > threshold * wide)

        yield "most users like", largest(theta, THREE_IN_FOUR)
        yield "most users avoid", largest(-theta, THREE_IN_FOUR)
        yield "users differ most in", largest(wide) if self.d > 1 else ""
        yield from beta_facts(self.distances, self.mean[self.d :], deviations[self.d :], self.noise)


def examples(strengths: FloatArray, names: Sequence[str], shown: MaskArray | None = None) -> str:
    """Return the names of the strongest as text; those that are not `shown` are left out."""
    order = np.argsort(-strengths, kind="stable")[:MAX_NAMES]
    rows = order if shown is None else order[shown[order]]
    return ", ".join(" ".join(names[row].split()) for row in rows)


def beta_facts(
    distances: Sequence[str], beta: FloatArray, deviations: FloatArray, noise: float
) -> Iterator[tuple[str, str]]:
    """Yield lines of a description about the weights of the distances and the noise."""
    for name, weight, deviation in zip(distances, beta, deviations, strict=True):
        yield "diversity", f"beta of {name} {weight:.2f} ± {deviation:.2f}"
    yield "residual standard deviation", f"{np.sqrt(noise):.2f}"


def check_shape(name: str, values: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Return `values` as an array of finite numbers with this shape, or raise InputError."""
    array = check_numbers(name, values, ndim=len(shape))
    if array.shape != shape:
        raise InputError(f"`{name}` must have shape {shape}, got {array.shape}")
    return array


def _checked_mean(mean: ArrayLike, size: int) -> FloatArray:
    array = check_shape("mean", mean, (size,))
    if not (np.abs(array) <= MAX_MEAN).all():
        raise InputError(
            f"`mean` must be at most {MAX_MEAN:g} in size, got {np.abs(array).max():g}"
        )
    return read_only_copy(array)


def _checked_covariance(covariance: ArrayLike, size: int) -> FloatArray:
    array = check_shape("covariance", covariance, (size, size))
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


def per_distance(name: str, values: ArrayLike, m: int, *, positive: bool = False) -> FloatArray:
    """Return one number for each of `m` distances, from so many or from one for all."""
    array = check_numbers(name, values, ndim=min(np.ndim(values), 1))
    if array.shape not in ((), (m,)):
        raise InputError(
            f"`{name}` must be a number, or one for each of {m} distances, got shape {array.shape}"
        )
    for number in array.ravel() if positive else ():
        check_positive(**{name: float(number)})
    return np.full(m, array)


def check_names(
    what: str, fitted: Sequence[str], catalogue: Catalogue, expected: Sequence[str]
) -> None:
    """Raise InputError unless a prior's features, distances or items are those of a catalogue."""
    for place, (ours, other) in enumerate(zip_longest(fitted, expected)):
        if ours != other:
            raise InputError(
                f"`prior` must have the {len(expected)} {what} of {catalogue}, got one of "
                f"{len(fitted)}, with {ours!r} in place of {other!r} at {place}"
            )
