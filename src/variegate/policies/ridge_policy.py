"""The base of the policies that learn one weight per feature by ridge regression."""

from collections.abc import Mapping
from functools import lru_cache
from math import inf, isfinite, sqrt
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.errors import InputError
from variegate.kernels.baselines import Linear
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import Estimate, Ridge, check_sums, packed, unpacked
from variegate.model.slate import Slate
from variegate.model.theory import Confidence
from variegate.model.utility import Preferences
from variegate.policies.base import Policy
from variegate.prior import ItemPrior, Prior, PriorFile

#: Half the width of a 95% interval, in standard deviations.
NORMAL_95: Final = 1.959964
#: The largest standard deviation of a reward in [0, 1].
LARGEST_DEVIATION: Final = 0.5
#: A smaller share of the precision is rounding.
ROUNDING: Final = 1e-9

#: A prior, or the path of the file that holds one.
PriorLike: TypeAlias = PriorFile | str | Path


class RidgePolicy(Policy):
    """Keeps one user's ridge regression: learning, estimates and states.

    Parameters
    ----------
    regression
        The sums that the policy adds observations to. By default the first d weights are
        those of the relevance features; see `_regressors`.
    """

    def __init__(
        self, catalogue: Catalogue, regression: Ridge, *, normaliser: Normaliser = "growing"
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        self._ridge = regression

    @property
    def preferences(self) -> Preferences:
        return self._preferences_of(self._ridge.estimate())

    @property
    def diversity_weights(self) -> FloatArray:
        mean, m = np.zeros(self.catalogue.d + self.catalogue.m), self.catalogue.m
        known = self._ridge.estimate().mean
        mean[: len(known)] = known
        return mean[len(mean) - m :]

    @property
    def prior_preferences(self) -> Preferences:
        ridge = self._ridge
        return self._preferences_of(Ridge(len(ridge.response), ridge.ridge, ridge.prior).estimate())

    def drop_estimates(self) -> None:
        self._ridge.drop_estimate()

    def _preferences_of(self, estimate: Estimate) -> Preferences:
        # The first d weights are theta, the next m beta; a policy without them has zeros.
        d, m = self.catalogue.d, self.catalogue.m
        mean, deviations = np.zeros(d + m), np.zeros(d + m)
        mean[: len(estimate.mean)] = estimate.mean
        deviations[: len(estimate.mean)] = estimate.deviations
        total_variance = float(estimate.covariance[d:, d:].sum())
        noise = LARGEST_DEVIATION if self._ridge.prior is None else self._ridge.deviation
        return normal_preferences(d, mean, deviations, total_variance, NORMAL_95 * noise)

    def _regressors(self, slate: Slate) -> FloatArray:
        """Return the features that rewards are regressed on, one row per position, (K, p)."""
        return slate.relevance

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        self._ridge.learn(self._regressors(slate)[seen], rewards[seen])

    def _upper_bounds(self, width: float) -> Linear:
        """Return scores of the estimated reward plus `width` standard deviations."""
        estimate = self._ridge.estimate()
        return Linear(estimate.mean, estimate.inverse_root, float(width))

    def _mean_and_bonus(self, features: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
        """Return the estimated reward of each row and `width` standard deviations of it."""
        estimate = self._ridge.estimate()
        return features @ estimate.mean, width * np.sqrt(estimate.variances(features))

    def _arrays(self) -> Mapping[str, FloatArray]:
        return {"gram": packed(self._ridge.gram), "response": self._ridge.response}

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        check_sums(arrays["gram"][None], arrays["response"][None])

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        gram = unpacked(arrays["gram"], len(self._ridge.response))
        self._ridge.set_sums(gram, np.array(arrays["response"], dtype=np.float64))


def normal_preferences(
    d: int, mean: FloatArray, deviations: FloatArray, total_variance: float, width: float
) -> Preferences:
    """Return normal estimates of theta and beta, with intervals of `width` deviations each way.

    Parameters
    ----------
    total_variance
        1' Cov(beta) 1, the variance of the sum of beta: errors of overlapping distances cancel.
    """
    half, total_half = width * deviations, width * sqrt(max(total_variance, 0.0))
    interval = np.stack([mean - half, mean + half])
    total = mean[d:].sum() + np.array([-total_half, total_half])
    return Preferences(mean[:d], mean[d:], interval[:, :d], interval[:, d:], total)


def likelihood_of_total(
    mean: float, precision: float, prior_mean: float, prior_precision: float
) -> tuple[float, float]:
    """Return mean and deviation of a normal likelihood: the posterior without its prior."""
    added = precision - prior_precision
    total = precision * mean - prior_precision * prior_mean
    if not (isfinite(total) and added > ROUNDING * precision):
        return 0.0, inf
    return float(total / added), float(1.0 / sqrt(added))


def checked_prior(prior: Any, catalogue: Catalogue, exploration: object = 0.0) -> Prior | None:
    """Return the prior that an option gives, if it fits the catalogue."""
    if prior is None:
        return None
    if exploration == "theory" or isinstance(exploration, Confidence):
        raise InputError(
            "`exploration` must be a number if there is a `prior`: the theory covers only users "
            "about whom nothing is known"
        )
    found = read_prior(prior)
    if not isinstance(found, Prior):
        raise InputError(
            f"`prior` must be one of features' weights, got {found}: lmdp and ease accept it"
        )
    found.check(catalogue)
    return found


def item_prior(prior: PriorLike, catalogue: Catalogue) -> ItemPrior:
    """Return the prior of items that an option gives, for this catalogue."""
    found = read_prior(prior)
    if not isinstance(found, ItemPrior):
        raise InputError(f"`prior` must be a prior of items, got {found}")
    return found.for_catalogue(catalogue)


def read_prior(prior: PriorLike) -> PriorFile:
    """Return a prior that is given itself or by the path of its file."""
    if isinstance(prior, PriorFile):
        return prior
    if not isinstance(prior, (str, Path)):
        raise InputError(f"`prior` must be a Prior or the path of one, got {prior!r}")
    path = Path(prior)
    try:
        modified = path.stat().st_mtime_ns
    except OSError:
        return PriorFile.load(path)  # which raises the right error
    return _load_once(path.resolve(), modified)


@lru_cache(maxsize=16)
def _load_once(path: Path, modified: int) -> PriorFile:  # noqa: ARG001
    # The policies of all users share one copy.
    return PriorFile.load(path)
