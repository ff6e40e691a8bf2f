"""What is believed of a user before the first list."""

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
from variegate.prior.text import described

FORMAT: Final = "variegate prior"
VERSION: Final = 1
#: What a prior's numbers are at most and at least. Within these bounds every estimate is finite:
#: features may be as large as a catalogue takes (1e100), and their weights as small.
LARGEST_MEAN: Final = 1e30
LEAST_VARIANCE, LARGEST_VARIANCE = 1e-220, 1e120
LEAST_NOISE, LARGEST_NOISE = 1e-30, 1e30


@dataclass(frozen=True, eq=False)
class Prior:
    """How the weights eta = (theta, beta) are spread over users: N(mean, covariance).

    A learner that starts from it and has seen the sums `gram` of zeta zeta' and `response` of
    w zeta believes in (gram + precision)^-1 (response + precision mean).

    Examples
    --------
    >>> prior = Prior([0.5, 0.3], [[0.25, 0.0], [0.0, 0.25]], 0.125, ("popularity",), ("cosine",))
    >>> prior
    Prior(1 features, 1 distances, made by hand)
    >>> np.diag(prior.precision).tolist()
    [0.5, 0.5]
    """

    #: The mean of the weights, theta before beta, (d + m,)
    mean: FloatArray
    #: Their covariance over users, symmetric and positive definite, (d + m, d + m)
    covariance: FloatArray
    #: The variance of a reward around what the model says of it
    noise: float
    #: What theta weighs, (d,)
    feature_names: tuple[str, ...]
    #: The names of the distances that beta weighs, (m,)
    distances: tuple[str, ...]
    #: How many users it was fitted on; 0 if it was made by hand
    users: int = 0

    def __post_init__(self) -> None:
        check_range("noise", self.noise, LEAST_NOISE, LARGEST_NOISE)
        names, distances = tuple(map(str, self.feature_names)), tuple(map(str, self.distances))
        size = len(names) + len(distances)
        if size == 0:
            raise InputError("`feature_names` must name at least one feature, got none")
        # The one place where a frozen object may still be written to.
        put = object.__setattr__
        put(self, "mean", checked_mean(self.mean, size))
        put(self, "covariance", checked_covariance(self.covariance, size))
        put(self, "noise", float(self.noise))
        put(self, "feature_names", names)
        put(self, "distances", distances)
        put(self, "users", checked_users(self.users))

    def __repr__(self) -> str:
        origin = f"of {self.users} users" if self.users else "made by hand"
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
        """What a learner adds to its Gram matrix: noise covariance^-1, (d + m, d + m)."""
        deviations = np.sqrt(np.diag(self.covariance))
        inverse = np.linalg.inv(self.covariance / deviations[:, None] / deviations)
        precision = self.noise * inverse / deviations[:, None] / deviations
        return set_read_only((precision + precision.T) / 2)

    def check(self, catalogue: Catalogue) -> None:
        """Raise InputError unless the prior is of this catalogue's features and distances."""
        names = [h.name for h in catalogue.distances]
        check_names("features", self.feature_names, catalogue, catalogue.feature_names)
        check_names("distances", self.distances, catalogue, names)

    def with_beta(self, mean: ArrayLike, variance: ArrayLike) -> "Prior":
        """Return the same belief in theta with another, independent one in beta.

        Both are one number for all distances or one for each.
        """
        means, variances = checked_beta(mean, variance, self.m)
        covariance = np.zeros_like(self.covariance)
        covariance[: self.d, : self.d] = self.covariance[: self.d, : self.d]
        covariance[self.d :, self.d :] = np.diag(variances)
        return replace(
            self, mean=np.append(self.mean[: self.d], means), covariance=set_read_only(covariance)
        )

    def of_relevance(self) -> "Prior":
        """Return the belief in theta alone, for policies that know no distances."""
        d = self.d
        return replace(self, mean=self.mean[:d], covariance=self.covariance[:d, :d], distances=())

    def describe(self, catalogue: Catalogue | None = None) -> tuple[str, ...]:
        """Return what it says, in lines of words.

        Features without names of their own are told by examples from `catalogue`, if given.
        """
        if catalogue is not None:
            self.check(catalogue)
        return described(self, catalogue)

    def save(self, path: str | Path) -> None:
        """Write the prior to `path`, whole or not at all: arrays and JSON, no pickle."""
        write_whole(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> "Prior":
        """Read a prior that `save` wrote, or raise DataError."""
        return cls.from_bytes(read_whole(path), where=path)

    def to_bytes(self) -> bytes:
        """Return the prior as the bytes of its file."""
        header = {
            "noise": self.noise,
            "feature_names": self.feature_names,
            "distances": self.distances,
            "users": self.users,
        }
        return packed_prior(header, {"mean": self.mean, "covariance": self.covariance})

    @classmethod
    def from_bytes(cls, data: bytes, *, where: str | Path = "prior") -> "Prior":
        """Return the prior that `to_bytes` wrote; `where` it came from is for the error's words."""
        header, arrays = unpacked_prior(data, where)
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
    return read_only_copy(array)


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
    return read_only_copy((array + array.T) / 2)


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


def packed_prior(header: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> bytes:
    """Return the header and the arrays as the bytes of a file."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}, allow_nan=False)
    file = io.BytesIO()
    np.savez(
        file, allow_pickle=False, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays
    )
    return file.getvalue()


def unpacked_prior(
    data: bytes, where: str | Path
) -> tuple[Mapping[str, Any], Mapping[str, FloatArray]]:
    """Return what `packed_prior` packed, or raise DataError with `where` it came from."""
    with open_npz(data, "prior", where) as stored:
        arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop("header").tobytes())
        is_ours, version = header.get("format") == FORMAT, header.get("version")
    if not is_ours:
        raise DataError(f"{where}: not a prior of variegate")
    if version != VERSION:
        raise DataError(
            f"{where}: version {version} of the prior format, and this variegate reads version "
            f"{VERSION}: fit it anew or use the variegate that wrote it"
        )
    return header, arrays


def write_whole(path: str | Path, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all."""
    with atomic_write(path) as file:
        file.write(data)


def read_whole(path: str | Path) -> bytes:
    """Return all of the file at `path`, or raise DataError."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"no prior at {path}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
