"""Check a whole import before anything is written, and split it into commands.

Each command is a transaction of its own, bounded in users and bytes, so that the service can make
lists in between.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any, Final

import numpy as np

from variegate.engine.catalogue import CatalogueSnapshot, LiveCatalogue
from variegate.engine.experiment import Experiment
from variegate.engine.export import digest_changes, item_history
from variegate.engine.export_schema import (
    Entry,
    ExportLine,
    HistoryLine,
    ImportFile,
    ItemLine,
    Line,
    PriorLine,
    RawLine,
    SlateLine,
    UserLine,
    parse_line,
)
from variegate.engine.import_commands import (
    ImportItems,
    ImportUsers,
    LineConverter,
    is_same_user,
    item_row,
    prior_bytes,
    user_conflict,
)
from variegate.errors import DataError, OutcomeUnknownError, StoreError, VariegateError
from variegate.model.fingerprint import Fingerprint
from variegate.store import ItemChange, Store

#: Users and items of one import over HTTP, at most
MAX_ENTRIES: Final = 50_000
#: Bytes and entries of one command, at most; a single user may be larger.
_COMMAND_BYTES: Final = 250_000
_COMMAND_ENTRIES: Final = 100
#: Seconds of work between two pauses, and of a pause
_WORK_SECONDS, _PAUSE_SECONDS = 0.002, 0.001


@dataclass(frozen=True)
class ImportPlan:
    """A checked import.

    Parameters
    ----------
    items, priors, users
        Their lines; for an item that is not restored with its history, the last one only.
    replace, restores, keeps_revisions
        See `ImportItems` and `LineConverter`.
    """

    file: ImportFile
    items: Sequence[Entry]
    priors: Sequence[Entry]
    users: Sequence[Entry]
    replace: bool
    restores: tuple[int, int] | None
    keeps_revisions: bool
    #: Number of lines of items and priors, including those that change nothing
    items_and_priors: int

    def commands(self) -> Iterator[ImportItems | ImportUsers]:
        """Yield the commands of the import, in order."""
        items = (*self.items, *self.priors)
        # Changes of items are restored in one transaction, or not at all.
        groups = _group(items) if self.restores is None else [items]
        for entries in groups:
            yield ImportItems(self.file, entries, self.replace, self.restores)
        for entries in _group(self.users):
            yield ImportUsers(self.file, entries, self.replace, self.keeps_revisions)


def _group(entries: Sequence[Entry]) -> Iterator[tuple[Entry, ...]]:
    group: list[Entry] = []
    size = 0
    for entry in entries:
        length = entry.end - entry.start
        if group and (size + length > _COMMAND_BYTES or len(group) == _COMMAND_ENTRIES):
            yield tuple(group)
            group, size = [], 0
        group.append(entry)
        size += length
    if group:
        yield tuple(group)


def incomplete_import(error: VariegateError, done: int) -> VariegateError:
    """Return the error of a command, with the number of users imported before it."""
    if not done:
        return error
    # Part of the import was done, which a StoreError excludes.
    kind = OutcomeUnknownError if isinstance(error, StoreError) else type(error)
    return kind(f"{error} ({done} users are imported: send the same again to continue)")


def plan_import(
    file: ImportFile,
    store: Store,
    live: LiveCatalogue,
    experiment: Experiment,
    *,
    replace: bool,
    max_entries: int | None = MAX_ENTRIES,
    pause: Callable[[], None] = lambda: None,
) -> ImportPlan:
    """Check all lines of a file and return the plan of its import; write nothing.

    Raises DataError for a line that is not as in an export or does not fit the catalogue, and
    ConflictError for a user that exists with other content. `pause` is called after each line.
    """
    with store.reading() as reader:
        snapshot = live.as_of(reader)
    check = _FileCheck(file, store, live, experiment, snapshot, replace=replace)
    for line in file.raw_lines():
        with file.at_line(line.number):
            check.add(line, parse_line(line.raw, file.max_cost))
            if max_entries is not None and check.entries > max_entries:
                raise DataError(f"an import must have at most {max_entries} users and items")
        check.compare_with_store(_COMMAND_ENTRIES)
        pause()
    check.end()
    return check.plan()


class Throttle:
    """Lets other threads run: pauses for 1 ms after each 2 ms of work.

    Otherwise a thread that only computes releases the interpreter every 5 ms, and a thread that
    reads from the store waits that long at each step.
    """

    def __init__(self) -> None:
        self._since = monotonic()

    def __call__(self) -> None:
        """Pause if it is time."""
        if monotonic() - self._since > _WORK_SECONDS:
            sleep(_PAUSE_SECONDS)
            self._since = monotonic()


class _FileCheck:
    """Checks the lines of a file one after another."""

    def __init__(
        self,
        file: ImportFile,
        store: Store,
        live: LiveCatalogue,
        experiment: Experiment,
        snapshot: CatalogueSnapshot,
        *,
        replace: bool,
    ) -> None:
        self._file, self._store, self._experiment = file, store, experiment
        self._replace = replace
        self._items = _ItemCheck(store, live, snapshot)
        self._users: list[Entry] = []
        self._numbers: dict[str, int] = {}
        self._converter: LineConverter | None = None
        self._history: _HistoryCheck | None = None
        self._compared = 0

    @property
    def entries(self) -> int:
        """The number of users, items and priors so far."""
        return len(self._users) + self._items.count

    def plan(self) -> ImportPlan:
        """Return the plan of what was checked."""
        items = self._items
        return ImportPlan(
            self._file,
            items.entries(),
            items.priors,
            self._users,
            self._replace,
            items.restores(),
            items.keeps_revisions,
            items.count,
        )

    def add(self, at: RawLine, line: Line) -> None:
        """Check the next line."""
        if isinstance(line, HistoryLine):
            self._continue_user(at, line)
            return
        self._check_ended()
        if isinstance(line, UserLine):
            self._begin_user(at, line)
        elif self._users:
            raise DataError(f"`kind`: {line.kind} must come before the users")
        else:
            self._items.add(at, line)

    def end(self) -> None:
        """Check that the last user is complete."""
        with self._file.at_line(self._users[-1].number if self._users else 1):
            self._check_ended()
        self.compare_with_store(1)

    def _begin_user(self, at: RawLine, line: UserLine) -> None:
        if line.user in self._numbers:
            raise DataError(f"user {line.user!r} is in line {self._numbers[line.user]} too")
        self._numbers[line.user] = at.number
        if self._converter is None:
            self._converter = self._items.converter()
        self._converter.user_row(line)
        self._history = _HistoryCheck()
        self._users.append(Entry(line.user, at.number, at.start, at.end))
        self._check_history(line)

    def _continue_user(self, at: RawLine, line: HistoryLine) -> None:
        if self._history is None or self._users[-1].name != line.user:
            raise DataError("`kind`: history must follow the line of its user")
        self._users[-1] = self._users[-1]._replace(end=at.end)
        self._check_history(line)

    def _check_history(self, line: UserLine | HistoryLine) -> None:
        if self._converter is None or self._history is None:
            return
        for one in line.lists:
            self._converter.slate_row(one, line.user)
        self._history.add(line.lists, line.events)
        if not line.more:
            self._history.end()
            self._history = None

    def _check_ended(self) -> None:
        if self._history is not None:
            raise DataError(
                f"user {self._users[-1].name!r} must continue in another line, by `more`: the "
                "file was cut off or changed"
            )

    def compare_with_store(self, min_users: int) -> None:
        """Raise ConflictError for a user that exists with other content.

        Does nothing unless there are at least `min_users` users that were not compared yet.
        """
        last = len(self._users) - (self._history is not None)
        entries = {entry.name: entry for entry in self._users[self._compared : last]}
        if len(entries) < min_users or self._converter is None:
            return
        self._compared = last
        with self._store.reading() as reader:
            stored = {} if self._replace else reader.users(entries)
            for name, row in stored.items():
                lines = self._file.lines(entries[name])
                if not is_same_user(reader, self._converter, self._experiment, row, lines):
                    with self._file.at_line(entries[name].number):
                        raise user_conflict(name)


class _ItemCheck:
    """Checks the lines before the users, and finds how items can be imported.

    A list has the revision of the items that it was chosen from. Into a store without changes of
    items, all changes are restored under their revisions, so that revisions keep their meaning; so
    they do if the store has the same changes already. Into any other store items are merged, and
    lists are imported without a revision.
    """

    def __init__(self, store: Store, live: LiveCatalogue, snapshot: CatalogueSnapshot) -> None:
        self._store, self._live, self._snapshot = store, live, snapshot
        self._header: ExportLine | None = None
        self._changes: list[ItemChange] = []
        self._entries: list[Entry] = []
        self.priors: list[Entry] = []
        self._is_same = self._is_restored = False

    @property
    def count(self) -> int:
        """The number of lines of items and priors so far."""
        return len(self._entries) + len(self.priors)

    @property
    def keeps_revisions(self) -> bool:
        """Whether revisions mean the same here, once items are imported."""
        return self._is_same or self._is_restored

    def add(self, at: RawLine, line: ExportLine | ItemLine | PriorLine) -> None:
        """Check the next line, or raise DataError or InputError."""
        entry = Entry("", at.number, at.start, at.end)
        if isinstance(line, ExportLine):
            if self._header is not None or self.count:
                raise DataError("`kind`: export must be the first line")
            self._header = line
            self._check_catalogue(line)
        elif isinstance(line, PriorLine):
            prior_bytes(self._snapshot.catalogue, line)
            self.priors.append(entry._replace(name=line.policy))
        else:
            self._add_item(entry._replace(name=line.id), line)

    def converter(self) -> LineConverter:
        """Return the converter for users; no line of an item may follow."""
        self._compare()
        ids = {change.item.id for change in self._changes}
        coming = {item for item in ids if self._snapshot.row_of(item) is None}
        return LineConverter(self._snapshot.catalogue, coming, keeps_revisions=self.keeps_revisions)

    def entries(self) -> Sequence[Entry]:
        """Return the lines of items that are to be imported: all changes, or the last of each."""
        self._compare()
        if self._is_same:
            return []
        last = {entry.name: entry for entry in self._entries}
        return self._entries if self._is_restored else list(last.values())

    def restores(self) -> tuple[int, int] | None:
        """Return the last revision and the first that is stored, if both are restored."""
        if self._header is None or not self.keeps_revisions:
            return None
        is_behind = int(self._snapshot.revision) < self._header.items.revision
        if not (is_behind or self.priors or self._is_restored):
            return None
        return self._header.items.revision, self._header.items.first

    def _add_item(self, entry: Entry, line: ItemLine) -> None:
        row = self._snapshot.row_of(line.id)
        size = len(self._snapshot.catalogue)
        item = item_row(self._snapshot.catalogue, line, size if row is None else row)
        change = ItemChange(line.revision, item._replace(row=line.row), line.time)
        last = self._changes[-1] if self._changes else None
        if last and (change.revision, line.row) <= (last.revision, last.item.row):
            raise DataError("`revision` and `row` must increase from line to line")
        self._changes.append(change)
        self._entries.append(entry)

    def _compare(self) -> None:
        """Find out whether the store has the same changes, or none, so that all are restored."""
        if self._header is None:
            return
        theirs = self._header.items
        with self._store.reading() as reader:
            ours = item_history(reader, theirs.revision)
            has_changes = bool(reader.item_revisions())
        self._is_same = ours == theirs.model_dump()
        self._is_restored = (
            not self._is_same
            and not has_changes
            and bool(self._changes)
            and digest_changes(self._changes) == theirs.digest
            and self._rows_fit()
        )

    def _rows_fit(self) -> bool:
        """Return whether items have, or will have, the rows that they had in the export."""
        ids, size = self._live.base.ids, len(self._live.base)
        rows = {change.item.row: change.item.id for change in self._changes}
        new = sorted(row for row in rows if row >= size)
        is_whole = new == list(range(size, size + len(new)))
        return is_whole and all(ids[row] == item for row, item in rows.items() if row < size)

    def _check_catalogue(self, line: ExportLine) -> None:
        base = self._live.base
        try:
            theirs = Fingerprint.from_json(line.catalogue)
            # A larger file that begins with the same items is fine.
            found = theirs.differences(base.fingerprint_of_first(min(theirs.items, len(base))))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError("`catalogue` must be a fingerprint as in an export") from None
        if found:
            raise DataError(f"`catalogue` must be that of {base}: {'; '.join(found)}")


class _HistoryCheck:
    """Compares a user's lists with the events of all of their lines."""

    def __init__(self) -> None:
        #: Positions that a list marks as taught, and that no event so far did teach
        self._taught: dict[str, set[int]] = {}
        self._lists: set[str] = set()
        self._requests: set[str] = set()

    def add(self, lists: Sequence[SlateLine], events: Sequence[Any]) -> None:
        """Check the lists and events of a line, or raise DataError."""
        for one in lists:
            if one.id in self._lists:
                raise DataError(f"`lists` must have each list once, got {one.id!r} twice")
            self._lists.add(one.id)
            if one.request is not None and one.request in self._requests:
                raise DataError(f"`request` must be distinct, got {one.request!r} twice")
            self._requests.add(one.request or "")
            if any(one.taught):
                self._taught[one.id] = set(np.flatnonzero(one.taught).tolist())
        for event in events:
            if event.slate not in self._lists:
                raise DataError(f"`events` must be about lists above, got {event.slate!r}")
            if event.kind != "withdraw" and event.body.taught:
                self._teach(event.slate, set(map(int, event.body.taught)))

    def _teach(self, slate: str, positions: set[int]) -> None:
        left = self._taught.get(slate, set())
        if not positions <= left:
            raise DataError(
                f"`events` must teach each position of list {slate!r} once, and only those in its "
                "`taught`"
            )
        left -= positions
        if not left:
            del self._taught[slate]

    def end(self) -> None:
        """Raise DataError unless events taught all that the lists mark as taught."""
        for slate in self._taught:
            raise DataError(f"`taught` of list {slate!r} must match what `events` taught")
