"""The population prior: distribution of users' weights, its checks and its file format."""

import io
import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
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
from variegate.errors import DataError, InputError
from variegate.files import atomic_write, open_npz
from variegate.model.catalogue import Catalogue
from variegate.prior.text import describe

FORMAT: Final = "variegate prior"
VERSION: Final = 1
#: Bounds of a prior's numbers. Within them every estimate is finite: features may be as large as
#: a catalogue accepts (1e100), and their weights as small.
MAX_MEAN: Final = 1e30
MIN_VARIANCE, MAX_VARIANCE = 1e-220, 1e120
MIN_NOISE, MAX_NOISE = 1e-30, 1e30


@dataclass(frozen=True, eq=False)
class Prior:
    """The distribution of the weights eta = (theta, beta) over users: N(mean, covariance).

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
        means = _per_distance("beta", mean, self.m)
        variances = _per_distance("beta_variance", variance, self.m)
        for number in variances:
            check_positive(beta_variance=float(number))
        covariance = np.zeros_like(self.covariance)
        covariance[: self.d, : self.d] = self.covariance[: self.d, : self.d]
        covariance[self.d :, self.d :] = np.diag(variances)
        return replace(
            self, mean=np.append(self.mean[: self.d], means), covariance=set_read_only(covariance)
        )

    def of_relevance(self) -> "Prior":
        """Return the distribution of theta only, for policies without distances."""
        d = self.d
        return replace(self, mean=self.mean[:d], covariance=self.covariance[:d, :d], distances=())

    def describe(self, catalogue: Catalogue | None = None) -> tuple[str, ...]:
        """Return a description in text, one line per fact.

        Features without names are described by examples from `catalogue`, if given.
        """
        if catalogue is not None:
            self.check(catalogue)
        return describe(self, catalogue)

    def save(self, path: str | Path) -> None:
        """Write the prior to `path`, atomically: an .npz file without pickle."""
        data = self.to_bytes()
        with atomic_write(path) as file:
            file.write(data)

    @classmethod
    def load(cls, path: str | Path) -> "Prior":
        """Read a prior that `save` wrote, or raise DataError."""
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            raise DataError(f"no prior at {path}") from None
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None
        return cls.from_bytes(data, where=path)

    def to_bytes(self) -> bytes:
        """Return the contents of the prior's file."""
        header = {
            "format": FORMAT,
            "version": VERSION,
            "noise": self.noise,
            "feature_names": self.feature_names,
            "distances": self.distances,
            "users": self.users,
        }
        text = json.dumps(header, allow_nan=False)
        file = io.BytesIO()
        np.savez(
            file,
            allow_pickle=False,
            header=np.frombuffer(text.encode(), dtype=np.uint8),
            mean=self.mean,
            covariance=self.covariance,
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, *, where: str | Path = "prior") -> "Prior":
        """Return the prior that `to_bytes` wrote; `where` names its source in errors."""
        header, arrays = _read(data, where)
        try:
            return cls(
                arrays["mean"],
                arrays["covariance"],
                header["noise"],
                tuple(header["feature_names"]),
                tuple(header["distances"]),
                header["users"],
            )
        except KeyError as error:
            raise DataError(f"{where}: not a complete prior file: no {error.args[0]}") from None
        except (InputError, TypeError) as error:
            raise DataError(f"{where}: not a complete prior file: {error}") from None


def _read(data: bytes, where: str | Path) -> tuple[Mapping[str, Any], Mapping[str, FloatArray]]:
    """Return the header and the arrays of a prior's file, or raise DataError."""
    with open_npz(data, "prior", where) as stored:
        arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop("header").tobytes())
        is_prior, version = header.get("format") == FORMAT, header.get("version")
    if not is_prior:
        raise DataError(f"{where}: not a prior of variegate")
    if version != VERSION:
        raise DataError(
            f"{where}: version {version} of the prior format, and this variegate reads version "
            f"{VERSION}: fit it again or use the variegate that wrote it"
        )
    return header, arrays


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


def _per_distance(name: str, values: ArrayLike, m: int) -> FloatArray:
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
