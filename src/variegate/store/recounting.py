"""The running sums from the history: to fill them, to check them and to put them right."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from variegate.store.notes import CHANGING_SECONDS, SUMS
from variegate.store.packing import from_json, to_json
from variegate.store.running_sums import save_rows
from variegate.store.sums import (
    ALL_TIME,
    Changes,
    Place,
    Sums,
    add_to,
    kept_outcome,
    minute_of,
    of_user,
    without_zeros,
)

if TYPE_CHECKING:
    from variegate.store.database import Database
    from variegate.store.transaction import Transaction

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
