"""What can be asked of the store."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import starmap
from typing import TYPE_CHECKING, Final

from variegate.store.packing import event_of, item_of, slate_of
from variegate.store.rows import (
    EventRow,
    ItemRow,
    KeyRow,
    PriorRow,
    SlateRow,
    TimedRewards,
    UserRewards,
    UserRow,
)
from variegate.store.texts import check_ids, check_text

if TYPE_CHECKING:
    from variegate.store.transaction import Transaction

#: Events that questions about the last minutes look at, at most
RECENT: Final = 500_000


class Reader:
    """Answers from one transaction; `Store.reading` and `Store.batch` give one.

    Everything is as it was at the first question (PostgreSQL: in a batch, as at each question).
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._sql = transaction.statements

    def users(self, ids: Iterable[str]) -> dict[str, UserRow]:
        """Return the users that there are, by id."""
        return self._users(self._sql.users, ids)

    def all_users(self, after: str | None, limit: int) -> list[UserRow]:
        """Return up to `limit` users by id, those whose id comes after `after`."""
        if after is None:
            rows = self._transaction.rows(self._sql.first_users, limit)
        else:
            check_ids("after", (after,))
            rows = self._transaction.rows(self._sql.next_users, after, limit)
        return list(starmap(UserRow, rows))

    def slates(self, ids: Iterable[str]) -> dict[str, SlateRow]:
        """Return the lists that there are, by id."""
        wanted = self._ids("slate", ids)
        if not wanted:
            return {}
        rows = self._transaction.rows(self._sql.slates, self._sql.listed(wanted))
        return {row[0]: slate_of(row) for row in rows}

    def history(self, user: str, limit: int, before: str | None = None) -> list[SlateRow]:
        """Return a user's last lists, the newest first, or the last before the list `before`."""
        check_ids("user", (user,))
        if before is None:
            rows = self._transaction.rows(self._sql.history, user, limit)
        else:
            check_ids("before", (before,))
            rows = self._transaction.rows(self._sql.older_history, user, before, limit)
        return [slate_of(row) for row in rows]

    def events(
        self, user: str | None = None, after_seq: int = 0, limit: int = 1000
    ) -> list[EventRow]:
        """Return up to `limit` events in the order in which they were numbered.

        One user's events are numbered in the order in which they were kept. Those of several
        users need not be, where several processes write to PostgreSQL: an event can appear after
        one with a greater number did.
        """
        if user is None:
            rows = self._transaction.rows(self._sql.events, after_seq, limit)
        else:
            check_ids("user", (user,))
            rows = self._transaction.rows(self._sql.user_events, after_seq, user, limit)
        return [event_of(row) for row in rows]

    def items(self) -> list[ItemRow]:
        """Return all items by their row."""
        return [item_of(row) for row in self._transaction.rows(self._sql.items)]

    def meta(self, key: str) -> str | None:
        """Return what was noted under `key`, or None."""
        check_text("key", key)
        for (value,) in self._transaction.rows(self._sql.meta, key):
            return str(value)
        return None

    def keys(self) -> list[KeyRow]:
        """Return all keys, the oldest first, revoked ones too."""
        return list(starmap(KeyRow, self._transaction.rows(self._sql.keys)))

    def priors(self) -> dict[str, PriorRow]:
        """Return what was ever fitted, by policy."""
        rows = self._transaction.rows(self._sql.priors.all)
        return {row[0]: PriorRow(*row) for row in rows}

    def states(self, policy: str, after: str, limit: int) -> list[tuple[str, bytes]]:
        """Return ids and states of up to `limit` users of a policy who have learnt something.

        They come by id, those whose id comes after `after`.
        """
        found = self._transaction.rows(self._sql.priors.states, policy, after, limit)
        return [(user, bytes(state)) for user, state in found]

    def counts(self) -> dict[str, int]:
        """Return how many users, slates, answered slates and events there are."""
        (row,) = self._transaction.rows(self._sql.counts)
        return dict(zip(("users", "slates", "answered", "events"), row, strict=True))

    def due(self, now: float, limit: int) -> list[tuple[str, str]]:
        """Return open lists whose time to close by themselves has come, and whose they are.

        The earliest comes first.
        """
        rows = self._transaction.rows(self._sql.due, now, limit)
        return [(slate, user) for slate, user in rows]

    def rewards_by_user(self) -> list[UserRewards]:
        """Return what the answered lists came to, by policy and user."""
        spread: dict[tuple[str, str], dict[str, float]] = {}
        for policy, user, distance, total in self._transaction.rows(self._sql.spread):
            spread.setdefault((policy, user), {})[distance] = total
        return [
            UserRewards(policy, user, answered, earned, told, spread.get((policy, user), {}))
            for policy, user, answered, earned, told in self._transaction.rows(self._sql.rewards)
        ]

    def lists_by_time(self, first: str, width: float) -> dict[int, int]:
        """Return how many lists were given in each stretch of `width` seconds.

        Lists whose ids sort before `first` are left out. The stretches are numbered: time divided
        by `width`, cut to a whole number.
        """
        check_ids("first", (first,))
        return dict(self._transaction.rows(self._sql.lists_by_time, width, first))

    def reports_by_time(self, since: float, width: float) -> dict[int, int]:
        """Return how much feedback came in each stretch of `width` seconds, since a time.

        Only the last events are looked at: see `RECENT`.
        """
        told = (width, RECENT, since, "feedback")
        return dict(self._transaction.rows(self._sql.reports_by_time, *told))

    def rewards_by_time(self, first: str, width: float) -> list[TimedRewards]:
        """Return what the answered lists came to, by policy and stretch of `width` seconds.

        Lists whose ids sort before `first` are left out.
        """
        check_ids("first", (first,))
        spread: dict[tuple[str, int], dict[str, float]] = {}
        for policy, bucket, distance, total in self._transaction.rows(
            self._sql.spread_by_time, width, first
        ):
            spread.setdefault((policy, bucket), {})[distance] = total
        return [
            TimedRewards(policy, bucket, answered, earned, told, spread.get((policy, bucket), {}))
            for policy, bucket, answered, earned, told in self._transaction.rows(
                self._sql.rewards_by_time, width, first
            )
        ]

    def last_users(self, limit: int) -> list[str]:
        """Return the users of the last events, the latest first."""
        rows = self._transaction.rows(self._sql.last_users, RECENT // 10, limit)
        return [user for (user,) in rows]

    def _users(self, statement: str, ids: Iterable[str]) -> dict[str, UserRow]:
        wanted = self._ids("user", ids)
        if not wanted:
            return {}
        rows = self._transaction.rows(statement, self._sql.listed(wanted))
        return {row[0]: UserRow(*row) for row in rows}

    @staticmethod
    def _ids(name: str, ids: Iterable[str]) -> list[str]:
        wanted = sorted(set(ids))
        check_ids(name, wanted)
        return wanted
