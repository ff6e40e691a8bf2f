"""What is believed of a user before the first list."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_range, sealed
from variegate.errors import DataError, InputError
from variegate.model.catalogue import Catalogue
from variegate.prior.checks import (
    LARGEST_NOISE,
    LEAST_NOISE,
    check_names,
    checked_beta,
    checked_covariance,
    checked_mean,
    checked_users,
)
from variegate.prior.file import packed_prior, read_whole, unpacked_prior, write_whole
from variegate.prior.words import described


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
        return sealed((precision + precision.T) / 2)

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
            self, mean=np.append(self.mean[: self.d], means), covariance=sealed(covariance)
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
