"""An estimate of a policy's value with how far to trust it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

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
        drawn = _resampled(products, divisors, group_of, resamples, as_generator(rng))
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


def prefix_weights(log: SlateLog, target: ArrayLike) -> FloatArray:
    """Return, for each position, the ratio of the chances of the list down to there, (n, K).

    Each column's mean is near 1 if the logging policy can show whatever the target shows.
    Where it is well below, lists of the target's are missing from the log, and no estimate
    from it knows what they earn.

    Parameters
    ----------
    target
        The chance with which the target policy puts the logged item in its position, given
        the logged items above it, (n, K).
    """
    ratios = checked_chances("target", target, log) / log.propensities
    weights = np.cumprod(ratios, axis=1, dtype=np.float64)
    check_overlap(weights, "down to")
    return weights


def target_of_lists(log: SlateLog, lists: ArrayLike) -> FloatArray:
    """Return the chances under a target that never draws: `lists` are what it shows, (n, K).

    After the first difference a chance counts for nothing, so it is 0 there too.
    """
    shown = check_numbers("lists", lists, ndim=2)
    if shown.shape != log.items.shape:
        raise InputError(f"`lists` must have shape {log.items.shape}, got {shown.shape}")
    same: FloatArray = np.cumprod(shown == log.items, axis=1).astype(np.float64)
    return same


def target_of_distributions(log: SlateLog, distributions: ArrayLike) -> FloatArray:
    """Return the chances of the logged items, (n, K), from those of all items, (n, K, L).

    `distributions` has, for each position, the chance of every item of the catalogue given
    the logged items above it; each adds up to 1.
    """
    chances = checked_distributions(log, distributions)
    picked: FloatArray = np.take_along_axis(chances, log.items[:, :, None], axis=2)[:, :, 0]
    return picked


def checked_distributions(log: SlateLog, distributions: ArrayLike) -> FloatArray:
    """Return chances of all items that fit the log, or raise InputError."""
    chances = check_numbers("distributions", distributions, ndim=3)
    if chances.shape[:2] != log.items.shape or chances.shape[2] <= log.items.max():
        raise InputError(
            f"`distributions` must have shape {log.items.shape} and a column for each item, "
            f"at least {log.items.max() + 1}, got {chances.shape}"
        )
    off = np.argwhere((chances.min(axis=2) < 0) | (np.abs(chances.sum(axis=2) - 1.0) > 1e-6))
    if off.size:
        row, position = (int(place) for place in off[0])
        raise InputError(
            "`distributions` must be chances that add up to 1, got "
            f"{chances[row, position].sum()} in list {row}, position {position}"
        )
    return chances


def checked_chances(name: str, chances: ArrayLike, log: SlateLog) -> FloatArray:
    """Return one chance from 0 to 1 for each logged position, or raise InputError."""
    array = check_numbers(name, chances, ndim=2)
    if array.shape != log.items.shape:
        raise InputError(f"`{name}` must have shape {log.items.shape}, got {array.shape}")
    outside = array[(array < 0) | (array > 1)]
    if outside.size:
        raise InputError(f"`{name}` must lie from 0 to 1, got {outside[0]}")
    return array


def check_overlap(weights: FloatArray, where: str) -> None:
    """Raise InputError if in some position no list of the log has any weight."""
    empty = np.flatnonzero(~(weights > 0).any(axis=0))
    if empty.size:
        raise InputError(
            f"`target` must show something that was logged {where} position {empty[0]}, and "
            "gives all of it the chance 0: no overlap"
        )


@dataclass(frozen=True, eq=False)
class RewardModel:
    """Q, what a list earns from a position to its end, if the target fills what is below.

    Any numbers will do for `taken`, but `expected` must be the mean of the same Q.
    """

    #: Q of the logged item given those above it, (n, K)
    taken: FloatArray
    #: The mean of Q over the item that the target would put there, given the logged items
    #: above, (n, K)
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
    """Return the paper's features (1, z, x) of the logged items, and their target means.

    Parameters
    ----------
    catalogue
        The items that the log's rows are of.
    distributions
        As for `target_of_distributions`, (n, K, L).
    normaliser
        How distances are scaled.
    """
    chances = checked_distributions(log, distributions)
    if chances.shape[2] != len(catalogue):
        raise InputError(
            f"`distributions` must have a column for each of {len(catalogue)} items, got "
            f"{chances.shape[2]}"
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
            means[row, position, 1:] = chances[row, position] @ features
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

    Every list's Q comes from the lists outside its fold, so `cascade_dr` stays unbiased.

    Parameters
    ----------
    features
        Of the logged item in each position, (n, K, p).
    means
        The mean of the features over the item that the target would put there, (n, K, p).
    ridge
        Weight of the prior that all weights are 0.
    folds
        How many parts the log is dealt into, list by list, or group by group.
    groups
        Whose each list is, if lists of one user may depend on each other: they are in one part.
    """
    check_positive(ridge=ridge)
    group_of = group_numbers(groups, len(log))
    folds = check_count(folds, int(group_of.max()) + 1, name="folds", of="the lists or groups")
    if folds < 2:
        raise InputError("`folds` must be at least 2: a list's Q must not know its rewards")
    x, mean = check_numbers("features", features, ndim=3), check_numbers("means", means, ndim=3)
    for name, array in (("features", x), ("means", mean)):
        if array.shape[:2] != log.items.shape or array.shape != x.shape:
            raise InputError(
                f"`{name}` must have shape {(*log.items.shape, x.shape[2])}, got {array.shape}"
            )
    taken, expected = np.empty(log.items.shape), np.empty(log.items.shape)
    for fold in range(folds):
        own = group_of % folds == fold
        q = _weights_to_go(x[~own], mean[~own], log.rewards[~own], ridge)
        taken[own] = np.einsum("nkp,kp->nk", x[own], q)
        expected[own] = np.einsum("nkp,kp->nk", mean[own], q)
    return RewardModel(taken, expected)


