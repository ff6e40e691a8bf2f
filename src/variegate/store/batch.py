"""What can be changed in the store, all of it together or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence, Sized
from operator import attrgetter
from typing import TYPE_CHECKING

from variegate.store import rows as packing
from variegate.store.reader import Reader
from variegate.store.rows import (
    ITEMS_HISTORY,
    ITEMS_REVISION,
    KEYS_REVISION,
    EventRow,
    ItemChange,
    ItemRow,
    KeyRow,
    PriorRow,
    ReplicaRow,
    SlateRow,
    UserRow,
    check_ids,
    check_text,
)
from variegate.store.sums import KEPT, RunningSums, recount

if TYPE_CHECKING:
    from variegate.store.database import Transaction


class Batch(Reader):
    """Changes in one transaction; `Store.batch` gives one.

    Text that a database could not keep is refused with InputError before anything is done, and
    the batch can go on. After a StoreError or a ConflictError it keeps nothing: every other call
    raises the same.

    On PostgreSQL two batches wait for each other's users, so a batch calls `ensure_users` and then
    `lock_users` once, with all that it will change; both go by the order of the ids, and none
    waits in a circle.

    The running sums are kept right by what changes lists, users and events, and written by
    `settle`; what is asked of them before is without the changes of this batch.

    Parameters
    ----------
    part
        The part of the running sums that this process writes to.
    """

    def __init__(self, transaction: Transaction, part: int = 0) -> None:
        super().__init__(transaction)
        self._sums = RunningSums(transaction, part)
        #: Lists as they are by now, those that this batch has read or written
        self._read: dict[str, SlateRow] = {}

    @property
    def locks_all(self) -> bool:
        """Whether nobody else can change anything during the batch, as in a file."""
        return self._sql.locked_users == self._sql.users

    def ensure_users(self, rows: Sequence[UserRow]) -> None:
        """Add the users that are not there yet, and leave the others as they are."""
        self._check_users(rows)
        # Two batches that add the same users in two orders would wait for each other.
        ordered = sorted(rows, key=attrgetter("id"))
        added = self._transaction.change_each(self._sql.add_user, map(packing.new_user, ordered))
        self._sums.add_users(added)

    def known_users(self, ids: Iterable[str]) -> set[str]:
        """Return which of the users there are, without a look at what is known of them."""
        wanted = self._ids("user", ids)
        if not wanted:
            return set()
        rows = self._transaction.rows(self._sql.known_users, self._sql.listed(wanted))
        return {user for (user,) in rows}

    def lock_users(self, ids: Iterable[str]) -> dict[str, UserRow]:
        """Return the users that there are, which nobody else can change until this batch ends."""
        return self._users(self._sql.locked_users, ids)

    def save_users(self, rows: Sequence[UserRow]) -> None:
        """Keep users as they are given, with the version one higher.

        Raises ConflictError if the version of any is not the one that it has in the store.
        """
        self._check_users(rows)
        saved = self._transaction.change_each(self._sql.save_user, map(packing.changed_user, rows))
        self._check_all(saved, rows, "users changed since they were read")

    def save_shown(self, rows: Sequence[UserRow]) -> None:
        """Keep what a list changes of users, who have learnt nothing since they were read.

        As `save_users`, but what was learnt, the largest part by far, is not written again.
        """
        check_ids("user", [row.id for row in rows])
        saved = self._transaction.change_each(self._sql.save_shown, map(packing.shown_user, rows))
        self._check_all(saved, rows, "users changed since they were read")

    def forget_user(self, user: str) -> bool:
        """Delete a user, their lists and events; return whether there was such a user."""
        check_ids("user", (user,))
        found = self._transaction.change(self._sql.forget_user, user)
        if not found:  # and nobody has lists without being there
            return False
        self._sums.forget_user(user)  # now that nobody else can add anything of theirs
        self._sums.add_users(-found)
        for statement in self._sql.forget:
            self._transaction.change(statement, user)
        self._read = {slate: row for slate, row in self._read.items() if row.user_id != user}
        return True

    def slates(
        self, ids: Iterable[str], requests: Sequence[tuple[str, str]] = ()
    ) -> dict[str, SlateRow]:
        """Return the lists that there are, by id; see `Reader.slates`."""
        found = super().slates(ids, requests)
        self._read |= found
        return found

    def owners(self, slates: Iterable[str]) -> dict[str, str]:
        """Return whose lists these are, by the id of the list, for those that there are."""
        wanted = self._ids("slate", slates)
        if not wanted:
            return {}
        rows = self._transaction.rows(self._sql.owners, self._sql.listed(wanted))
        return dict(map(tuple, rows))

    def add_slates(self, rows: Sequence[SlateRow]) -> None:
        """Keep new lists."""
        check_ids("slate", [row.id for row in rows])
        check_ids("user", [row.user_id for row in rows])
        check_ids("policy", [row.policy for row in rows])
        check_ids("request", [row.request for row in rows if row.request is not None])
        self._transaction.change_each(self._sql.add_slate, map(packing.new_slate, rows))
        self._sums.add_lists(rows)
        self._read.update((row.id, row) for row in rows)

    def change_slates(self, rows: Sequence[SlateRow]) -> None:
        """Keep what has changed of lists: all that feedback and time can change.

        Raises ConflictError if any is not there (any more).
        """
        self.slates([row.id for row in rows if row.id not in self._read])
        changed = self._transaction.change_each(
            self._sql.change_slate, map(packing.changed_slate, rows)
        )
        self._check_all(changed, rows, "slates are not there")
        for row in rows:
            self._sums.change_list(self._read[row.id], row)
            self._read[row.id] = row

    def remake_slates(self, rows: Sequence[SlateRow]) -> None:
        """Keep what another catalogue changes of lists: `closed`, `features`, `propensities`."""
        check_ids("slate", [row.id for row in rows])
        changed = self._transaction.change_each(
            self._sql.remake_slate, map(packing.remade_slate, rows)
        )
        self._check_all(changed, rows, "slates are not there")

    def change_terms(self, rows: Sequence[SlateRow]) -> None:
        """Keep what lists were given under; raises ConflictError if any is not there."""
        check_ids("slate", [row.id for row in rows])
        changed = self._transaction.change_each(
            self._sql.change_terms, map(packing.changed_terms, rows)
        )
        self._check_all(changed, rows, "slates are not there")

    def add_events(self, rows: Sequence[EventRow]) -> None:
        """Write events into the log; the database numbers them in the order of `rows`."""
        check_ids("user", [row.user_id for row in rows])
        check_ids("slate", [row.slate_id for row in rows if row.slate_id is not None])
        check_ids("kind", [row.kind for row in rows])
        self._transaction.change_each(self._sql.add_event, map(packing.new_event, rows))
        self._sums.add_events(rows)

    def drop_old_minutes(self, now: float) -> None:
        """Drop the running sums of single minutes that are too old to be asked for at `now`."""
        self._sums.drop_before(now - KEPT)

    def recount_sums(self, now: float) -> None:
        """Count the running sums from the history again; nobody else can write meanwhile.

        Single minutes are counted as far back as is kept at the time `now`.
        """
        recount(self._transaction, now)

    def settle(self) -> None:
        """Write the running sums; `Store.batch` calls this last."""
        self._sums.settle()

    def add_items(self, rows: Sequence[ItemRow]) -> None:
        """Keep new items; raises ConflictError if a row or an id is taken."""
        check_ids("item", [row.id for row in rows])
        self._transaction.change_each(self._sql.add_item, map(packing.new_item, rows))
        self._record(rows)

    def change_items(self, rows: Sequence[ItemRow]) -> None:
        """Keep items as they are given; raises ConflictError if a row and its id are not there."""
        check_ids("item", [row.id for row in rows])
        changed = self._transaction.change_each(
            self._sql.change_item, map(packing.changed_item, rows)
        )
        self._check_all(changed, rows, "items are not there")
        self._record(rows)

    def replace_items(self, rows: Sequence[ItemRow]) -> None:
        """Keep these items in place of all that there are; their history begins again."""
        check_ids("item", [row.id for row in rows])
        self._transaction.change(self._sql.delete_items)
        self._transaction.change_each(self._sql.add_item, map(packing.new_item, rows))
        self.count_change()
        self.restart_item_history()

    def restore_items(self, changes: Sequence[ItemChange], first: int) -> None:
        """Keep items with their history, as another store had them; this one must have none.

        Parameters
        ----------
        first
            The revision from which on the history is kept.
        """
        items = {change.item.row: change.item for change in changes}
        check_ids("item", [row.id for row in items.values()])
        self._transaction.change_each(self._sql.add_item, map(packing.new_item, items.values()))
        rows = ((one.revision, *packing.new_item(one.item), one.time) for one in changes)
        self._transaction.change_each(self._sql.add_item_change, rows)
        self.set_meta(ITEMS_HISTORY, str(first))

    def restart_item_history(self) -> None:
        """Let the history of items begin with what they are now, as for another catalogue."""
        self._transaction.change(self._sql.delete_item_changes)
        self.set_meta(ITEMS_HISTORY, self._add_changes(self.items()))

    def count_change(self) -> None:
        """Let every process look at the items again, and at what catalogue they are of."""
        self._raise(ITEMS_REVISION, (None,))

    def set_meta(self, key: str, value: str) -> None:
        """Note `value` under `key`, in the place of what stood there."""
        check_text("key", key)
        check_text("value", value)
        self._transaction.change(self._sql.set_meta, key, value)

    def exchange_meta(self, key: str, value: str) -> str | None:
        """Note `value` under `key` and return what stood there.

        Batches that do so with the same key wait for each other from here on.
        """
        # On PostgreSQL two that add an entry, or read it before they write, would both go on.
        check_text("key", key)
        check_text("value", value)
        self._transaction.change(self._sql.touch_meta, key)
        known = self.meta(key)
        self.set_meta(key, value)
        return known

    def save_replica(self, row: ReplicaRow) -> None:
        """Add a process that writes, or keep its heartbeat."""
        check_ids("replica", (row.id,))
        check_text("host", row.host)
        self._transaction.change(self._sql.save_replica, *row)

    def drop_replicas(self, replica: str, before: float) -> None:
        """Delete a process that ends, and those whose last heartbeat was before a time."""
        self._transaction.change(self._sql.drop_replicas, replica, before)

    def add_key(self, row: KeyRow) -> None:
        """Keep a new key; raises ConflictError if its id is taken."""
        check_ids("key", (row.id,))
        for name, text in (("name", row.name), ("role", row.role), ("hash", row.hash)):
            check_text(name, text)
        self._transaction.change(
            self._sql.add_key, row.id, row.name, row.role, row.hash, row.created, row.revoked
        )
        self._raise(KEYS_REVISION, (row,))

    def revoke_key(self, key: str, time: float) -> bool:
        """Revoke a key as of `time`; return whether there was one that was not revoked yet."""
        check_ids("key", (key,))
        revoked = self._transaction.change(self._sql.revoke_key, time, key) > 0
        if revoked:
            self._raise(KEYS_REVISION, (key,))
        return revoked

    def save_prior(self, row: PriorRow) -> None:
        """Keep what a policy begins with, with the version one higher; all processes will see it.

        Raises ConflictError if its version is not the one that it has in the store.
        """
        self._ensure_prior(row.policy)
        kept = (row.version + 1, row.data, row.users, row.fitted, row.policy, row.version)
        saved = self._transaction.change(self._sql.priors.save, *kept)
        self._check_all(saved, (row,), "priors changed since they were read")
        self._raise(ITEMS_REVISION, (row,))

    def take_turn(self, policy: str, last: float, now: float) -> bool:
        """Take on the fit that is due; return False where somebody did since `last`."""
        self._ensure_prior(policy)
        return self._transaction.change(self._sql.priors.take_turn, now, policy, last) > 0

    def _ensure_prior(self, policy: str) -> None:
        check_ids("policy", (policy,))
        self._transaction.change(self._sql.priors.add, *PriorRow(policy))

    def _record(self, rows: Sequence[ItemRow]) -> None:
        """Count a change of items up, and add it to their history under the new revision."""
        if rows:
            self._raise(ITEMS_REVISION, rows)
            self._add_changes(rows)

    def _add_changes(self, rows: Sequence[ItemRow]) -> str:
        """Add items to the history under the present revision, and return that."""
        revision, now = self.meta(ITEMS_REVISION) or "0", time.time()
        changes = [(int(revision), *packing.new_item(row), now) for row in rows]
        self._transaction.change_each(self._sql.add_item_change, changes)
        return revision

    def _raise(self, revision: str, changed: Sized) -> None:
        """Count a change up in the database itself, where no two batches count the same."""
        if len(changed):
            self._transaction.change(self._sql.raise_meta, revision, "1")

    def _check_all(self, changed: int, rows: Sized, trouble: str) -> None:
        if changed != len(rows):
            raise self._transaction.conflict(
                f"{len(rows) - changed} of {len(rows)} {trouble}: read them again"
            )

    @staticmethod
    def _check_users(rows: Iterable[UserRow]) -> None:
        check_ids("user", [row.id for row in rows])
        check_ids("policy", [row.policy for row in rows])
