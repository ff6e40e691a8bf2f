"""Running sums in the database, changed in the transaction that changes what they sum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from variegate.store.packing import Values, from_json, to_json
from variegate.store.rows import EventRow, SlateRow
from variegate.store.sums import (
    ALL_TIME,
    Changes,
    Sums,
    add_to,
    kept_outcome,
    minute_of,
    of_user,
    outcome_of,
    without_zeros,
)

if TYPE_CHECKING:
    from variegate.store.sum_statements import Saving
    from variegate.store.transaction import Transaction

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
