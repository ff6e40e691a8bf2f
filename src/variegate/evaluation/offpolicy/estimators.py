"""Estimates of a target policy's value, from lists that another policy showed.

The value is the mean, over the users of the log, of the sum of a list's rewards. All estimators
weigh the logged rewards by the ratio of the target's and the logging policy's probabilities. They
differ in what a reward is assumed to depend on: the less, the lower the variance of the weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from variegate.arrays import (
    FloatArray,
    IndexArray,
    as_generator,
    check_choice,
    check_count,
    check_fraction,
    check_numbers,
    check_positive,
)
from variegate.errors import InputError
from variegate.evaluation.offpolicy.logs import SlateLog
from variegate.model.catalogue import Catalogue
from variegate.model.gains import NORMALISERS, Gains, Normaliser
from variegate.model.ridge import Ridge

#: The minimum number of resamples for quantiles.
MIN_RESAMPLES: Final = 100


@dataclass(frozen=True)
class Estimate:
    """The mean reward of a list of the target policy."""

    value: float
    standard_error: float
    #: Lower and upper bound at the given confidence
    interval: tuple[float, float]
    #: Kish's (sum of w)^2 / sum of w^2, the lowest over positions: as many lists of the target
    #: itself would give the same precision. Far below the length of the log, do not trust it.
    effective_sample_size: float


class Options(TypedDict, total=False):
    """Options of every estimator."""

    #: Divide by the sum of the weights: a little bias, much less variance, never out of range
    self_normalised: bool
    #: ``normal`` (the default) or ``bootstrap``, which resamples whole lists
    interval: Literal["normal", "bootstrap"]
    #: Coverage of the interval, 0.95 by default
    confidence: float
    #: For the bootstrap, 1,000 by default
    resamples: int
    #: For the bootstrap, a NumPy generator or a seed
    rng: Any
    #: The user of each list, if lists of one user may depend on each other, as where a policy
    #: learns from them; by default all lists are independent
    groups: Sequence[str] | None


def sips(log: SlateLog, target: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Weigh each list's total by the probability ratio of the whole list (standard IPS).

    Unbiased whatever a reward depends on, as long as the logging policy can show every list
    that the target can. Its variance grows fastest with K.

    Parameters
    ----------
    target
        The target policy's probability of the logged item in its position, given the logged
        items above it, (n, K).
    options
        See `Options`.

    Examples
    --------
    >>> from variegate.evaluation.offpolicy import slate_log
    >>> log = slate_log([[0], [1], [0], [1]], [[1], [0], [1], [1]], [[0.5]] * 4)
    >>> round(sips(log, [[0.9], [0.1], [0.9], [0.1]]).value, 2)
    0.95
    """
    weights = prefix_weights(log, target)[:, -1:]
    return weighted_estimate(weights, log.totals[:, None], **options)


