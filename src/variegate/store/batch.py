"""Changes of the store, committed all together or not at all."""

import time
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Any, Final

from variegate.errors import ConflictError
from variegate.store.database import Transaction
from variegate.store.reader import History, Reader, unpack_head
from variegate.store.rows import (
    FORGOTTEN,
    ITEMS_HISTORY,
    ITEMS_REVISION,
    ITEMS_VISIBLE,
    KEYS_REVISION,
    NOT_READ,
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
    body_update,
    check_ids,
    check_text,
    features_update,
    feedback_update,
    item_update,
    pack_event,
    pack_item,
    pack_slate,
    seen_items_update,
    to_json,
    unpack_slate,
    user_update,
)
from variegate.store.schema import VERSION
from variegate.store.sums import (
    MINUTES_KEPT,
    RunningSums,
    SumsByPolicy,
    recompute_sums,
    sums_with,
)

_CHANGED_USERS: Final = "users changed since they were read"
_NO_SLATES: Final = "slates do not exist"


class Batch(Reader):
    """Changes in one transaction; `Store.batch` opens one.

    Text that a database cannot store raises InputError before anything is changed, and the batch
    can continue. After a StoreError or a ConflictError nothing is committed: every other call
    raises the same error.

    On PostgreSQL two batches wait for each other's users. To avoid deadlocks a batch calls
    `ensure_users` and then `lock_users` once each, with all users that it will change; both go in
    the order of the ids.

    Changes of slates, users and events change the running sums, which `write_sums` writes. Queries
    of the sums before that do not include the changes of this batch.

    Parameters
    ----------
    part
        The part of the running sums that this process writes to.
    """

    def __init__(self, transaction: Transaction, part: int = 0) -> None:
        super().__init__(transaction)
        self._sums = RunningSums(transaction, part)
        #: The slates that this batch has read or written, in their present state
        self._known_slates: dict[str, SlateRow] = {}
        #: Whether changes of items in this batch are not visible yet
        self._hides = False

    @property
    def is_exclusive(self) -> bool:
        """Whether nobody else can change anything during the batch, as in a file."""
        return not self._sql.has_parts

    def ensure_users(self, rows: Sequence[UserRow]) -> None:
        """Add the users that do not exist yet, and leave the others as they are."""
        _check_users(rows)
        # Two batches that add the same users in different orders would deadlock.
        ordered = sorted(rows, key=attrgetter("id"))
        self._sums.add_users(self._transaction.change_each(self._sql.add_user, ordered))

    def existing(
        self, users: Iterable[str] = (), slates: Iterable[str] = ()
    ) -> tuple[set[str], dict[str, str]]:
        """Return which users exist, and the users of the slates that exist by the slate's id."""
        names, ids = self._ids("user", users), self._ids("slate", slates)
        known, owners = self._transaction.rows_of(
            (self._sql.existing_users, (self._sql.array(names),)),
            (self._sql.slate_owners, (self._sql.array(ids),)),
        )
        return {user for (user,) in known}, dict(map(tuple, owners))

    def lock_users(
        self, ids: Iterable[str], without_state: Set[str] = frozenset()
    ) -> dict[str, UserRow]:
        """Return the users that exist, which nobody else can change until this batch ends.

        Those of `without_state` have `NOT_READ` in place of their states; the sums of the others
        are remembered.
        """
        wanted = self._ids("user", ids)
        if not wanted:
            return {}
        rows = self._transaction.rows_of(*self._lock_queries(wanted, without_state))
        return self._locked(*rows)

    def lock(
        self,
        users: Iterable[str],
        slates: Iterable[str],
        requests: Sequence[tuple[str, str]],
        without_state: Set[str] = frozenset(),
    ) -> tuple[dict[str, UserRow], dict[str, SlateRow], Head]:
        """Return `lock_users`, and then `slates` and `head`, in one round trip."""
        locked, states, sums, found, (head,) = self._transaction.rows_of(
            *self._lock_queries(self._ids("user", users), without_state),
            self._slates_query(slates, requests),
            self._head_query(),
        )
        read = {row[0]: unpack_slate(row) for row in found}
        self._known_slates |= read
        return self._locked(locked, states, sums), read, unpack_head(head)

    def remember(self, slates: Mapping[str, SlateRow], sums: Mapping[str, SumsByPolicy]) -> None:
        """Use slates as they are in the store, and users' sums, without reading them."""
        self._known_slates |= slates
        self._sums.of_users |= sums

    def user_sums(self, user: str) -> SumsByPolicy | None:
        """Return a user's sums by policy after this batch, if they were read or remembered."""
        return self._sums.of_users.get(user)

    def together(self) -> AbstractContextManager[None]:
        """Send the changes of users, slates and events in the block to the server at once.

        A ConflictError of any of them is raised at the end of the block.
        """
        return self._transaction.together()

    def save_users(self, rows: Sequence[UserRow]) -> None:
        """Store users, with their versions incremented.

        Raises ConflictError if the version of any is not the one in the store.
        """
        _check_users(rows)
        if any(row.state is NOT_READ for row in rows):
            raise ConflictError("users without their states cannot be saved: read them again")
        values = map(user_update, rows)
        self._transaction.update_each(self._sql.save_user, values, _CHANGED_USERS)

    def save_seen_items(self, rows: Sequence[UserRow]) -> None:
        """Store what a new slate changes of users, whose states are as they were read.

        As `save_users`, but without writing the state, by far the largest part.
        """
        check_ids("user", [row.id for row in rows])
        values = map(seen_items_update, rows)
        self._transaction.update_each(self._sql.save_seen_items, values, _CHANGED_USERS)

    def forget_user(self, user: str) -> bool:
        """Delete a user with all slates and events; return whether there was such a user."""
        check_ids("user", (user,))
        deleted = self._transaction.change(self._sql.delete_user, user)
        if not deleted:  # nobody has slates without being a user
            return False
        # Now nobody else can add anything of this user.
        self._sums.delete_user(user)
        self._sums.add_users(-deleted)
        self._transaction.change(self._sql.delete_user_slates, user)
        self._transaction.change(self._sql.delete_user_events, user)
        self._transaction.change(self._sql.delete_checkpoint, user)
        self._known_slates = {
            slate: row for slate, row in self._known_slates.items() if row.user_id != user
        }
        return True

    def slates(
        self, ids: Iterable[str], requests: Sequence[tuple[str, str]] = ()
    ) -> dict[str, SlateRow]:
        """Return the slates that exist, by id; see `Reader.slates`."""
        found = super().slates(ids, requests)
        self._known_slates |= found
        return found

    def add_slates(self, rows: Sequence[SlateRow]) -> None:
        """Add new slates."""
        check_ids("slate", [row.id for row in rows])
        check_ids("user", [row.user_id for row in rows])
        check_ids("policy", [row.policy for row in rows])
        check_ids("request", [row.request for row in rows if row.request is not None])
        self._transaction.update_each(self._sql.add_slate, map(pack_slate, rows))
        self._sums.add_slates(rows)
        self._known_slates.update((row.id, row) for row in rows)

    def update_slates(self, rows: Sequence[SlateRow]) -> None:
        """Store the columns of slates that feedback and time can change.

        Raises ConflictError if any does not exist (any more).
        """
        self.slates([row.id for row in rows if row.id not in self._known_slates])
        values = map(feedback_update, rows)
        self._transaction.update_each(self._sql.update_slate, values, _NO_SLATES)
        for row in rows:
            self._sums.change_slate(self._known_slates[row.id], row)
            self._known_slates[row.id] = row

    def send_sums(self) -> None:
        """Send what `write_sums` needs with the changes of `together`; call it after them."""
        self._sums.send()

    def update_features(self, rows: Sequence[SlateRow]) -> None:
        """Store what another catalogue changes of slates: `closed`, `features`, `propensities`."""
        check_ids("slate", [row.id for row in rows])
        values = map(features_update, rows)
        self._transaction.update_each(self._sql.update_features, values, _NO_SLATES)

    def update_terms(self, rows: Sequence[SlateRow]) -> None:
        """Store the terms of slates; raises ConflictError if any does not exist."""
        check_ids("slate", [row.id for row in rows])
        values = ((to_json(row.terms), row.id) for row in rows)
        self._transaction.update_each(self._sql.update_terms, values, _NO_SLATES)

    def add_events(self, rows: Sequence[EventRow]) -> None:
        """Append events to the log; the database numbers them in the order of `rows`."""
        check_ids("user", [row.user_id for row in rows])
        check_ids("slate", [row.slate_id for row in rows if row.slate_id is not None])
        check_ids("kind", [row.kind for row in rows])
        check_ids("request", [row.request for row in rows if row.request is not None])
        self._transaction.update_each(self._sql.add_event, map(pack_event, rows))
        self._sums.add_events(rows)

    def update_events(self, rows: Sequence[EventRow]) -> None:
        """Store what another catalogue changes of events: their bodies."""
        values = map(body_update, rows)
        self._transaction.update_each(self._sql.update_event, values, "events do not exist")

    def move_to_checkpoints(
        self, users: Sequence[tuple[UserRow, bytes, History]], removed: Mapping[str, History]
    ) -> None:
        """Delete slates and events of locked users, and keep what they taught and add to sums.

        Parameters
        ----------
        users
            Each with the state that the removed part led to, and all that the store has.
        removed
            What is deleted, by user.
        """
        rows = []
        for user, state, known in users:
            old = removed[user.id]
            sums = sums_with(known.sums, old.slates, len(old.events))
            rows.append((user.id, state, to_json(sums)))
        self._transaction.change_each(self._sql.save_checkpoint, rows)
        ids = [row.id for old in removed.values() for row in old.slates]
        self._transaction.change(self._sql.delete_slates, self._sql.array(ids))
        numbers = [row.seq for old in removed.values() for row in old.events if row.seq is not None]
        if numbers:  # an array without entries has no type
            self._transaction.change(self._sql.delete_events, self._sql.array(numbers))
        # So that no process uses a cached slate.
        self.save_seen_items([user for user, _state, _known in users])

    def add_checkpoint(self, user: str, state: bytes) -> None:
        """Store what a removed log taught a new user, without sums."""
        self.require_tables()
        self._transaction.change(self._sql.save_checkpoint, user, state, to_json({}))

    def clear_checkpoint_state(self, user: str) -> None:
        """Drop what the removed part of a user's log taught, but not its sums."""
        self._transaction.change(self._sql.clear_checkpoint_state, user)

    def require_tables(self) -> None:
        """Stop processes whose code is older than these tables, although it could use them."""
        self.set_meta(SCHEMA, str(VERSION))

    def delete_old_sums(self, now: float) -> None:
        """Delete the running sums of single minutes that are too old to be queried at `now`."""
        self._sums.delete_before(now - MINUTES_KEPT)

    def claim_due_slates(self, now: float, limit: int) -> list[str]:
        """Return open slates that are due to close, earliest first, with their users locked.

        Slates of users whom another batch has locked are left out, so nobody waits.
        """
        return [row[0] for row in self._transaction.rows(self._sql.claim_due_slates, now, limit)]

    def count_forgotten(self) -> None:
        """Let all processes drop forgotten users from their caches; call it after all locks."""
        self._transaction.change(self._sql.increment_meta, FORGOTTEN)

    def recompute_sums(self, now: float) -> None:
        """Recompute the running sums from the history; nobody else can write meanwhile.

        Single minutes are included as far back as they are kept at the time `now`.
        """
        recompute_sums(self._transaction, now)

    def write_sums(self) -> None:
        """Write the running sums; `Store.batch` calls this last."""
        self._sums.write()

    def hide_item_changes(self) -> None:
        """Let lists be made of the items as they are now, until `show_items` or another change."""
        if not self.meta(ITEMS_VISIBLE):
            self.set_meta(ITEMS_VISIBLE, self.meta(ITEMS_REVISION) or "0")
        self._hides = True

    def show_items(self) -> None:
        """Let lists be made of the latest items."""
        if self.meta(ITEMS_VISIBLE):
            self.set_meta(ITEMS_VISIBLE, "")

    def add_items(self, rows: Sequence[ItemRow]) -> None:
        """Add new items; raises ConflictError if a row or an id is taken."""
        check_ids("item", [row.id for row in rows])
        self._transaction.change_each(self._sql.add_item, map(pack_item, rows))
        self._record(rows)

    def update_items(self, rows: Sequence[ItemRow]) -> None:
        """Store changed items; raises ConflictError if a row with its id does not exist."""
        check_ids("item", [row.id for row in rows])
        values = map(item_update, rows)
        self._transaction.update_each(self._sql.update_item, values, "items do not exist")
        self._record(rows)

    def replace_items(self, rows: Sequence[ItemRow]) -> None:
        """Store these items in place of all others; their history starts again."""
        check_ids("item", [row.id for row in rows])
        self._transaction.change(self._sql.delete_items)
        self._transaction.change_each(self._sql.add_item, map(pack_item, rows))
        self.increment_items_revision()
        self.restart_item_history()

    def restore_items(self, changes: Sequence[ItemChange], first: int) -> None:
        """Store items with their history from another store; this one must have none.

        Parameters
        ----------
        first
            The first revision whose history is stored.
        """
        items = {change.item.row: change.item for change in changes}
        check_ids("item", [row.id for row in items.values()])
        self._transaction.change_each(self._sql.add_item, map(pack_item, items.values()))
        rows = ((one.revision, *pack_item(one.item), one.time) for one in changes)
        self._transaction.change_each(self._sql.add_item_change, rows)
        self.set_meta(ITEMS_HISTORY, str(first))

    def restart_item_history(self) -> None:
        """Delete the history of items, and start it with their present state."""
        self._transaction.change(self._sql.delete_item_changes)
        self.set_meta(ITEMS_HISTORY, self._add_item_changes(self.items()))

    def increment_items_revision(self) -> None:
        """Increment the revision of items, so that every process reads items and catalogue."""
        self._transaction.change(self._sql.increment_meta, ITEMS_REVISION)
        if not self._hides:
            self.show_items()

    def set_meta(self, key: str, value: str) -> None:
        """Set the entry `key` of the table `meta`."""
        check_text("key", key)
        check_text("value", value)
        self._transaction.change(self._sql.set_meta, key, value)

    def swap_meta(self, key: str, value: str) -> str | None:
        """Set the entry `key` of the table `meta` and return its old value.

        Other batches that do so with the same key wait until this one ends.
        """
        check_text("key", key)
        check_text("value", value)
        # On PostgreSQL two that add an entry, or read it before they write, would both continue.
        self._transaction.change(self._sql.lock_meta, key)
        known = self.meta(key)
        self.set_meta(key, value)
        return known

    def save_replica(self, row: ReplicaRow) -> None:
        """Add a process that writes to the store, or store its heartbeat."""
        check_ids("replica", (row.id,))
        check_text("host", row.host)
        self._transaction.change(self._sql.save_replica, *row)

    def delete_replicas(self, replica: str, before: float) -> None:
        """Delete a process that ends, and those whose last heartbeat is before a time."""
        self._transaction.change(self._sql.delete_replicas, replica, before)

    def add_key(self, row: KeyRow) -> None:
        """Add an API key; raises ConflictError if its id is taken."""
        check_ids("key", (row.id,))
        for name, text in (("name", row.name), ("role", row.role), ("hash", row.hash)):
            check_text(name, text)
        self._transaction.change(self._sql.add_key, *row)
        self._transaction.change(self._sql.increment_meta, KEYS_REVISION)

    def revoke_key(self, key: str, time: float) -> bool:
        """Revoke an API key as of `time`; return whether there was one that was not revoked."""
        check_ids("key", (key,))
        revoked = self._transaction.change(self._sql.revoke_key, time, key) > 0
        if revoked:
            self._transaction.change(self._sql.increment_meta, KEYS_REVISION)
        return revoked

    def save_prior(self, row: PriorRow) -> None:
        """Store the prior of a policy, with its version incremented; all processes will see it.

        Raises ConflictError if its version is not the one in the store.
        """
        self._ensure_prior(row.policy)
        values = (row.version + 1, row.data, row.users, row.fitted, row.policy, row.version)
        problem = "priors changed since they were read"
        self._transaction.update_each(self._sql.save_prior, [values], problem)
        # Hidden items stay hidden: processes see the prior when they see the items.
        self._transaction.change(self._sql.increment_meta, ITEMS_REVISION)

    def claim_fit(self, policy: str, last: float, now: float) -> bool:
        """Claim the scheduled fit of a prior; return False if another process did since `last`."""
        self._ensure_prior(policy)
        return self._transaction.change(self._sql.claim_fit, now, policy, last) > 0

    def _lock_queries(
        self, users: list[str], without_state: Set[str]
    ) -> list[tuple[str, tuple[object, ...]]]:
        """Return the statements that lock users, and that read the states and sums of some."""
        others = self._sql.array([user for user in users if user not in without_state])
        return [
            # All in one statement, because two batches must lock users in the same order.
            (self._sql.locked_users, (self._sql.array(users),)),
            (self._sql.states, (others,)),
            (self._sql.user_sums, (others,)),
        ]

    def _locked(
        self, users: Iterable[Values], states: Iterable[Values], sums: Iterable[Any]
    ) -> dict[str, UserRow]:
        """Return the users that `_lock_queries` found, and remember their sums."""
        known = dict(map(tuple, states))
        self._sums.remember(known, sums)
        return {
            row[0]: UserRow(row[0], row[1], known.get(row[0], NOT_READ), *row[3:]) for row in users
        }

    def _ensure_prior(self, policy: str) -> None:
        check_ids("policy", (policy,))
        self._transaction.change(self._sql.add_prior, *PriorRow(policy))

    def _record(self, rows: Sequence[ItemRow]) -> None:
        """Increment the revision of items, and add the changed ones to the history under it."""
        if rows:
            self.increment_items_revision()
            self._add_item_changes(rows)

    def _add_item_changes(self, rows: Sequence[ItemRow]) -> str:
        """Add items to the history under the present revision, and return the revision."""
        revision, now = self.meta(ITEMS_REVISION) or "0", time.time()
        changes = [(int(revision), *pack_item(row), now) for row in rows]
        self._transaction.change_each(self._sql.add_item_change, changes)
        return revision


def _check_users(rows: Iterable[UserRow]) -> None:
    check_ids("user", [row.id for row in rows])
    check_ids("policy", [row.policy for row in rows])
