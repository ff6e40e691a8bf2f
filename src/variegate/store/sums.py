"""Sums over lists in whole numbers: exact, however often something is added and taken away.

A number is kept as a multiple of 2^-50. Whole numbers of any size add up in any order to the same
sum, and what was added can be taken away without a trace; a sum of floats cannot do either, and
its square loses what an interval is made of.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from variegate.store.packing import from_json
from variegate.store.rows import SlateRow

#: Sums by what is summed
Sums: TypeAlias = dict[str, int]
#: A policy and a period: the number of a minute since 1970, or `ALL_TIME`
Place: TypeAlias = tuple[str, int]

#: How many make one
UNIT: Final = 2**50
MINUTE: Final = 60.0
ALL_TIME: Final = -1
#: Stands in the place of a policy for what is counted whatever the policy
NO_POLICY: Final = ""
#: A time of an imported list may be anything: minutes stay in what a database can keep
_LAST_MINUTE: Final = 2**40

#: Before the name of a distance: a sum over lists, or over users' means
DISTANCE: Final = "distance:"
#: Before the name of a distance: the sum of the squares of users' means
SQUARED: Final = "squared:"
#: Before the name of a distance: how many lists, or users, have it
COUNTED: Final = "counted:"


class Outcome(NamedTuple):
    """What a list adds to the sums; `answer` is None before any feedback."""

    policy: str
    minute: int
    answer: Sums | None


def outcome_of(row: SlateRow) -> Outcome:
    """Return what a list adds."""
    if not row.answered:
        return Outcome(row.policy, minute_of(row.created), None)
    positions = len(row.rewards) - row.rewards.count(None)
    answer = _answer(row.earned, positions, row.spread)
    return Outcome(row.policy, minute_of(row.created), answer)


def kept_outcome(
    policy: str, created: float, answered: bool, earned: float, rewards: str, spread: str
) -> Outcome:
    """Return what a list adds, from columns as a database gives them."""
    if not answered:
        return Outcome(policy, minute_of(created), None)
    told = from_json(rewards)
    answer = _answer(earned, len(told) - told.count(None), from_json(spread))
    return Outcome(policy, minute_of(created), answer)


def minute_of(time: float) -> int:
    """Return the number of the minute that a time is in."""
    return int(min(max(time // MINUTE, 0.0), _LAST_MINUTE))


def _answer(earned: float, positions: int, spread: Mapping[str, float]) -> Sums:
    answer = {"answered": 1, "positions": positions, "earned": whole(earned)}
    for name, mean in spread.items():
        answer[COUNTED + name] = 1
        answer[DISTANCE + name] = whole(mean)
    return answer


def whole(number: float) -> int:
    """Return a number as a multiple of 1 / `UNIT`; nothing that is kept is not finite."""
    if not math.isfinite(number):
        return 0
    above, below = float(number).as_integer_ratio()
    return above * UNIT // below


def distances(sums: Mapping[str, int]) -> list[str]:
    """Return the names of the distances that anything is summed of."""
    return [name.removeprefix(COUNTED) for name in sums if name.startswith(COUNTED)]


def add_to(sums: Sums, more: Mapping[str, int], sign: int = 1) -> None:
    """Add sums to others, or with a `sign` of -1 take them away."""
    known = sums.get
    if sign == 1:
        for name, number in more.items():
            sums[name] = known(name, 0) + number
    else:
        for name, number in more.items():
            sums[name] = known(name, 0) - number


def without_zeros(sums: Mapping[str, int]) -> Sums:
    """Return the sums that are not 0."""
    return {name: number for name, number in sums.items() if number}


def of_user(sums: Mapping[str, int]) -> Sums:
    """Return what a user adds to the sums of a policy, given the sums over their lists."""
    answered = sums.get("answered", 0)
    if answered <= 0:
        return {}
    rate = sums.get("earned", 0) // max(sums.get("positions", 0), 1)
    mine = {"users": 1, "reward": rate, "reward squared": rate * rate}
    for name in distances(sums):
        mean = sums.get(DISTANCE + name, 0) // answered
        mine[COUNTED + name] = 1
        mine[DISTANCE + name] = mean
        mine[SQUARED + name] = mean * mean
    return mine


class Changes:
    """What changes of lists, users and events come to.

    Parameters
    ----------
    since
        The first minute that is counted by itself.
    """

    def __init__(self, since: int = 0) -> None:
        self._since = since
        self.periods: defaultdict[Place, Sums] = defaultdict(dict)
        #: Sums over the answered lists of one policy and user
        self.users: defaultdict[tuple[str, str], Sums] = defaultdict(dict)

    def add(self, user: str | None, outcome: Outcome, sign: int = 1) -> None:
        """Add a list of a user, or take it away; without a user, their sums are left alone."""
        policy, minute, answer = outcome
        of_all = self.periods[policy, ALL_TIME]
        of_all["lists"] = of_all.get("lists", 0) + sign
        if minute >= self._since:
            of_minute = self.periods[policy, minute]
            of_minute["lists"] = of_minute.get("lists", 0) + sign
            add_to(of_minute, answer or {}, sign)
        if answer is not None:
            of_all["answered"] = of_all.get("answered", 0) + sign
            if user is not None:
                add_to(self.users[user, policy], answer, sign)

    def count(self, name: str, number: int, period: int = ALL_TIME) -> None:
        """Count something whatever the policy."""
        if period == ALL_TIME or period >= self._since:
            add_to(self.periods[NO_POLICY, period], {name: number})
