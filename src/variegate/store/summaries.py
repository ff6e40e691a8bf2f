"""What the running sums say: by policy over its users, and by minute."""

import math
import sys
from typing import NamedTuple

from variegate.store.sums import DISTANCE, SQUARED, UNIT, Sums, distances


class Moments(NamedTuple):
    """Sums of a number that each user has, and of its square."""

    users: int
    total: int
    squares: int

    @property
    def mean(self) -> float:
        """The mean over users."""
        return quotient(self.total, self.users * UNIT)

    @property
    def error(self) -> float:
        """The standard error of the mean, 0 for less than two users."""
        n = self.users
        if n < 2:
            return 0.0
        spread = max(n * self.squares - self.total**2, 0)
        over = n * n * (n - 1)
        try:
            return math.sqrt(spread / over) / UNIT
        except OverflowError:
            return quotient(math.isqrt(spread // over), UNIT)


def quotient(number: int, by: int) -> float:
    """Return a quotient, or the greatest number there is where it is greater."""
    try:
        return number / by
    except OverflowError:
        return math.copysign(sys.float_info.max, number)


class PolicySums(NamedTuple):
    """What the answered lists of one policy came to.

    Parameters
    ----------
    users
        Those with an answered list; each counts once, however many lists they got.
    answered
        The lists that got any feedback.
    reward
        Of each user's reward for a position that was answered.
    spread
        Of each user's mean distance in a list, by the name of the distance.
    """

    policy: str
    users: int
    answered: int
    reward: Moments
    spread: dict[str, Moments]


class MinuteSums(NamedTuple):
    """What happened in one minute, under one policy, or what is counted whatever the policy.

    Parameters
    ----------
    minute
        Its number since 1970.
    lists
        The lists that were given.
    feedback
        The reports that came, whatever the policy.
    answered
        Which of those lists got any feedback since; what follows are sums over these.
    positions
        The positions with a reward.
    spread
        The sum of the lists' mean distances, by the name of the distance.
    """

    policy: str
    minute: int
    lists: int
    feedback: int
    answered: int
    positions: int
    earned: float
    spread: dict[str, float]


def policy_sums(policy: str, sums: Sums) -> PolicySums:
    """Return what the sums of all time say of a policy."""
    users = sums.get("users", 0)
    spread = {
        name: Moments(users, sums.get(DISTANCE + name, 0), sums.get(SQUARED + name, 0))
        for name in distances(sums)
    }
    reward = Moments(users, sums.get("reward", 0), sums.get("reward squared", 0))
    return PolicySums(policy, users, sums.get("answered", 0), reward, spread)


def minute_sums(policy: str, minute: int, sums: Sums) -> MinuteSums:
    """Return what the sums of a minute say."""
    return MinuteSums(
        policy,
        minute,
        sums.get("lists", 0),
        sums.get("feedback", 0),
        sums.get("answered", 0),
        sums.get("positions", 0),
        quotient(sums.get("earned", 0), UNIT),
        {name: quotient(sums.get(DISTANCE + name, 0), UNIT) for name in distances(sums)},
    )
