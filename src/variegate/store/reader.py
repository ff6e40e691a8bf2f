"""What can be asked of the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import starmap
from time import time
from typing import TYPE_CHECKING, Final

from variegate.store.rows import (
    CONFIGURATION,
    ITEMS_REVISION,
    SCHEMA,
    EventRow,
    Head,
    ItemChange,
    ItemRow,
    KeyRow,
    PriorRow,
    ReplicaRow,
    SlateRow,
    UserRow,
    check_ids,
    check_text,
    event_of,
    item_of,
    slate_of,
)
from variegate.store.summaries import PolicySums, Recent, policy_sums, recent
from variegate.store.sums import ALL_TIME, NO_POLICY, differences, kept_sums, minute_of

if TYPE_CHECKING:
    from variegate.store.database import Transaction

#: Events that `last_users` looks at, at most
RECENT: Final = 10_000


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

    def slates(
        self, ids: Iterable[str], requests: Sequence[tuple[str, str]] = ()
    ) -> dict[str, SlateRow]:
        """Return the lists that there are, by id.

        Those that answered one of `requests`, users and the names of their requests, are among
        them, and may come with others of these users.
        """
        wanted = self._ids("slate", ids)
        if requests:
            users = self._ids("user", (user for user, _request in requests))
            names = self._ids("request", (request for _user, request in requests))
            lists = map(self._sql.listed, (wanted, names, users))
            rows = self._transaction.rows(self._sql.requested_slates, *lists)
        elif wanted:
            rows = self._transaction.rows(self._sql.slates, self._sql.listed(wanted))
        else:
            return {}
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

    def lists(self, user: str, after: str, limit: int) -> list[SlateRow]:
        """Return up to `limit` of a user's lists after the list `after`, the oldest first."""
        check_ids("user", (user,))
        check_ids("after", (after,))
        rows = self._transaction.rows(self._sql.lists, user, after, limit)
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

    def items_at(self, revision: int) -> list[ItemRow]:
        """Return all items by their row as they were at a revision, as far as history goes back.

        Revisions before the note `ITEMS_HISTORY` are not known: they look like a store without
        changes.
        """
        return [item_of(row) for row in self._transaction.rows(self._sql.items_at, revision)]

    def item_changes(self) -> list[ItemChange]:
        """Return every change of an item that is kept, the earliest first."""
        rows = self._transaction.rows(self._sql.item_changes)
        return [ItemChange(row[0], item_of(row[1:5]), row[5]) for row in rows]

    def item_revisions(self) -> list[int]:
        """Return the revisions at which an item changed, the earliest first."""
        return [revision for (revision,) in self._transaction.rows(self._sql.item_revisions)]

    def meta(self, key: str) -> str | None:
        """Return what was noted under `key`, or None."""
        check_text("key", key)
        for (value,) in self._transaction.rows(self._sql.meta, key):
            return None if value is None else str(value)
        return None

    def head(self) -> Head:
        """Return what every transaction needs to know; one statement reads all of it."""
        keys = ITEMS_REVISION, SCHEMA, CONFIGURATION
        ((revision, schema, configuration, now),) = self._transaction.rows(self._sql.head, *keys)
        # A file of SQLite is on this machine, and so is its clock.
        now = time() if now is None else now
        return Head(revision or "0", int(schema or 0), configuration, now)

    def replicas(self) -> list[ReplicaRow]:
        """Return the processes that write to the store, those that ended without a word too."""
        return list(starmap(ReplicaRow, self._transaction.rows(self._sql.replicas)))

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
        found = kept_sums(self._transaction, None)
        everywhere = found.pop((NO_POLICY, ALL_TIME), {})
        return {
            "users": everywhere.get("users", 0),
            "slates": sum(sums.get("lists", 0) for sums in found.values()),
            "answered": sum(sums.get("answered", 0) for sums in found.values()),
            "events": everywhere.get("events", 0),
        }

    def due(self, now: float, limit: int) -> list[tuple[str, str]]:
        """Return open lists whose time to close by themselves has come, and whose they are.

        The earliest comes first.
        """
        rows = self._transaction.rows(self._sql.due, now, limit)
        return [(slate, user) for slate, user in rows]

    def count_closing(self, most: int) -> int:
        """Return how many lists will close by themselves, counted up to `most`."""
        ((count,),) = self._transaction.rows(self._sql.count_closing, most)
        return int(count)

    def count_users(self, policy: str) -> int:
        """Return how many users a policy has."""
        check_ids("policy", (policy,))
        ((count,),) = self._transaction.rows(self._sql.count_users, policy)
        return int(count)

    def policy_sums(self) -> list[PolicySums]:
        """Return what the answered lists came to, by policy, over the users of each."""
        return [
            policy_sums(policy, sums)
            for (policy, _period), sums in sorted(kept_sums(self._transaction, None).items())
            if sums.get("users", 0) > 0 and policy != NO_POLICY
        ]

    def recent(self, since: float, width: int = 1) -> Recent:
        """Return what happened from the minute of a time on, rewards in periods of `width` minutes.

        Periods are counted from 1970, so the first may have begun before that time.
        """
        return recent(self._transaction.rows(self._sql.sums.since, minute_of(since)), width)

    def wrong_sums(self, now: float) -> int:
        """Return how many of the running sums are not what the history says, as of a time."""
        return differences(self._transaction, now)

    def last_users(self, limit: int) -> list[str]:
        """Return the users of the last events, the latest first; see `RECENT`."""
        rows = self._transaction.rows(self._sql.sums.last_users, RECENT)
        return list(dict.fromkeys(user for (user,) in rows))[:limit]

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