def rips(log: SlateLog, target: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Weigh each reward by the probability ratio of the list down to its position.

    Reward interaction IPS (McInerney et al. 2020). Unbiased if a reward depends on the item and
    on those above it, but not on those below: the paper's click model (Eq. 10), and a user who
    reads from the top. `target` and `options` are those of `sips`.
    """
    return weighted_estimate(prefix_weights(log, target), log.rewards, **options)


def iips(
    log: SlateLog,
    target_marginals: ArrayLike,
    logging_marginals: ArrayLike,
    **options: Unpack[Options],
) -> Estimate:
    """Weigh each reward by the probability ratio of its item in its position alone.

    Independent IPS (Li et al. 2018). Unbiased if a reward depends on the item and its position
    and on no other item of the list, and then for any two policies. It needs *marginal*
    probabilities of an item in a position: sums over all prefixes of a list, which the log's
    propensities, conditional on the items above, do not determine. Only where both policies fill
    each position independently are the two the same, and `log.propensities` can be used; a
    policy that does not repeat items is not such a policy. Where items interact, as in the
    paper's model, it is biased and more data do not help.

    Parameters
    ----------
    target_marginals
        The target's probability of the logged item in its position, (n, K).
    logging_marginals
        The logging policy's, greater than 0, (n, K).
    options
        See `Options`.
    """
    weights = marginal_ratios(log, target_marginals, logging_marginals)
    check_overlap(weights, "in")
    return weighted_estimate(weights, log.rewards, **options)


def cascade_dr(
    log: SlateLog, target: ArrayLike, model: "RewardModel", **options: Unpack[Options]
) -> Estimate:
    """Correct a reward model by its weighted errors on the log (doubly robust).

    Cascade DR (Kiyohara et al. 2022): under the assumption of `rips` unbiased for any model
    that was not fitted to the same lists, and the better the model the smaller the variance; a
    model of zeros gives `rips`. `target` and `options` are those of `sips`.
    """
    weights = prefix_weights(log, target)
    if model.taken.shape != log.items.shape:
        raise InputError(f"`model` must have shape {log.items.shape}, got {model.taken.shape}")
    above = np.hstack([np.ones((len(log), 1)), weights[:, :-1]])
    outcomes = np.hstack([log.rewards - model.taken, model.expected])
    return weighted_estimate(np.hstack([weights, above]), outcomes, **options)


def prefix_weights(log: SlateLog, target: ArrayLike) -> FloatArray:
    """Return, for each position, the probability ratio of the list down to it, (n, K).

    The mean of each column is near 1 if the logging policy can show every list of the target.
    Where it is well below, lists of the target are missing from the log, and no estimator can
    know their rewards. `target` is that of `sips`.
    """
    ratios = check_probabilities("target", target, log) / log.propensities
    weights = np.cumprod(ratios, axis=1, dtype=np.float64)
    check_overlap(weights, "down to")
    return weights


def target_of_lists(log: SlateLog, lists: ArrayLike) -> FloatArray:
    """Return the probabilities under a deterministic target that shows `lists`, (n, K).

    Below the first difference they do not matter, and are 0.
    """
    shown = check_numbers("lists", lists, ndim=2)
    if shown.shape != log.items.shape:
        raise InputError(f"`lists` must have shape {log.items.shape}, got {shown.shape}")
    same: FloatArray = np.cumprod(shown == log.items, axis=1).astype(np.float64)
    return same


def target_of_distributions(log: SlateLog, distributions: ArrayLike) -> FloatArray:
    """Return the probabilities of the logged items, (n, K), from those of all items, (n, K, L).

    `distributions` has, for each position, the probability of every item of the catalogue given
    the logged items above it; each adds up to 1.
    """
    probabilities = _check_distributions(log, distributions)
    picked: FloatArray = np.take_along_axis(probabilities, log.items[:, :, None], axis=2)[:, :, 0]
    return picked


def marginal_ratios(
    log: SlateLog, target_marginals: ArrayLike, logging_marginals: ArrayLike
) -> FloatArray:
    """Return the ratios of the marginal probabilities of the logged items, (n, K)."""
    logged = check_probabilities("logging_marginals", logging_marginals, log)
    if not (logged > 0).all():
        raise InputError("`logging_marginals` must be greater than 0 for what was logged, got 0")
    return check_probabilities("target_marginals", target_marginals, log) / logged


def check_probabilities(name: str, values: ArrayLike, log: SlateLog) -> FloatArray:
    """Return a number from 0 to 1 for each logged position, or raise InputError."""
    array = check_numbers(name, values, ndim=2)
    if array.shape != log.items.shape:
        raise InputError(f"`{name}` must have shape {log.items.shape}, got {array.shape}")
    outside = array[(array < 0) | (array > 1)]
    if outside.size:
        raise InputError(f"`{name}` must lie from 0 to 1, got {outside[0]}")
    return array


def check_overlap(weights: FloatArray, where: str) -> None:
    """Raise InputError if all weights of a position are 0."""
    empty = np.flatnonzero(~(weights > 0).any(axis=0))
    if empty.size:
        raise InputError(
            f"`target` must have a positive probability for some list {where} position "
            f"{empty[0]}, got 0 for all: no overlap"
        )


@dataclass(frozen=True, eq=False)
class RewardModel:
    """Q, the expected reward of a list from a position on, if the target fills what is below.

    Any numbers are valid for `taken`, but `expected` must be the mean of the same Q.
    """

    #: Q of the logged item given those above it, (n, K)
    taken: FloatArray
    #: The mean of Q over the target's choice for the position, given the logged items above, (n, K)
    expected: FloatArray

    def __post_init__(self) -> None:
        if self.taken.ndim != 2 or self.taken.shape != self.expected.shape:
            raise InputError(
                "`taken` and `expected` must have one number for each position, got shapes "
                f"{self.taken.shape} and {self.expected.shape}"
            )


def gain_features(
    log: SlateLog,
    catalogue: Catalogue,
    distributions: ArrayLike,
    *,
    normaliser: Normaliser = "none",
) -> tuple[FloatArray, FloatArray]:
    """Return the paper's features (1, z, x) of the logged items, and their means for the target.

    Parameters
    ----------
    catalogue
        The items of the log.
    distributions
        As for `target_of_distributions`, (n, K, L).
    normaliser
        How distances are scaled.
    """
    probabilities = _check_distributions(log, distributions)
    if probabilities.shape[2] != len(catalogue):
        raise InputError(
            f"`distributions` must have a column for each of {len(catalogue)} items, got "
            f"{probabilities.shape[2]}"
        )
    check_choice("normaliser", normaliser, NORMALISERS)
    size = 1 + catalogue.d + catalogue.m
    taken, means = np.ones((*log.items.shape, size)), np.ones((*log.items.shape, size))
    start = Gains(catalogue, np.arange(len(catalogue)), log.k, normaliser)
    for row, items in enumerate(log.items):
        gains = start.fresh()
        for position, item in enumerate(items):
            features = np.hstack([gains.z, gains.x])
            taken[row, position, 1:] = features[item]
            means[row, position, 1:] = probabilities[row, position] @ features
            gains.take(int(item))
    return taken, means


def ridge_model(
    log: SlateLog,
    features: ArrayLike,
    means: ArrayLike,
    *,
    ridge: float = 1.0,
    folds: int = 2,
    groups: Sequence[str] | None = None,
) -> RewardModel:
    """Return Q as a ridge regression for each position, fitted from the last one up.

    Every list's Q is fitted to the lists outside its fold, so `cascade_dr` stays unbiased.

    Parameters
    ----------
    features
        Of the logged item in each position, (n, K, p).
    means
        The mean of the features over the target's choice for the position, (n, K, p).
    ridge
        Weight of the prior that all weights are 0.
    folds
        The number of parts of the log, assigned in turn to lists, or to groups.
    groups
        The user of each list, if lists of one user may depend on each other: they share a part.
    """
    check_positive(ridge=ridge)
    group_of = group_numbers(groups, len(log))
    folds = check_count(folds, int(group_of.max()) + 1, name="folds", of="the lists or groups")
    if folds < 2:
        raise InputError("`folds` must be at least 2: a list's Q must not be fitted to its rewards")
    x, mean = check_numbers("features", features, ndim=3), check_numbers("means", means, ndim=3)
    for name, array in (("features", x), ("means", mean)):
        if array.shape[:2] != log.items.shape or array.shape != x.shape:
            raise InputError(
                f"`{name}` must have shape {(*log.items.shape, x.shape[2])}, got {array.shape}"
            )
    taken, expected = np.empty(log.items.shape), np.empty(log.items.shape)
    for fold in range(folds):
        own = group_of % folds == fold
        q = _fit_q(x[~own], mean[~own], log.rewards[~own], ridge)
        taken[own] = np.einsum("nkp,kp->nk", x[own], q)
        expected[own] = np.einsum("nkp,kp->nk", mean[own], q)
    return RewardModel(taken, expected)


def weighted_estimate(
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

    Self-normalised, each column is divided by its sum of weights in place of n. Rows are lists;
    those of different groups are independent, and there must be at least two groups. Columns may
    depend on each other.
    """
    check_choice("interval", interval, ("normal", "bootstrap"))
    check_fraction(confidence=confidence)
    n, group_of = len(weights), group_numbers(groups, len(weights))
    count = int(group_of.max(initial=-1)) + 1
    if count < 2:
        what = "lists" if groups is None else "groups of lists"
        raise InputError(f"an estimate needs at least 2 {what}, got {count}")
    products = weights * outcomes
    divisors = weights if self_normalised else np.ones_like(weights)
    means = products.sum(axis=0) / divisors.sum(axis=0)
    # The value is a sum of ratios of means: this is each list's influence on it (delta method).
    influences = ((products - means * divisors) / divisors.mean(axis=0)).sum(axis=1)
    by_group = np.bincount(group_of, weights=influences)
    value = float(means.sum())
    error = float(np.sqrt((by_group**2).sum() * count / (count - 1)) / n)
    if interval == "normal":
        half = float(ndtri(0.5 + confidence / 2.0)) * error
        bounds = (value - half, value + half)
    else:
        drawn = _resample(products, divisors, group_of, resamples, as_generator(rng))
        low, high = np.quantile(drawn, [0.5 - confidence / 2.0, 0.5 + confidence / 2.0])
        bounds = (float(low), float(high))
    sizes = weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0)
    return Estimate(value, error, bounds, float(sizes.min()))


