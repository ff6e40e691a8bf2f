"""Remove old slates and events from the store, and keep a checkpoint of what they taught.

A user's state is what the log teaches, in order. The oldest part of a user's log goes as a whole:
what it taught, and what it adds to the running sums, becomes the user's checkpoint, from which
every later replay starts. Users are processed in small transactions while the service runs.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from variegate.data.table_reader import check_polars, parquet_bytes
from variegate.engine.executor import Executor
from variegate.engine.replay import (
    lessons_of,
    policy_name,
    start_at_checkpoint,
    teach,
)
from variegate.engine.replicas import changed_settings, shared_configuration
from variegate.errors import ConflictError, DataError, InputError
from variegate.files import atomic_write
from variegate.model.catalogue import Catalogue
from variegate.store import (
    CONFIGURATION,
    Batch,
    EventRow,
    History,
    SlateRow,
    UserRow,
    pack_event,
    pack_slate,
)

if TYPE_CHECKING:
    import polars as pl

#: Reports look at single minutes of the last 8 days.
MIN_DAYS: Final = 9
#: Entry of the store: how many steps were committed
_STEPS: Final = "retention_steps"
#: Entry of the store: its part of the names of archive files
_STORE: Final = "retention_store"
_USER_PAGE: Final = 1000
#: Old slates and events after which a transaction ends: its users wait for it if they are active
#: just then. A user is never split.
_STEP_ROWS: Final = 1000
_DAY: Final = 86_400.0


@dataclass(frozen=True)
class Removed:
    """What was removed, and from how many users."""

    users: int = 0
    slates: int = 0
    events: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(
            self.users + other.users, self.slates + other.slates, self.events + other.events
        )


class Archive:
    """A folder with removed slates and events, two Parquet files for each step.

    A file is complete, and on the disk, before its step is committed. A step that was not committed
    leaves files that the next run removes: their rows are still in the store. Names have a part of
    the store's own, so that stores can share a folder.
    """

    def __init__(self, folder: Path) -> None:
        check_polars()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{folder}: cannot be a folder for archives: {error}") from None
        self._folder, self._store = folder, ""

    def begin(self, store: str, steps: int) -> None:
        """Remove files of this store's steps after the last that was committed."""
        self._store = store
        for path in self._folder.glob(f"*-{store}-*.parquet"):
            number = path.stem.rpartition("-")[2]
            if number.isdecimal() and int(number) > steps:
                path.unlink()

    def write(self, step: int, slates: Sequence[SlateRow], events: Sequence[EventRow]) -> None:
        """Write the files of a step."""
        import polars as pl

        columns = list(EventRow._fields)
        rows = [(event.seq, *pack_event(event)) for event in events]
        parts = {
            "slates": pl.DataFrame(
                [pack_slate(row) for row in slates], list(SlateRow._fields), orient="row"
            ),
            "events": pl.DataFrame(rows, columns, orient="row"),
        }
        for name, table in parts.items():
            if len(table):
                self._write(table, f"{name}-{self._store}-{step:08d}")

    def _write(self, table: "pl.DataFrame", name: str) -> None:
        with atomic_write(self._folder / f"{name}.parquet") as file:
            file.write(parquet_bytes(table))
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_old(
    executor: Executor,
    keep_days: float,
    *,
    archive: Path | None = None,
    progress: Callable[[Removed], None] = lambda _done: None,
) -> Removed:
    """Remove slates and events that are older than `keep_days`; a run can be repeated any time.

    Parameters
    ----------
    archive
        A folder for what is removed; without one it is gone.
    progress
        Called after each transaction.

    Raises
    ------
    ConflictError
        If the service has other settings: checkpoints would be of other policies.
    """
    if not keep_days >= MIN_DAYS:
        raise InputError(f"`keep_days` must be at least {MIN_DAYS}, got {keep_days:g}")
    files = None if archive is None else Archive(archive)
    with executor.store.batch() as batch:
        _check_settings(batch, executor)
        # Code without checkpoints would compute other sums and states from now on.
        batch.require_tables()
        if files is not None:
            files.begin(*_archived(batch))
        before = executor.now(batch) - keep_days * _DAY
    done = Removed()
    for users in _users_with_old(executor, before):
        with executor.store.batch() as batch:
            done += _remove_of(batch, users, executor, before, files)
        progress(done)
    return done


