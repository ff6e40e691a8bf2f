"""Queries of the store."""

from collections.abc import Callable, Iterable, Sequence
from itertools import starmap
from time import time
from typing import Final, NamedTuple

from variegate.store.database import Transaction
from variegate.store.rows import (
    CONFIGURATION,
    ITEMS_REVISION,
    ITEMS_VISIBLE,
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
    Values,
    check_ids,
    check_text,
    from_json,
    unpack_event,
    unpack_item,
    unpack_slate,
)
from variegate.store.summaries import PolicySums, Recent, policy_sums, recent
from variegate.store.sums import (
    ALL_TIME,
    NO_POLICY,
    SumsByPolicy,
    count_wrong_sums,
    minute_of,
    read_sums,
)

#: Maximum number of events that `recent_users` looks at
MAX_RECENT_EVENTS: Final = 10_000


class History(NamedTuple):
    """All that the store has of what a user was shown and did.

    Parameters
    ----------
    state, sums
        What the part that was removed led to, and adds to the running sums.
    """

    slates: list[SlateRow]
    events: list[EventRow]
    state: bytes | None
    sums: SumsByPolicy


def _no_pause() -> None:
    return


class Reader:
    """Queries in one transaction; `Store.reading` and `Store.batch` open one.

    All of them see the store as of the first query (in a batch on PostgreSQL: as of each query).
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._sql = transaction.sql

    def users(self, ids: Iterable[str]) -> dict[str, UserRow]:
        """Return the users that exist, by id."""
        return self._users(self._sql.users, ids)

    def all_users(self, after: str | None, limit: int) -> list[UserRow]:
        """Return up to `limit` users in the order of their ids, those after the id `after`."""
        if after is None:
            rows = self._transaction.rows(self._sql.first_users, limit)
        else:
            check_ids("after", (after,))
            rows = self._transaction.rows(self._sql.next_users, after, limit)
        return list(starmap(UserRow, rows))

    def slates(
        self, ids: Iterable[str], requests: Sequence[tuple[str, str]] = ()
    ) -> dict[str, SlateRow]:
        """Return the slates that exist, by id.

        Those of `requests`, pairs of a user and an idempotency key, are among them; there may be
        others of these users.
        """
        wanted = list(ids)
        if not wanted and not requests:
            return {}
        statement, arrays = self._slates_query(wanted, requests)
        return {row[0]: unpack_slate(row) for row in self._transaction.rows(statement, *arrays)}

    def history(self, user: str, limit: int, before: str | None = None) -> list[SlateRow]:
        """Return a user's last slates, newest first, or the last before the slate `before`."""
        check_ids("user", (user,))
        if before is None:
            rows = self._transaction.rows(self._sql.newest_slates, user, limit)
        else:
            check_ids("before", (before,))
            rows = self._transaction.rows(self._sql.older_slates, user, before, limit)
        return [unpack_slate(row) for row in rows]

    def user_slates(self, user: str, after: str, limit: int) -> list[SlateRow]:
        """Return up to `limit` of a user's slates after the slate `after`, oldest first."""
        check_ids("user", (user,))
        check_ids("after", (after,))
        rows = self._transaction.rows(self._sql.later_slates, user, after, limit)
        return [unpack_slate(row) for row in rows]

    def events(
        self, user: str | None = None, after_seq: int = 0, limit: int = 1000
    ) -> list[EventRow]:
        """Return up to `limit` events in the order of their numbers.

        One user's events are numbered in the order of their commits. Those of several users need
        not be if several processes write to PostgreSQL: an event can appear after one with a
        greater number did.
        """
        if user is None:
            rows = self._transaction.rows(self._sql.events, after_seq, limit)
        else:
            check_ids("user", (user,))
            rows = self._transaction.rows(self._sql.user_events, after_seq, user, limit)
        return [unpack_event(row) for row in rows]

    def users_with_old(
        self, after: str, limit: int, before: float
    ) -> tuple[list[str], list[tuple[str, int]]]:
        """Return the next `limit` users after an id, and who has how much from before a time.

        Both in the order of their ids.
        """
        check_ids("after", (after,))
        users = [user for (user,) in self._transaction.rows(self._sql.next_user_ids, after, limit)]
        ids = self._sql.array(users)
        found = self._transaction.rows(self._sql.users_with_old, ids, before, ids, before)
        return users, [(user, count) for user, count in found]

    def histories(self, users: Iterable[str]) -> dict[str, History]:
        """Return all slates and events of some users, and their checkpoints."""
        wanted = self._ids("user", users)
        ids = self._sql.array(wanted)
        slates, events, checkpoints = self._transaction.rows_of(
            (self._sql.slates_of_users, (ids,)),
            (self._sql.events_of_users, (ids,)),
            (self._sql.checkpoints, (ids,)),
        )
        found = {user: History([], [], None, {}) for user in wanted}
        for row in map(unpack_slate, slates):
            found[row.user_id].slates.append(row)
        for event in map(unpack_event, events):
            found[event.user_id].events.append(event)
        for user, state, sums in checkpoints:
            found[user] = found[user]._replace(state=state and bytes(state), sums=from_json(sums))
        return found

    def checkpoint_state(self, user: str) -> bytes | None:
        """Return the state that the removed part of a user's log led to, or None."""
        check_ids("user", (user,))
        for (state,) in self._transaction.rows(self._sql.checkpoint_state, user):
            return None if state is None else bytes(state)
        return None

    def requested_events(self, user: str, requests: Iterable[str]) -> dict[str, EventRow]:
        """Return a user's events with these idempotency keys, by key."""
        check_ids("user", (user,))
        wanted = self._ids("request", requests)
        if not wanted:
            return {}
        array = self._sql.array(wanted)
        rows = self._transaction.rows(self._sql.requested_events, user, array)
        return {row[-1]: unpack_event(row) for row in rows}

    def items(self, *, pause: Callable[[], None] = _no_pause) -> list[ItemRow]:
        """Return all items by row; `pause` is called before each, to let other threads run."""
        return _unpack_items(self._transaction.rows(self._sql.items), pause)

    def items_by_id(self, ids: Iterable[str]) -> dict[str, ItemRow]:
        """Return the items that are stored, by id."""
        wanted = self._ids("item", ids)
        rows = self._transaction.rows(self._sql.items_by_id, self._sql.array(wanted))
        return {row[1]: unpack_item(row) for row in rows}

    def last_item_row(self) -> int:
        """Return the highest row of an item; -1 if none is stored."""
        ((row,),) = self._transaction.rows(self._sql.last_item_row)
        return -1 if row is None else int(row)

    def items_at(
        self, revision: int, after: int = -1, *, pause: Callable[[], None] = _no_pause
    ) -> list[ItemRow]:
        """Return all items by row as of a revision, or those that changed after another one.

        Revisions before the entry `ITEMS_HISTORY` are not known: they look like a store without
        changes.
        """
        return _unpack_items(self._transaction.rows(self._sql.items_at, after, revision), pause)

    def item_changes(self) -> list[ItemChange]:
        """Return every stored change of an item, oldest first."""
        rows = self._transaction.rows(self._sql.item_changes)
        return [ItemChange(row[0], unpack_item(row[1:5]), row[5]) for row in rows]

    def item_revisions(self) -> list[int]:
        """Return the revisions at which an item changed, oldest first."""
        return [revision for (revision,) in self._transaction.rows(self._sql.item_revisions)]

    def meta(self, key: str) -> str | None:
        """Return the entry `key` of the table `meta`, or None."""
        check_text("key", key)
        for (value,) in self._transaction.rows(self._sql.meta, key):
            return None if value is None else str(value)
        return None

    def head(self) -> Head:
        """Return what every transaction needs to know, read in one statement."""
        statement, keys = self._head_query()
        (row,) = self._transaction.rows(statement, *keys)
        return unpack_head(row)

    def replicas(self) -> list[ReplicaRow]:
        """Return the processes that write to the store, including those that crashed."""
        return list(starmap(ReplicaRow, self._transaction.rows(self._sql.replicas)))

    def keys(self) -> list[KeyRow]:
        """Return all API keys, oldest first, including revoked ones."""
        return list(starmap(KeyRow, self._transaction.rows(self._sql.keys)))

    def priors(self) -> dict[str, PriorRow]:
        """Return the fitted priors by policy."""
        rows = self._transaction.rows(self._sql.priors)
        return {row[0]: PriorRow(*row) for row in rows}

    def user_states(self, policy: str, after: str, limit: int) -> list[tuple[str, bytes]]:
        """Return ids and states of up to `limit` users of a policy that have a state.

        They come in the order of their ids, those after the id `after`.
        """
        found = self._transaction.rows(self._sql.user_states, policy, after, limit)
        return [(user, bytes(state)) for user, state in found]

    def counts(self) -> dict[str, int]:
        """Return the numbers of users, slates, answered slates and events."""
        found = read_sums(self._transaction, None)
        of_all = found.pop((NO_POLICY, ALL_TIME), {})
        return {
            "users": of_all.get("users", 0),
            "slates": sum(sums.get("lists", 0) for sums in found.values()),
            "answered": sum(sums.get("answered", 0) for sums in found.values()),
            "events": of_all.get("events", 0),
        }

    def due_slates(self, now: float, limit: int) -> list[tuple[str, str]]:
        """Return ids and users of the open slates that are due to close, earliest first."""
        rows = self._transaction.rows(self._sql.due_slates, now, limit)
        return [(slate, user) for slate, user in rows]

    def existing_users(self, ids: Iterable[str]) -> set[str]:
        """Return which users exist."""
        names = self._sql.array(self._ids("user", ids))
        return {user for (user,) in self._transaction.rows(self._sql.existing_users, names)}

    def count_closing(self, limit: int) -> int:
        """Return how many open slates will close automatically, counted up to `limit`."""
        ((count,),) = self._transaction.rows(self._sql.count_closing, limit)
        return int(count)

    def count_users(self, policy: str) -> int:
        """Return how many users a policy has."""
        check_ids("policy", (policy,))
        ((count,),) = self._transaction.rows(self._sql.count_users, policy)
        return int(count)

    def policy_sums(self) -> list[PolicySums]:
        """Return the results of the answered slates, by policy, over the users of each."""
        return [
            policy_sums(policy, sums)
            for (policy, _period), sums in sorted(read_sums(self._transaction, None).items())
            if sums.get("users", 0) > 0 and policy != NO_POLICY
        ]

    def recent(self, since: float, width: int = 1) -> Recent:
        """Return the activity since the minute of a time, rewards in periods of `width` minutes.

        Periods are counted from 1970, so the first may begin before that time.
        """
        return recent(self._transaction.rows(self._sql.sums_since, minute_of(since)), width)

    def count_wrong_sums(self, now: float) -> int:
        """Return how many of the running sums differ from the history as of a time."""
        return count_wrong_sums(self._transaction, now)

    def recent_users(self, limit: int) -> list[str]:
        """Return the users of the last events, latest first; see `MAX_RECENT_EVENTS`."""
        users: dict[str, None] = {}
        # A user has several events in a row; mostly, a few are enough.
        for count in (min(4 * limit, MAX_RECENT_EVENTS), MAX_RECENT_EVENTS):
            rows = self._transaction.rows(self._sql.recent_users, count)
            users = dict.fromkeys(user for (user,) in rows)
            if len(users) >= limit or len(rows) < count:
                break
        return list(users)[:limit]

    def _users(self, statement: str, ids: Iterable[str]) -> dict[str, UserRow]:
        wanted = self._ids("user", ids)
        if not wanted:
            return {}
        rows = self._transaction.rows(statement, self._sql.array(wanted))
        return {row[0]: UserRow(*row) for row in rows}

    def _slates_query(
        self, ids: Iterable[str], requests: Sequence[tuple[str, str]]
    ) -> tuple[str, tuple[object, ...]]:
        """Return the statement of `slates`, and its parameters."""
        wanted = self._sql.array(self._ids("slate", ids))
        if not requests:
            return self._sql.slates, (wanted,)
        users = self._ids("user", (user for user, _request in requests))
        names = self._ids("request", (request for _user, request in requests))
        return self._sql.requested_slates, (wanted, self._sql.array(names), self._sql.array(users))

    def _head_query(self) -> tuple[str, tuple[object, ...]]:
        """Return the statement of `head`, and its parameters."""
        return self._sql.head, (ITEMS_VISIBLE, ITEMS_REVISION, SCHEMA, CONFIGURATION)

    @staticmethod
    def _ids(name: str, ids: Iterable[str]) -> list[str]:
        wanted = sorted(set(ids))
        check_ids(name, wanted)
        return wanted


def _unpack_items(rows: Iterable[Values], pause: Callable[[], None]) -> list[ItemRow]:
    found = []
    for row in rows:
        pause()
        found.append(unpack_item(row))
    return found


def unpack_head(row: Values) -> Head:
    """Return the head whose columns these are."""
    visible, revision, schema, configuration, now = row
    # A file of SQLite is on this machine, and so is its clock.
    now = time() if now is None else now
    return Head(visible or revision or "0", int(schema or 0), configuration, now)