def _weights_to_go(
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


def sips(log: SlateLog, target: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Weigh each list's total by the ratio of the whole list's chances (standard IPS).

    Unbiased whatever a reward depends on, as long as the logging policy can show every list
    that the target can. Its variance grows fastest with K.

    Parameters
    ----------
    target
        The chance with which the target policy puts the logged item in its position, given
        the logged items above it, (n, K).
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
    return estimated(weights, log.totals[:, None], **options)


def rips(log: SlateLog, target: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Weigh each reward by the ratio of the chances of the list down to its position.

    Reward interaction IPS (McInerney et al. 2020). Unbiased if a reward depends on the item
    and on those above it, but not on those below: what the paper's click model says
    (Eq. 10), and a user who reads from the top. `target` and `options` are those of `sips`.
    """
    return estimated(prefix_weights(log, target), log.rewards, **options)


def iips(
    log: SlateLog,
    target_marginals: ArrayLike,
    logging_marginals: ArrayLike,
    **options: Unpack[Options],
) -> Estimate:
    """Weigh each reward by the ratio of the chances of its item in its position alone.

    Independent IPS (Li et al. 2018). Unbiased if a reward depends on the item and its
    position and on no other item of the list, and then for any two policies. It needs
    *marginal* chances, that an item comes to stand in a position whatever stands above it:
    a sum over all beginnings of a list, which the log's propensities, given the items above,
    do not tell. Only where both policies fill each position without a look at the others
    are the two the same, and `log.propensities` may be handed in; items that may not repeat
    already break that. Where items do interact, as in the paper's model, it is biased and
    no amount of data helps.

    Parameters
    ----------
    target_marginals
        The target's chance of the logged item in its position, (n, K).
    logging_marginals
        The logging policy's, greater than 0, (n, K).
    options
        See `Options`.
    """
    logged = checked_chances("logging_marginals", logging_marginals, log)
    if not (logged > 0).all():
        raise InputError("`logging_marginals` must be greater than 0 for what was logged, got 0")
    weights = checked_chances("target_marginals", target_marginals, log) / logged
    check_overlap(weights, "in")
    return estimated(weights, log.rewards, **options)


def cascade_dr(
    log: SlateLog, target: ArrayLike, model: RewardModel, **options: Unpack[Options]
) -> Estimate:
    """Correct a model's guess by the weighted errors it made on the log (doubly robust).

    Cascade DR (Kiyohara et al. 2022): under the assumption of `rips` unbiased for any model
    that was not fitted to the same lists, however wrong, and the nearer the model the
    smaller the variance; a model of zeros gives `rips` itself. `target` and `options` are
    those of `sips`.
    """
    weights = prefix_weights(log, target)
    if model.taken.shape != log.items.shape:
        raise InputError(f"`model` must have shape {log.items.shape}, got {model.taken.shape}")
    above = np.hstack([np.ones((len(log), 1)), weights[:, :-1]])
    outcomes = np.hstack([log.rewards - model.taken, model.expected])
    return estimated(np.hstack([weights, above]), outcomes, **options)
