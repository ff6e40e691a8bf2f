"""Sums over lists in whole numbers: exact, however often something is added and taken away.

A number is kept as a multiple of 2^-50. Whole numbers of any size add up in any order to the same
sum, and what was added can be taken away without a trace; a sum of floats cannot do either, and
its square loses what an interval is made of.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from variegate.store.rows import (
    CHANGING_SECONDS,
    SUMS,
    EventRow,
    SlateRow,
    Values,
    from_json,
    to_json,
)

if TYPE_CHECKING:
    from variegate.store.database import Database, Transaction
    from variegate.store.sql import Saving

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
    answer = _answer(row.earned, positions, row.diversity)
    return Outcome(row.policy, minute_of(row.created), answer)


def kept_outcome(
    policy: str, created: float, answered: bool, earned: float, rewards: str, diversity: str
) -> Outcome:
    """Return what a list adds, from columns as a database gives them."""
    if not answered:
        return Outcome(policy, minute_of(created), None)
    told = from_json(rewards)
    answer = _answer(earned, len(told) - told.count(None), from_json(diversity))
    return Outcome(policy, minute_of(created), answer)


def minute_of(time: float) -> int:
    """Return the number of the minute that a time is in."""
    return int(min(max(time // MINUTE, 0.0), _LAST_MINUTE))


def _answer(earned: float, positions: int, diversity: Mapping[str, float]) -> Sums:
    answer = {"answered": 1, "positions": positions, "earned": whole(earned)}
    for name, mean in diversity.items():
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


#: Parts that the sums are kept in on a server: two processes seldom wait for each other's.
PARTS: Final = 16


class RunningSums:
    """What one transaction changes of the sums; `settle` writes it, as the last thing of all.

    Parameters
    ----------
    part
        In which part of the sums this process writes; their sum over all parts counts.
    """

    def __init__(self, transaction: Transaction, part: int) -> None:
        self._transaction, self._part = transaction, part
        self._sql = transaction.statements.sums
        self._recommend = transaction.statements.listed
        self._changes = Changes()
        self._kept_since: int | None = None

    def add_lists(self, rows: Iterable[SlateRow]) -> None:
        """Count new lists."""
        for row in rows:
            self._changes.add(row.user_id, outcome_of(row))

    def change_list(self, old: SlateRow, new: SlateRow) -> None:
        """Count a list as it is now in place of what it was."""
        if old.answered or new.answered:
            self._changes.add(old.user_id, outcome_of(old), -1)
            self._changes.add(new.user_id, outcome_of(new))

    def add_users(self, number: int) -> None:
        """Count users who came, or with a number below 0 who went."""
        self._changes.count("users", number)

    def add_events(self, rows: Sequence[EventRow]) -> None:
        """Count events."""
        self._changes.count("events", len(rows))
        for row in rows:
            self._count_feedback(row.kind, row.time)

    def forget_user(self, user: str) -> None:
        """Take away all that a user added; their lists and events must be there still."""
        for row in self._transaction.rows(self._sql.lists_of_user, user):
            self._changes.add(None, kept_outcome(*row), -1)
        happened = self._transaction.rows(self._sql.events_of_user, user)
        self._changes.count("events", -len(happened))
        for _seq, time, kind in happened:
            self._count_feedback(kind, time, -1)
        for (_, policy), sums in self._of_users([user]).items():
            add_to(self._changes.periods[policy, ALL_TIME], of_user(sums), -1)
        self._transaction.change(self._sql.forget_user, user)
        # What this very transaction changed of theirs before is not kept either.
        for key in [key for key in self._changes.users if key[0] == user]:
            del self._changes.users[key]

    def drop_before(self, time: float) -> None:
        """Drop the sums of minutes before a time, with what `settle` writes."""
        self._kept_since = minute_of(time)

    def settle(self) -> None:
        """Write all changes; nothing may be locked after this."""
        self._settle_users()
        changed = {
            place: kept
            for place, sums in self._changes.periods.items()
            if (kept := without_zeros(sums))
        }
        if changed:
            self._settle_periods(changed)
        if self._kept_since is not None:
            self._transaction.change(self._sql.drop_before, self._kept_since)
        self._changes, self._kept_since = Changes(), None

    def _settle_users(self) -> None:
        changed = {
            key: kept
            for key, sums in sorted(self._changes.users.items())
            if (kept := without_zeros(sums))
        }
        if not changed:
            return
        known = self._of_users(sorted({user for user, _policy in changed}))
        rows = []
        for (user, policy), more in changed.items():
            before = known.get((user, policy), {})
            after = dict(before)
            add_to(after, more)
            of_all = self._changes.periods[policy, ALL_TIME]
            add_to(of_all, of_user(before), -1)
            add_to(of_all, of_user(after))
            rows.append((user, policy, to_json(without_zeros(after))))
        save_rows(self._transaction, self._sql.save_users, rows)

    def _settle_periods(self, changed: Mapping[tuple[str, int], Sums]) -> None:
        if self._sql.has_parts:
            self._transaction.rows(self._sql.lock, self._part)
        periods = self._recommend(sorted({period for _policy, period in changed}))
        found = self._transaction.rows(self._sql.of_part, self._part, periods)
        known = {(policy, period): from_json(sums) for policy, period, sums in found}
        rows = []
        for (policy, period), more in changed.items():
            sums = known.get((policy, period), {})
            add_to(sums, more)
            rows.append((period, self._part, policy, to_json(without_zeros(sums))))
        save_rows(self._transaction, self._sql.save, rows)

    def _of_users(self, users: Sequence[str]) -> dict[tuple[str, str], Sums]:
        rows = self._transaction.rows(self._sql.of_users, self._recommend(users))
        return {(user, policy): from_json(sums) for user, policy, sums in rows}

    def _count_feedback(self, kind: str, time: float, sign: int = 1) -> None:
        if kind == "feedback":
            self._changes.count("feedback", sign, minute_of(time))


def save_rows(transaction: Transaction, saving: Saving, rows: Sequence[Values]) -> None:
    """Write rows of sums over those with their keys."""
    if transaction.statements.sums.has_parts and rows:
        named = [dict(zip(saving.columns, row, strict=True)) for row in rows]
        transaction.change(saving.text, to_json(named))
    else:
        transaction.change_each(saving.text, rows)


#: Seconds for which the sums of single minutes are kept: the longest look back, and a day
KEPT: Final = 8 * 86_400.0
#: How the sums are counted: a store whose sums were counted in another way is counted again
FORMAT: Final = "1"
_PAGE: Final = 5000
_TELL_EVERY: Final = 100_000

#: Is given users, policies and the sums over the lists of each
Take = Callable[[list[tuple[str, str, Sums]]], None]

_log = logging.getLogger(__name__)


def ensure_sums(database: Database, now: float) -> None:
    """Count the sums from the history, unless that was done before.

    No step of `migrations` does this: those never change, and how sums are counted may.
    """
    with database.reading() as transaction:
        if _format(transaction) == FORMAT:
            return
    with database.writing(CHANGING_SECONDS) as transaction:
        _lock_all(transaction)
        if _format(transaction) != FORMAT:  # nobody else did it while this one waited
            recount(transaction, now)


def recount(transaction: Transaction, now: float) -> None:
    """Count all sums again, while nobody writes; single minutes as of `now`."""
    sql = transaction.statements.sums
    _lock_all(transaction)
    for statement in sql.clear:
        transaction.change(statement)

    def keep(users: list[tuple[str, str, Sums]]) -> None:
        rows = [(user, policy, to_json(sums)) for user, policy, sums in users]
        save_rows(transaction, sql.save_users, rows)

    periods = _counted(transaction, now, keep)
    rows = [(period, 0, policy, to_json(sums)) for (policy, period), sums in periods.items()]
    save_rows(transaction, sql.save, rows)
    transaction.change(transaction.statements.set_meta, SUMS, FORMAT)


def differences(transaction: Transaction, now: float) -> int:
    """Return how many of the kept sums are not what the history says."""
    sql, listed = transaction.statements.sums, transaction.statements.listed
    wrong = seen = 0

    def compare(users: list[tuple[str, str, Sums]]) -> None:
        nonlocal wrong, seen
        ids = listed(sorted({user for user, _policy, _sums in users}))
        rows = transaction.rows(sql.of_users, ids)
        kept = {(user, policy): from_json(sums) for user, policy, sums in rows}
        wrong += sum(kept.get((user, policy)) != sums for user, policy, sums in users)
        seen += sum((user, policy) in kept for user, policy, _sums in users)

    right = _counted(transaction, now, compare)
    ((summed,),) = transaction.rows(sql.summed_users)
    wrong += int(summed) - seen  # those of users who have no such lists
    first = minute_of(now - KEPT) + 24 * 60  # those before may be dropped at any time
    kept = kept_sums(transaction, first) | kept_sums(transaction, None)
    right = {place: sums for place, sums in right.items() if not 0 <= place[1] < first}
    return wrong + sum(kept.get(p, {}) != right.get(p, {}) for p in kept.keys() | right.keys())


def kept_sums(transaction: Transaction, since: int | None) -> dict[Place, Sums]:
    """Return the sums of all parts by policy and minute, or without one those of all time."""
    sql = transaction.statements.sums
    if since is None:
        rows = transaction.rows(sql.of_period, ALL_TIME)
    else:
        rows = transaction.rows(sql.since, since)
    found: dict[Place, Sums] = {}
    for policy, period, text in rows:
        add_to(found.setdefault((policy, period), {}), from_json(text))
    return {place: kept for place, sums in found.items() if (kept := without_zeros(sums))}


def _counted(transaction: Transaction, now: float, take: Take) -> dict[Place, Sums]:
    """Return the sums by policy and period, and give those of users to `take`, in pages."""
    changes = Changes(since=minute_of(now - KEPT))
    waiting: list[tuple[str, str, Sums]] = []
    for user, rows in groupby(_lists(transaction), key=itemgetter(0)):
        for row in rows:
            changes.add(user, kept_outcome(*row[2:]))
        for (name, policy), sums in changes.users.items():
            add_to(changes.periods[policy, ALL_TIME], of_user(sums))
            waiting.append((name, policy, without_zeros(sums)))
        changes.users.clear()
        if len(waiting) >= _PAGE:
            take(waiting)
            waiting = []
    take(waiting)
    for _seq, time, kind in _events(transaction):
        changes.count("events", 1)
        if kind == "feedback":
            changes.count("feedback", 1, minute_of(time))
    ((users,),) = transaction.rows(transaction.statements.sums.users)
    changes.count("users", users)
    return {place: kept for place, sums in changes.periods.items() if (kept := without_zeros(sums))}


def _lists(transaction: Transaction) -> Iterator[Any]:
    """Give what each list adds, by user."""
    user = slate = ""
    done = 0
    while page := transaction.rows(transaction.statements.sums.lists, user, slate, _PAGE):
        yield from page
        user, slate = page[-1][:2]
        if (done + len(page)) // _TELL_EVERY > done // _TELL_EVERY:
            _log.info("counting the running sums: %d lists so far", done + len(page))
        done += len(page)


def _events(transaction: Transaction) -> Iterator[Any]:
    seq = 0
    while page := transaction.rows(transaction.statements.sums.events, seq, _PAGE):
        yield from page
        seq = page[-1][0]


def _format(transaction: Transaction) -> str | None:
    for (value,) in transaction.rows(transaction.statements.meta, SUMS):
        return str(value)
    return None


def _lock_all(transaction: Transaction) -> None:
    sql = transaction.statements.sums
    for statement in sql.lock_all if sql.has_parts else ():
        transaction.change(statement)
