"""Reports from the running sums: by policy over its users, and by minute."""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from variegate.store.rows import from_json
from variegate.store.sums import (
    COUNTED,
    DISTANCE,
    SQUARED,
    UNIT,
    SumKey,
    Sums,
    add_to,
    distance_names,
)


class Moments(NamedTuple):
    """The sum of a number over users, and the sum of its squares."""

    users: int
    total: int
    squares: int

    @property
    def mean(self) -> float:
        """The mean over users."""
        return quotient(self.total, self.users * UNIT)

    @property
    def error(self) -> float:
        """The standard error of the mean, 0 for fewer than two users."""
        n = self.users
        if n < 2:
            return 0.0
        numerator = max(n * self.squares - self.total**2, 0)
        denominator = n * n * (n - 1)
        try:
            return math.sqrt(numerator / denominator) / UNIT
        except OverflowError:
            return quotient(math.isqrt(numerator // denominator), UNIT)


def quotient(numerator: int, denominator: int) -> float:
    """Return a quotient, limited to the largest float."""
    try:
        return numerator / denominator
    except OverflowError:
        return math.copysign(sys.float_info.max, numerator)


class PolicySums(NamedTuple):
    """The results of the answered slates of one policy.

    Parameters
    ----------
    users
        The users with an answered slate.
    answered
        The slates with feedback.
    reward
        Of each user's mean reward per position with feedback.
    diversity
        Of each user's mean distance in a slate, by name of the distance.
    """

    policy: str
    users: int
    answered: int
    reward: Moments
    diversity: dict[str, Moments]


class PeriodSums(NamedTuple):
    """The results of the answered slates that one policy created in one period.

    Parameters
    ----------
    first
        The number of the period's first minute since 1970.
    positions
        The positions with a reward.
    diversity
        The sum of the slates' mean distances, by name of the distance.
    """

    policy: str
    first: int
    answered: int
    positions: int
    earned: float
    diversity: dict[str, float]


class Recent(NamedTuple):
    """The activity of the last minutes: slates and feedback by minute, rewards by period."""

    lists: Counter[int]
    feedback: Counter[int]
    rewards: list[PeriodSums]


def policy_sums(policy: str, sums: Sums) -> PolicySums:
    """Return the results of a policy from its sums of all time."""
    users = sums.get("users", 0)
    diversity = {
        name: Moments(users, sums.get(DISTANCE + name, 0), sums.get(SQUARED + name, 0))
        for name in distance_names(sums)
    }
    reward = Moments(users, sums.get("reward", 0), sums.get("reward squared", 0))
    return PolicySums(policy, users, sums.get("answered", 0), reward, diversity)


def recent(rows: Iterable[tuple[str, int, str]], width: int) -> Recent:
    """Return the activity from the sums of single minutes, for periods of `width` minutes."""
    lists, feedback = Counter[int](), Counter[int]()
    periods: defaultdict[SumKey, Sums] = defaultdict(dict)
    for policy, minute, text in rows:
        sums = from_json(text)
        lists[minute] += sums.get("lists", 0)
        feedback[minute] += sums.get("feedback", 0)
        # Over all parts: one may have the rewards of a slate that another counts.
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
            for name in distance_names(sums)
            if sums[COUNTED + name]
        },
    )