def _archived(batch: Batch) -> tuple[str, int]:
    """Return the store's part of the names of files, and how many steps were committed."""
    steps = _lock_steps(batch)
    store = batch.meta(_STORE) or token_hex(4)
    batch.set_meta(_STORE, store)
    return store, steps


def _lock_steps(batch: Batch) -> int:
    """Return how many steps were committed; another run's step waits until this one ends."""
    steps = batch.swap_meta(_STEPS, "0") or "0"
    batch.set_meta(_STEPS, steps)
    return int(steps)


def _check_settings(batch: Batch, executor: Executor) -> None:
    known = batch.meta(CONFIGURATION)
    mine = shared_configuration(executor.experiment, executor.rules)
    if known is not None and known != mine:
        names = ", ".join(f"`{name}`" for name in changed_settings(known, mine))
        raise ConflictError(
            f"the service has other settings ({names}): run this with those of the service"
        )


def _users_with_old(executor: Executor, before: float) -> Iterator[list[str]]:
    """Yield ids of users with anything old, a transaction's at a time."""
    after = ""
    while True:
        with executor.store.reading() as reader:
            page, old = reader.users_with_old(after, _USER_PAGE, before)
        if not page:
            return
        users, size = list[str](), 0
        for user, count in old:
            users.append(user)
            size += count
            if size >= _STEP_ROWS:
                yield users
                users, size = [], 0
        if users:
            yield users
        after = page[-1]


def _remove_of(
    batch: Batch, users: list[str], executor: Executor, before: float, files: Archive | None
) -> Removed:
    """Remove what is old of some users, in one transaction."""
    locked = batch.lock_users(users)
    catalogue = executor.live.as_of(batch).catalogue
    found, removed = list[tuple[UserRow, bytes, History]](), dict[str, History]()
    for user, known in batch.histories(locked).items():
        slates, events = oldest_part(known.slates, known.events, before)
        if slates or events:
            removed[user] = known._replace(slates=slates, events=events)
            state = _state_after(locked[user], removed[user], executor, catalogue)
            found.append((locked[user], state, known))
    if not found:
        return Removed()
    batch.move_to_checkpoints(found, removed)
    step = _lock_steps(batch) + 1
    batch.set_meta(_STEPS, str(step))
    all_slates = [row for old in removed.values() for row in old.slates]
    all_events = [event for old in removed.values() for event in old.events]
    if files is not None:
        files.write(step, all_slates, all_events)
    return Removed(len(found), len(all_slates), len(all_events))


def _state_after(user: UserRow, old: History, executor: Executor, catalogue: Catalogue) -> bytes:
    """Return the state that the oldest part of a user's log leads to."""
    policy = executor.experiment.new_policy(policy_name(user, executor.experiment), catalogue)
    start_at_checkpoint(policy, user.id, old.state)
    for row, rewards in lessons_of(old.events, {row.id: row for row in old.slates}):
        teach(policy, row, rewards)
    return policy.state().to_bytes()


def oldest_part(
    slates: Sequence[SlateRow], events: Sequence[EventRow], before: float
) -> tuple[list[SlateRow], list[EventRow]]:
    """Return the slates and events of a user that can go together.

    The events are the first ones, because a state depends on their order, and a slate goes with
    all of its events, so that what is left is a complete log. A slate that will still close stays.
    """
    staying = {row.id for row in slates if row.created >= before or _will_close(row)}
    end = len(events)
    for place, event in enumerate(events):
        if event.time >= before or event.slate_id in staying:
            end = place
            break
    while True:
        later = {event.slate_id for event in events[end:]} - {None}
        first = next((at for at in range(end) if events[at].slate_id in later), end)
        if first == end:
            break
        end = first
    return [row for row in slates if row.id not in staying | later], list(events[:end])


def _will_close(row: SlateRow) -> bool:
    return row.due is not None and not row.closed
