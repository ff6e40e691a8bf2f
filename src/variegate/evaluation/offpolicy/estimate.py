"""An estimate of a policy's value with how far to trust it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
from scipy.special import ndtri

from variegate.arrays import (
    FloatArray,
    IndexArray,
    check_choice,
    check_count,
    check_fraction,
    generator,
)
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
    #: Whose each list is, if lists of one user may depend on each other, as where a policy
    #: learns from them; not given, all are independent
    groups: Sequence[str] | None


def estimated(
    weights: FloatArray,
    outcomes: FloatArray,
    *,
    self_normalised: bool = False,
    interval: Literal["normal", "bootstrap"] = "normal",
    confidence: float = 0.95,
    resamples: int = 1000,
    rng: Any = None,
    groups: Sequence[str] | None = None,
) -> Estimate:
    """Return the sum over columns of the mean of weight times outcome, each (n, columns).

    Self-normalised, each column's mean is over its weights' sum in place of n. Rows are
    lists; those of different groups are independent, and there must be two groups at least.
    Columns may depend on each other.
    """
    check_choice("interval", interval, ("normal", "bootstrap"))
    check_fraction(confidence=confidence)
    n, group_of = len(weights), group_numbers(groups, len(weights))
    count = int(group_of.max(initial=-1)) + 1
    if count < 2:
        what = "lists" if groups is None else "groups of lists"
        raise InputError(f"an estimate must have at least 2 {what} to go by, got {count}")
    products = weights * outcomes
    divisors = weights if self_normalised else np.ones_like(weights)
    means = products.sum(axis=0) / divisors.sum(axis=0)
    # The value is a sum of ratios of means: this is what each list moves it by (delta method).
    moves = ((products - means * divisors) / divisors.mean(axis=0)).sum(axis=1)
    together = np.bincount(group_of, weights=moves)
    value = float(means.sum())
    error = float(np.sqrt((together**2).sum() * count / (count - 1)) / n)
    if interval == "normal":
        reach = float(ndtri(0.5 + confidence / 2.0)) * error
        between = (value - reach, value + reach)
    else:
        drawn = _resampled(products, divisors, group_of, resamples, generator(rng))
        low, high = np.quantile(drawn, [0.5 - confidence / 2.0, 0.5 + confidence / 2.0])
        between = (float(low), float(high))
    return Estimate(value, error, between, effective_sample_size(weights))


def effective_sample_size(weights: FloatArray) -> float:
    """Return Kish's (sum of w)^2 / sum of w^2 of the column where it is least."""
    sizes = weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0)
    return float(sizes.min())


def group_numbers(groups: Sequence[str] | None, n: int) -> IndexArray:
    """Return the number of each list's group, from 0; each its own where there are no groups."""
    if groups is None:
        return np.arange(n)
    if len(groups) != n:
        raise InputError(f"`groups` must have {n} entries, one a list, got {len(groups)}")
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return np.array([numbers[group] for group in groups], dtype=np.intp)


def _resampled(
    products: FloatArray,
    divisors: FloatArray,
    group_of: IndexArray,
    resamples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the value of each resample; one without any weight in a column has none."""
    check_count(resamples, 1_000_000, name="resamples", of="the most that make sense")
    if resamples < LEAST_RESAMPLES:
        raise InputError(f"`resamples` must be at least {LEAST_RESAMPLES}, got {resamples}")
    n, values = int(group_of.max()) + 1, []
    for _ in range(resamples):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)[group_of]
        sums = counts @ divisors
        if (sums > 0).all():
            values.append(float((counts @ products / sums).sum()))
    return np.array(values)
