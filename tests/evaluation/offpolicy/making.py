"""Worlds so small that every list can be written down, and logs made in them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.evaluation.offpolicy import SlateLog, slate_log

ITEMS: Final = 5
K: Final = 3
#: All lists of 3 of 5 items, (60, 3)
LISTS: Final[IndexArray] = np.array(list(permutations(range(ITEMS), K)))

#: What an item earns by itself
BASE: Final[FloatArray] = np.array([0.1, 0.3, 0.5, 0.25, 0.6])
#: How alike two items are
ALIKE: Final[FloatArray] = 1.0 - np.abs(np.subtract.outer(np.arange(ITEMS), np.arange(ITEMS))) / 4.0


@dataclass(frozen=True, eq=False)
class Drawing:
    """A policy that draws items one after the other, each by its appeal among those left."""

    appeal: FloatArray

    @property
    def distributions(self) -> FloatArray:
        """The chance of every item in every position given those above, (60, 3, 5)."""
        chances = np.empty((len(LISTS), K, ITEMS))
        for row, items in enumerate(LISTS):
            left = self.appeal.copy()
            for position, item in enumerate(items):
                chances[row, position] = left / left.sum()
                left[item] = 0.0
        return chances

    @property
    def propensities(self) -> FloatArray:
        """The chance of each list's items given those above, (60, 3)."""
        return np.take_along_axis(self.distributions, LISTS[:, :, None], axis=2)[:, :, 0]

    @property
    def marginals(self) -> FloatArray:
        """The chance of each list's items in their positions, whatever stands above, (60, 3)."""
        chances = self.propensities.prod(axis=1)
        table = np.zeros((K, ITEMS))
        for position in range(K):
            np.add.at(table[position], LISTS[:, position], chances)
        return table[np.arange(K), LISTS]


#: Logs what is shown
LOGGING: Final = Drawing(np.array([1.0, 1.2, 0.8, 1.5, 0.7]))
#: Is to be valued
TARGET: Final = Drawing(np.array([0.3, 1.0, 2.0, 0.5, 3.0]))


def independent() -> FloatArray:
    """What each position of each list earns if it depends on its item alone, (60, 3)."""
    earned: FloatArray = BASE[LISTS] * np.array([1.0, 0.8, 0.5])
    return earned


def cascading() -> FloatArray:
    """What each position earns if items like those above bore the user."""
    earned = BASE[LISTS].copy()
    for position in range(1, K):
        alike = ALIKE[LISTS[:, position, None], LISTS[:, :position]]
        earned[:, position] *= 1.0 - alike.max(axis=1)
    return earned


def outshone() -> FloatArray:
    """What each position earns if the whole list counts, also what stands below."""
    earned = cascading()
    earned[:, :-1] *= 1.0 - BASE[LISTS[:, 1:]]
    return earned


Earning = Callable[[], FloatArray]


def true_value(earning: Earning, target: Drawing = TARGET) -> float:
    """Return what a list of the target's earns on average: the sum over all lists."""
    return float((target.propensities.prod(axis=1) * earning().sum(axis=1)).sum())


@dataclass(frozen=True, eq=False)
class Made:
    """A log and what both policies say of its lists."""

    log: SlateLog
    #: Which of `LISTS` each list is, (n,)
    rows: IndexArray

    @property
    def target(self) -> FloatArray:
        """The target's chances given the items above."""
        return TARGET.propensities[self.rows]

    @property
    def target_marginals(self) -> FloatArray:
        """The target's chances whatever stands above."""
        return TARGET.marginals[self.rows]

    @property
    def logging_marginals(self) -> FloatArray:
        """The logging policy's chances whatever stands above."""
        return LOGGING.marginals[self.rows]


def made_log(earning: Earning, n: int, seed: int) -> Made:
    """Return `n` lists that the logging policy drew, with clicks drawn as `earning` says."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(LISTS), size=n, p=LOGGING.propensities.prod(axis=1))
    clicks = rng.random((n, K)) < earning()[rows]
    return Made(slate_log(LISTS[rows], clicks, LOGGING.propensities[rows]), rows)
