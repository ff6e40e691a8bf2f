"""What the running sums say: by policy over its users, and by minute."""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from variegate.store.rows import from_json
from variegate.store.sums import COUNTED, DISTANCE, SQUARED, UNIT, Sums, add_to, distances


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
    diversity
        Of each user's mean distance in a list, by the name of the distance.
    """

    policy: str
    users: int
    answered: int
    reward: Moments
    diversity: dict[str, Moments]


class PeriodSums(NamedTuple):
    """What the answered lists of one policy that were given in one period came to.

    Parameters
    ----------
    first
        The number of the period's first minute since 1970.
    positions
        The positions with a reward.
    diversity
        The sum of the lists' mean distances, by the name of the distance.
    """

    policy: str
    first: int
    answered: int
    positions: int
    earned: float
    diversity: dict[str, float]


class Recent(NamedTuple):
    """What happened in the last minutes: lists and feedback by minute, rewards by period."""

    lists: Counter[int]
    feedback: Counter[int]
    rewards: list[PeriodSums]


def policy_sums(policy: str, sums: Sums) -> PolicySums:
    """Return what the sums of all time say of a policy."""
    users = sums.get("users", 0)
    diversity = {
        name: Moments(users, sums.get(DISTANCE + name, 0), sums.get(SQUARED + name, 0))
        for name in distances(sums)
    }
    reward = Moments(users, sums.get("reward", 0), sums.get("reward squared", 0))
    return PolicySums(policy, users, sums.get("answered", 0), reward, diversity)


def recent(rows: Iterable[tuple[str, int, str]], width: int) -> Recent:
    """Return what sums of single minutes say, for periods of a number of minutes."""
    lists, feedback = Counter[int](), Counter[int]()
    periods: defaultdict[tuple[str, int], Sums] = defaultdict(dict)
    for policy, minute, text in rows:
        sums = from_json(text)
        lists[minute] += sums.get("lists", 0)
        feedback[minute] += sums.get("feedback", 0)
        # All of it: one part may have the rewards that were added to a list of another.
        add_to(periods[policy, minute // width], sums)
    rewards = [
        _period_sums(policy, number * width, sums)
        for (policy, number), sums in sorted(periods.items())
        if sums.get("answered")
    ]
    return Recent(lists, feedback, rewards)


def _period_sums(policy: str, first: int, sums: Sums) -> PeriodSums:
    return PeriodSums(
        policy,
        first,
        sums["answered"],
        sums.get("positions", 0),
        quotient(sums.get("earned", 0), UNIT),
        {
            name: quotient(sums.get(DISTANCE + name, 0), UNIT)
            for name in distances(sums)
            if sums[COUNTED + name]
        },
    )
