"""Running sums over slates, kept with every change so that reports need not read the slates.

Sums are integers: a number is stored as a multiple of 2^-50. Integers of any size add up to the
same sum in any order, and what was added can be subtracted exactly, unlike floats (decision 32).
"""

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from variegate.store.database import LONG_SECONDS, Database, Transaction
from variegate.store.rows import SUMS, EventRow, SlateRow, from_json, to_json

#: Sums by name
Sums: TypeAlias = dict[str, int]
#: A policy and a period: the number of a minute since 1970, or `ALL_TIME`
SumKey: TypeAlias = tuple[str, int]
#: A user, a policy, and the sums over the user's answered slates
UserSums: TypeAlias = tuple[str, str, Sums]
#: The sums of one user
SumsByPolicy: TypeAlias = dict[str, Sums]

#: The integer that stands for 1
UNIT: Final = 2**50
MINUTE: Final = 60.0
ALL_TIME: Final = -1
#: In place of a policy, for sums over all policies
NO_POLICY: Final = ""
#: Imported slates can have any time: this keeps minutes within what a database can store
_MAX_MINUTE: Final = 2**40

#: Before the name of a distance: the sum over slates, or over the means of users
DISTANCE: Final = "distance:"
#: Before the name of a distance: the sum of the squares of the means of users
SQUARED: Final = "squared:"
#: Before the name of a distance: how many slates, or users, have it
COUNTED: Final = "counted:"

#: The number of parts of the sums on a server, so that processes seldom wait for each other
PARTS: Final = 16
#: Seconds for which the sums of single minutes are kept: the longest period of a report, and a day
MINUTES_KEPT: Final = 8 * 86_400.0
#: Version of the computation: sums of another version are recomputed when a store is opened
FORMAT: Final = "1"
_PAGE: Final = 5000
_LOG_EVERY: Final = 100_000
#: The id of a user, and sums
_CHECKPOINT_COLUMNS: Final = 2

_log = logging.getLogger(__name__)


class Contribution(NamedTuple):
    """What a slate adds to the sums; `feedback` is None before any."""

    policy: str
    minute: int
    feedback: Sums | None


def contribution(row: SlateRow) -> Contribution:
    """Return what a slate adds to the sums."""
    feedback = _feedback_sums(row.earned, row.rewards, row.diversity) if row.answered else None
    return Contribution(row.policy, minute_of(row.created), feedback)


def stored_contribution(
    policy: str, created: float, answered: bool, earned: float, rewards: str, diversity: str
) -> Contribution:
    """Return what a slate adds to the sums, from its columns as a database returns them."""
    feedback = None
    if answered:
        feedback = _feedback_sums(earned, from_json(rewards), from_json(diversity))
    return Contribution(policy, minute_of(created), feedback)


