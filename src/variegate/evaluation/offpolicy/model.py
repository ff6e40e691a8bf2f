"""What a list will still earn, guessed: the model part of a doubly robust estimate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_choice, check_count, check_numbers, check_positive
from variegate.errors import InputError
from variegate.evaluation.offpolicy.estimate import group_numbers
from variegate.evaluation.offpolicy.log import SlateLog
from variegate.evaluation.offpolicy.weights import checked_distributions
from variegate.model.catalogue import Catalogue
from variegate.model.gains import NORMALISERS, Gains, Normaliser
from variegate.model.ridge import Ridge


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
