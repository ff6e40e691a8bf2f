"""An estimate of a policy's value with how far to trust it."""

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
from scipy.special import ndtri

from variegate.arrays import FloatArray, check_choice, check_count, check_fraction, generator
from variegate.errors import InputError

#: The least number of resamples whose quantiles mean something
LEAST_RESAMPLES = 100


@dataclass(frozen=True)
class Estimate:
    """What a list of the target policy earns, on average."""

    value: float
    standard_error: float
    #: Lowest and highest value at the confidence asked for
    interval: tuple[float, float]
    #: So many lists of the target's own would say as much: (sum of w)^2 / sum of w^2, of the
    #: position where that is least. Far below the length of the log, trust nothing here.
    effective_sample_size: float


class Options(TypedDict, total=False):
    """What every estimator can be asked for."""

    #: Divide by the weights' own sum: a little biased, much steadier, never out of range
    self_normalised: bool
    #: ``normal`` (if not given) or ``bootstrap``, which resamples whole lists
    interval: Literal["normal", "bootstrap"]
    #: The share of intervals that hold the value, 0.95 if not given
    confidence: float
    #: For the bootstrap, 1,000 if not given
    resamples: int
    #: For the bootstrap, a NumPy generator or a seed
    rng: Any


def estimated(
    weights: FloatArray,
    outcomes: FloatArray,
    *,
    self_normalised: bool = False,
    interval: Literal["normal", "bootstrap"] = "normal",
    confidence: float = 0.95,
    resamples: int = 1000,
    rng: Any = None,
) -> Estimate:
    """Return the sum over columns of the mean of weight times outcome, each (n, columns).

    Self-normalised, each column's mean is over its weights' sum in place of n. Rows are
    independent lists, of which there must be two at least; columns may depend on each other.
    """
    check_choice("interval", interval, ("normal", "bootstrap"))
    check_fraction(confidence=confidence)
    n = len(weights)
    if n < 2:
        raise InputError(f"an estimate must have at least 2 lists to go by, got {n}")
    products = weights * outcomes
    divisors = weights if self_normalised else np.ones_like(weights)
    means = products.sum(axis=0) / divisors.sum(axis=0)
    # The value is a sum of ratios of means: this is what each list moves it by (delta method).
    moves = ((products - means * divisors) / divisors.mean(axis=0)).sum(axis=1)
    value, error = float(means.sum()), float(np.sqrt((moves**2).sum() / (n * (n - 1))))
    if interval == "normal":
        reach = float(ndtri(0.5 + confidence / 2.0)) * error
        between = (value - reach, value + reach)
    else:
        drawn = _resampled(products, divisors, resamples, generator(rng))
        low, high = np.quantile(drawn, [0.5 - confidence / 2.0, 0.5 + confidence / 2.0])
        between = (float(low), float(high))
    return Estimate(value, error, between, effective_sample_size(weights))


def effective_sample_size(weights: FloatArray) -> float:
    """Return Kish's (sum of w)^2 / sum of w^2 of the column where it is least."""
    sizes = weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0)
    return float(sizes.min())


def _resampled(
    products: FloatArray, divisors: FloatArray, resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return the value of each resample; one without any weight in a column has none."""
    check_count(resamples, 1_000_000, name="resamples", of="the most that make sense")
    if resamples < LEAST_RESAMPLES:
        raise InputError(f"`resamples` must be at least {LEAST_RESAMPLES}, got {resamples}")
    n, values = len(products), []
    for _ in range(resamples):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        sums = counts @ divisors
        if (sums > 0).all():
            values.append(float((counts @ products / sums).sum()))
    return np.array(values)