def group_numbers(groups: Sequence[str] | None, n: int) -> IndexArray:
    """Return the number of each list's group, from 0; without groups, each list is its own."""
    if groups is None:
        return np.arange(n)
    if len(groups) != n:
        raise InputError(f"`groups` must have {n} entries, one per list, got {len(groups)}")
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return np.array([numbers[group] for group in groups], dtype=np.intp)


def _check_distributions(log: SlateLog, distributions: ArrayLike) -> FloatArray:
    """Return probabilities of all items that fit the log, or raise InputError."""
    array = check_numbers("distributions", distributions, ndim=3)
    if array.shape[:2] != log.items.shape or array.shape[2] <= log.items.max():
        raise InputError(
            f"`distributions` must have shape {log.items.shape} and a column for each item, "
            f"at least {log.items.max() + 1}, got {array.shape}"
        )
    off = np.argwhere((array.min(axis=2) < 0) | (np.abs(array.sum(axis=2) - 1.0) > 1e-6))
    if off.size:
        row, position = (int(place) for place in off[0])
        raise InputError(
            "`distributions` must be probabilities that add up to 1, got "
            f"{array[row, position].sum()} in list {row}, position {position}"
        )
    return array


def _fit_q(
    features: FloatArray, means: FloatArray, rewards: FloatArray, ridge: float
) -> FloatArray:
    """Return Q's weights for each position, (K, p)."""
    n, k, size = features.shape
    weights, below = np.empty((k, size)), np.zeros(n)
    for position in reversed(range(k)):
        learner = Ridge(size, ridge)
        learner.learn(features[:, position], rewards[:, position] + below)
        weights[position] = learner.estimate().mean
        below = means[:, position] @ weights[position]
    return weights


def _resample(
    products: FloatArray,
    divisors: FloatArray,
    group_of: IndexArray,
    resamples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the value of each resample, without those that have no weight in a column."""
    check_count(resamples, 1_000_000, name="resamples", of="the most that make sense")
    if resamples < MIN_RESAMPLES:
        raise InputError(f"`resamples` must be at least {MIN_RESAMPLES}, got {resamples}")
    n, values = int(group_of.max()) + 1, []
    for _ in range(resamples):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)[group_of]
        sums = counts @ divisors
        if (sums > 0).all():
            values.append(float((counts @ products / sums).sum()))
    return np.array(values)
