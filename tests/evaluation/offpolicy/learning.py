"""Users whose tastes are known, and logs of policies that learnt from them meanwhile."""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import permutations
from typing import Any, Final

import numpy as np

from variegate import Catalogue, Policy, make_policy
from variegate.arrays import FloatArray, IndexArray
from variegate.evaluation.offpolicy import SlateLog, slate_log
from variegate.model.slate import slate_of
from variegate.policies import explore_slate, slate_propensities

ITEMS: Final = 5
K: Final = 3
#: With 100 users, estimates of lists that are rarely logged are too skewed for normal intervals.
USERS, ROUNDS = 300, 20
#: How often chance takes a turn in the logs
MIX: Final = 0.5
#: All lists of 3 of 5 items, (60, 3)
LISTS: Final[IndexArray] = np.array(list(permutations(range(ITEMS), K)))


@cache
def catalogue() -> Catalogue:
    """Return five items with two features."""
    angles = np.linspace(0.0, 1.5, ITEMS)
    features = np.column_stack([np.cos(angles), np.sin(angles)]) * 0.7
    return Catalogue(range(ITEMS), features, "cosine")


@cache
def clicks() -> FloatArray:
    """Return how likely each user clicks each position of each list (Eq. 10), (users, 60, 3)."""
    rng = np.random.default_rng(5)
    eta = np.column_stack([rng.uniform(0.0, 0.6, (USERS, 2)), rng.uniform(0.0, 0.5, USERS)])
    slates = [slate_of(catalogue(), items, np.zeros(K), "growing") for items in LISTS]
    gains = np.array([np.hstack([slate.relevance, slate.diversity]) for slate in slates])
    chances: FloatArray = np.clip(np.einsum("lkp,up->ulk", gains, eta), 0.0, 1.0)
    return chances


@dataclass(frozen=True, eq=False)
class Learnt:
    """A log, and which of `LISTS` each of its lists is, (n,)."""

    log: SlateLog
    rows: IndexArray

    @property
    def groups(self) -> list[str]:
        """Whose each list is: a policy's later lists depend on what the earlier ones earned."""
        return [str(user) for user in self.log.users]


@cache
def learnt_log(name: str) -> Learnt:
    """Return the mixed lists of a policy that starts again for each user."""
    rng, number = np.random.default_rng(11), {tuple(row): at for at, row in enumerate(LISTS)}
    drawn: list[tuple[IndexArray, FloatArray, FloatArray]] = []
    rows: list[int] = []
    for user in range(USERS):
        policy = make_policy(name, catalogue(), exploration=1.0)
        for _ in range(ROUNDS):
            slate, propensities = explore_slate(policy, K, MIX, rng=rng)
            rows.append(number[tuple(slate.items.tolist())])
            rewards = (rng.random(K) < clicks()[user, rows[-1]]).astype(np.float64)
            policy.update(slate, rewards)
            drawn.append((slate.items, rewards, propensities))
    users = [f"user {user}" for user in range(USERS) for _ in range(ROUNDS)]
    items, earned, chances = (np.array(column) for column in zip(*drawn, strict=True))
    return Learnt(slate_log(items, earned, chances, users=users), np.array(rows))


@dataclass(frozen=True, eq=False)
class Target:
    """A policy that does not learn, mixed with chance: what any list of it is like."""

    policy: Policy
    chance: float

    @cached_property
    def distributions(self) -> FloatArray:
        """The chance of every item in every position given those above, (60, 3, 5)."""
        chances = np.zeros((len(LISTS), K, ITEMS))
        for row, items in enumerate(LISTS):
            left = np.ones(ITEMS)
            choices = slate_propensities(self.policy, items, self.chance)[1]
            for position, item in enumerate(items):
                chances[row, position] = self.chance * left / left.sum()
                chances[row, position, choices[position]] += 1.0 - self.chance
                left[item] = 0.0
        return chances

    @cached_property
    def chances(self) -> FloatArray:
        """The chance of each list's items given those above, (60, 3)."""
        return np.take_along_axis(self.distributions, LISTS[:, :, None], axis=2)[:, :, 0]

    @property
    def truth(self) -> float:
        """What a list of it earns, on average over the users."""
        return float(true_values(self.chances.prod(axis=1)).mean())


def true_values(chances_of_lists: FloatArray) -> FloatArray:
    """Return what each user gives if each of `LISTS` has its given probability, (users,)."""
    values: FloatArray = clicks().sum(axis=2) @ chances_of_lists
    return values


def target(name: str, chance: float, **options: Any) -> Target:
    """Return a policy that has learnt nothing as a target."""
    return Target(make_policy(name, catalogue(), **options), chance)