def minute_of(time: float) -> int:
    """Return the number of the minute of a time since 1970."""
    return int(min(max(time // MINUTE, 0.0), _MAX_MINUTE))


def _feedback_sums(
    earned: float, rewards: Sequence[float | None], diversity: Mapping[str, float]
) -> Sums:
    positions = len(rewards) - rewards.count(None)
    sums = {"answered": 1, "positions": positions, "earned": to_units(earned)}
    for name, mean in diversity.items():
        counted, distance, _ = _keys_of(name)
        sums[counted] = 1
        sums[distance] = to_units(mean)
    return sums


@lru_cache(maxsize=1000)
def _keys_of(name: str) -> tuple[str, str, str]:
    return COUNTED + name, DISTANCE + name, SQUARED + name


def to_units(number: float) -> int:
    """Return a number as a multiple of 1 / `UNIT`, 0 if it is not finite."""
    if not math.isfinite(number):
        return 0
    if abs(number) < UNIT:  # the product is exact: its factor is a power of 2
        return math.floor(number * UNIT)
    numerator, denominator = float(number).as_integer_ratio()
    return numerator * UNIT // denominator


def distance_names(sums: Mapping[str, int]) -> list[str]:
    """Return the names of the distances in some sums."""
    return [name.removeprefix(COUNTED) for name in sums if name.startswith(COUNTED)]


def add_to(sums: Sums, more: Mapping[str, int], sign: int = 1) -> None:
    """Add sums to others in place, or with a `sign` of -1 subtract them."""
    for name, number in more.items():
        sums[name] = sums.get(name, 0) + sign * number


def add_difference(sums: Sums, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """Add to sums in place what others grew by."""
    for name, number in after.items():
        if number != (known := before.get(name, 0)):
            sums[name] = sums.get(name, 0) + number - known
    for name in before.keys() - after.keys():
        sums[name] = sums.get(name, 0) - before[name]


def without_zeros(sums: Mapping[str, int]) -> Sums:
    """Return the sums that are not 0."""
    return {name: number for name, number in sums.items() if number}


def user_contribution(sums: Mapping[str, int]) -> Sums:
    """Return what a user adds to the sums of a policy, given the sums over the user's slates."""
    answered = sums.get("answered", 0)
    if answered <= 0:
        return {}
    rate = sums.get("earned", 0) // max(sums.get("positions", 0), 1)
    mine = {"users": 1, "reward": rate, "reward squared": rate * rate}
    for counted, distance, squared in _distance_keys(tuple(sums)):
        mean = sums.get(distance, 0) // answered
        mine[counted] = 1
        mine[distance] = mean
        mine[squared] = mean * mean
    return mine


@lru_cache(maxsize=1000)
def _distance_keys(names: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Return the keys of each distance in the sums with these names; most users' are the same."""
    return [_keys_of(name) for name in distance_names(dict.fromkeys(names, 0))]


class SumChanges:
    """Changes of the sums, from changes of slates, users and events.

    Parameters
    ----------
    since
        The first minute with sums of its own.
    """

    def __init__(self, since: int = 0) -> None:
        self._since = since
        self.periods: defaultdict[SumKey, Sums] = defaultdict(dict)
        #: Sums over the answered slates of a user and a policy
        self.users: defaultdict[tuple[str, str], Sums] = defaultdict(dict)

    def add(self, user: str | None, one: Contribution, sign: int = 1) -> None:
        """Add or subtract a slate; without a user, the sums of users are left alone."""
        policy, minute, feedback = one
        of_all = self.periods[policy, ALL_TIME]
        of_all["lists"] = of_all.get("lists", 0) + sign
        if minute >= self._since:
            of_minute = self.periods[policy, minute]
            of_minute["lists"] = of_minute.get("lists", 0) + sign
        if feedback is not None:
            self.add_feedback(user, one, sign)

    def add_checkpoint(self, user: str | None, sums: SumsByPolicy, sign: int = 1) -> None:
        """Add or subtract what the removed slates and events of a user add."""
        for policy, one in sums.items():
            feedback = {name: n for name, n in one.items() if name not in ("lists", "events")}
            for name in ("lists", "answered", "events"):
                if name in one:
                    add_to(self.periods[policy, ALL_TIME], {name: one[name]}, sign)
            if user is not None and feedback:
                add_to(self.users[user, policy], feedback, sign)

    def add_feedback(self, user: str | None, one: Contribution, sign: int = 1) -> None:
        """Add or subtract the feedback of a slate, but not the slate."""
        policy, minute, feedback = one
        if feedback is None:
            return
        of_all = self.periods[policy, ALL_TIME]
        of_all["answered"] = of_all.get("answered", 0) + sign
        if minute >= self._since:
            add_to(self.periods[policy, minute], feedback, sign)
        if user is not None:
            add_to(self.users[user, policy], feedback, sign)

    def count(self, name: str, number: int, period: int = ALL_TIME) -> None:
        """Count something over all policies."""
        if period == ALL_TIME or period >= self._since:
            add_to(self.periods[NO_POLICY, period], {name: number})

    def count_events(self, events: Sequence[tuple[float, str]], sign: int = 1) -> None:
        """Count events, given their times and kinds; feedback by its minute too."""
        self.count("events", sign * len(events))
        for time, kind in events:
            if kind == "feedback":
                self.count("feedback", sign, minute_of(time))

    def changed_periods(self) -> dict[SumKey, Sums]:
        """Return the sums of periods that are not 0."""
        return _without_empty(self.periods)


class RunningSums:
    """The changes of one transaction to the sums; `write` writes them, last of all.

    Parameters
    ----------
    part
        The part of the sums that this process writes to; their total over all parts counts.
    """

    def __init__(self, transaction: Transaction, part: int) -> None:
        self._transaction, self._part = transaction, part
        self._sql = transaction.sql
        self._changes = SumChanges()
        self._kept_since: int | None = None
        #: The users' sums that are known, as they are in the store
        self.of_users: dict[str, SumsByPolicy] = {}
        #: What `send` has sent: changes of periods, and how to get the rows that these change
        self._sent: tuple[dict[SumKey, Sums], Callable[[], Sequence[Any]]] | None = None

    def add_slates(self, rows: Iterable[SlateRow]) -> None:
        """Count new slates."""
        for row in rows:
            self._changes.add(row.user_id, contribution(row))

    def change_slate(self, old: SlateRow, new: SlateRow) -> None:
        """Count the feedback of a slate in its new state instead of that in its old one."""
        for row, sign in ((old, -1), (new, 1)):
            if row.answered:  # mostly only the new one is
                self._changes.add_feedback(row.user_id, contribution(row), sign)

    def add_users(self, number: int) -> None:
        """Count new users, or with a negative number deleted ones."""
        self._changes.count("users", number)

    def add_events(self, rows: Sequence[EventRow]) -> None:
        """Count events."""
        self._changes.count_events([(row.time, row.kind) for row in rows])

    def delete_user(self, user: str) -> None:
        """Subtract all that a user added, whose slates and events must still exist."""
        for row in self._transaction.rows(self._sql.summed_slates_of_user, user):
            self._changes.add(None, stored_contribution(*row), -1)
        self._changes.add_checkpoint(None, self.of_checkpoint(user), -1)
        events = self._transaction.rows(self._sql.summed_events_of_user, user)
        self._changes.count_events(events, -1)
        self.of_users.pop(user, None)
        for (_, policy), sums in _read_user_sums(self._transaction, [user]).items():
            add_to(self._changes.periods[policy, ALL_TIME], user_contribution(sums), -1)
        self._transaction.change(self._sql.delete_user_sums, user)
        # The earlier changes of this transaction are gone as well.
        for key in [key for key in self._changes.users if key[0] == user]:
            del self._changes.users[key]

    def of_checkpoint(self, user: str) -> SumsByPolicy:
        """Return what the removed slates and events of a user add."""
        for (sums,) in self._transaction.rows(self._sql.checkpoint_sums, user):
            found: SumsByPolicy = from_json(sums)
            return found
        return {}

    def delete_before(self, time: float) -> None:
        """Let `write` delete the sums of minutes before a time."""
        self._kept_since = minute_of(time)

    def send(self) -> None:
        """Write the users' sums, and lock and read those of periods, which `write` writes.

        Within `Transaction.together` this needs no round trip of its own. No user may be locked
        after this.
        """
        self._write_sent()
        self._write_users()
        changed = self._changes.changed_periods()
        self._changes = SumChanges()
        if not changed:
            return
        periods = self._sql.array(sorted({period for _policy, period in changed}))
        if self._sql.has_parts:
            self._transaction.send(self._sql.lock_sums, self._part)
        read = self._transaction.send(self._sql.sums_of_part, self._part, periods)
        self._sent = changed, read

    def write(self) -> None:
        """Write all changes; nothing may be locked after this."""
        self.send()
        self._write_sent()
        if self._kept_since is not None:
            self._transaction.change(self._sql.delete_old_sums, self._kept_since)
            self._kept_since = None

    def remember(self, users: Iterable[str], rows: Iterable[tuple[str, str, str]]) -> None:
        """Remember the sums of users, given their rows in the store."""
        self.of_users |= {user: {} for user in users}
        for user, policy, sums in rows:
            self.of_users[user][policy] = from_json(sums)

    def _write_sent(self) -> None:
        if self._sent is None:
            return
        (changed, read), self._sent = self._sent, None
        sums = {(policy, period): from_json(text) for policy, period, text in read()}
        for key, more in changed.items():
            add_to(sums.setdefault(key, {}), more)
        new = {key: without_zeros(sums[key]) for key in changed}
        _write_sums(self._transaction, self._part, new)

    def _write_users(self) -> None:
        changed = _without_empty(dict(sorted(self._changes.users.items())))
        unknown = sorted({user for user, _policy in changed} - self.of_users.keys())
        if unknown:
            array = self._sql.array(unknown)
            self.remember(unknown, self._transaction.rows(self._sql.user_sums, array))
        rows = []
        for (user, policy), more in changed.items():
            before = self.of_users[user].get(policy, {})
            after = dict(before)
            add_to(after, more)
            of_all = self._changes.periods[policy, ALL_TIME]
            add_difference(of_all, user_contribution(before), user_contribution(after))
            kept = without_zeros(after)
            # Not in place: what was remembered stays valid if this is rolled back.
            self.of_users[user] = {**self.of_users[user], policy: kept}
            rows.append((user, policy, kept))
        _write_user_sums(self._transaction, rows)


def sums_with(sums: SumsByPolicy, slates: Iterable[SlateRow], n_events: int) -> SumsByPolicy:
    """Return a checkpoint's sums with those of more slates and events."""
    changes = SumChanges()
    changes.add_checkpoint("", sums)
    for row in slates:
        changes.add("", contribution(row))
    changes.count("events", n_events)
    found: SumsByPolicy = {}
    for (policy, period), of_period in changes.periods.items():
        if period == ALL_TIME:
            add_to(found.setdefault(policy, {}), of_period)
    for (_user, policy), feedback in changes.users.items():
        found[policy] |= feedback
    return {policy: one for policy, more in found.items() if (one := without_zeros(more))}


def ensure_sums(database: Database[Any], now: float) -> None:
    """Compute the sums from the history, unless that was done before.

    This is no migration, because those never change, and the computation of the sums may.
    """
    with database.reading() as transaction:
        if _format(transaction) == FORMAT:
            return
    with database.writing(LONG_SECONDS) as transaction:
        _lock_tables(transaction)
        if _format(transaction) != FORMAT:  # no other process did it during the wait
            recompute_sums(transaction, now)


def recompute_sums(transaction: Transaction, now: float) -> None:
    """Compute all sums again while nobody writes, those of single minutes as of `now`."""
    _lock_tables(transaction)
    transaction.change(transaction.sql.delete_sums)
    transaction.change(transaction.sql.delete_all_user_sums)
    sums = _compute_sums(transaction, now, lambda rows: _write_user_sums(transaction, rows))
    _write_sums(transaction, 0, sums)
    transaction.change(transaction.sql.set_meta, SUMS, FORMAT)


def count_wrong_sums(transaction: Transaction, now: float) -> int:
    """Return how many of the stored sums differ from the history."""
    wrong = seen = 0

    def compare(users: list[UserSums]) -> None:
        nonlocal wrong, seen
        stored = _read_user_sums(transaction, sorted({user for user, _policy, _sums in users}))
        wrong += sum(stored.get((user, policy)) != sums for user, policy, sums in users)
        seen += sum((user, policy) in stored for user, policy, _sums in users)

    right = _compute_sums(transaction, now, compare)
    ((stored_users,),) = transaction.rows(transaction.sql.count_user_sums)
    wrong += int(stored_users) - seen  # those of users without such slates
    first = minute_of(now - MINUTES_KEPT) + 24 * 60  # earlier ones may be deleted at any time
    stored = read_sums(transaction, first) | read_sums(transaction, None)
    right = {key: sums for key, sums in right.items() if not 0 <= key[1] < first}
    return wrong + sum(stored.get(k, {}) != right.get(k, {}) for k in stored.keys() | right.keys())


def read_sums(transaction: Transaction, since: int | None) -> dict[SumKey, Sums]:
    """Return the sums over all parts since a minute, or with None those of all time."""
    if since is None:
        rows = transaction.rows(transaction.sql.sums_of_period, ALL_TIME)
    else:
        rows = transaction.rows(transaction.sql.sums_since, since)
    found: defaultdict[SumKey, Sums] = defaultdict(dict)
    for policy, period, text in rows:
        add_to(found[policy, period], from_json(text))
    return _without_empty(found)


def _compute_sums(
    transaction: Transaction, now: float, receive: Callable[[list[UserSums]], None]
) -> dict[SumKey, Sums]:
    """Return the sums by policy and period, and pass those of users to `receive` in pages."""
    changes = SumChanges(since=minute_of(now - MINUTES_KEPT))
    page: list[UserSums] = []
    histories = merge(_slates_by_user(transaction), _checkpoints(transaction), key=itemgetter(0))
    for user, rows in groupby(histories, key=itemgetter(0)):
        for row in rows:
            if len(row) == _CHECKPOINT_COLUMNS:
                changes.add_checkpoint(user, from_json(row[1]))
            else:
                changes.add(user, stored_contribution(*row[2:]))
        for (name, policy), sums in changes.users.items():
            add_to(changes.periods[policy, ALL_TIME], user_contribution(sums))
            page.append((name, policy, without_zeros(sums)))
        changes.users.clear()
        if len(page) >= _PAGE:
            receive(page)
            page = []
    receive(page)
    seq = 0
    while events := transaction.rows(transaction.sql.summed_events, seq, _PAGE):
        changes.count_events([(time, kind) for _seq, time, kind in events])
        seq = events[-1][0]
    ((users,),) = transaction.rows(transaction.sql.count_all_users)
    changes.count("users", users)
    return changes.changed_periods()


def _slates_by_user(transaction: Transaction) -> Iterator[Any]:
    user = slate = ""
    done = 0
    while page := transaction.rows(transaction.sql.summed_slates, user, slate, _PAGE):
        yield from page
        user, slate = page[-1][:2]
        if (done + len(page)) // _LOG_EVERY > done // _LOG_EVERY:
            _log.info("computing the running sums: %d slates so far", done + len(page))
        done += len(page)


def _checkpoints(transaction: Transaction) -> Iterator[Any]:
    user = ""
    while page := transaction.rows(transaction.sql.next_checkpoint_sums, user, _PAGE):
        yield from page
        user = page[-1][0]


def _format(transaction: Transaction) -> str | None:
    for (value,) in transaction.rows(transaction.sql.meta, SUMS):
        return str(value)
    return None


def _lock_tables(transaction: Transaction) -> None:
    if transaction.sql.has_parts:  # SQLite has one writer anyway
        transaction.change(transaction.sql.wait_for_tables)
        transaction.change(transaction.sql.lock_tables)


def _read_user_sums(transaction: Transaction, users: Sequence[str]) -> dict[tuple[str, str], Sums]:
    rows = transaction.rows(transaction.sql.user_sums, transaction.sql.array(users))
    return {(user, policy): from_json(sums) for user, policy, sums in rows}


def _write_user_sums(transaction: Transaction, rows: Sequence[UserSums]) -> None:
    packed = [(user, policy, to_json(sums)) for user, policy, sums in rows]
    transaction.update_each(transaction.sql.save_user_sums, packed)


def _write_sums(transaction: Transaction, part: int, sums: Mapping[SumKey, Sums]) -> None:
    packed = [(period, part, policy, to_json(one)) for (policy, period), one in sums.items()]
    transaction.update_each(transaction.sql.save_sums, packed)


def _without_empty(sums: Mapping[Any, Sums]) -> dict[Any, Sums]:
    """Return the sums that are not 0, without keys that have none."""
    return {key: rest for key, one in sums.items() if (rest := without_zeros(one))}
