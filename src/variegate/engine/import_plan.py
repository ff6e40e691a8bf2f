"""Check a whole import before anything is written, and split it into commands.

Each command is a transaction of its own, bounded in users and bytes, so that the service can make
lists in between.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final, NamedTuple

from variegate.engine.catalogue import CatalogueSnapshot, LiveCatalogue
from variegate.engine.experiment import Experiment
from variegate.engine.export import digest_changes, item_history
from variegate.engine.export_schema import (
    Entry,
    ExportLine,
    HistoryLine,
    ImportFile,
    ItemLine,
    KeyLine,
    Line,
    PriorLine,
    UserLine,
)
from variegate.engine.import_commands import ImportItems, ImportUsers, user_conflict
from variegate.engine.import_rows import LineConverter, UserLines, item_row, prior_bytes
from variegate.errors import DataError, OutcomeUnknownError, StoreError, VariegateError
from variegate.model.fingerprint import Fingerprint
from variegate.store import ItemChange, Store

#: Users and items of one import over HTTP, at most
MAX_ENTRIES: Final = 50_000
#: Bytes and entries of one command, at most; a single user may be larger.
_COMMAND_BYTES: Final = 250_000
_COMMAND_ENTRIES: Final = 100


class ItemPlan(NamedTuple):
    """How items and priors are imported.

    Parameters
    ----------
    entries
        The lines of items, all of them or the last of each, and those of priors and keys.
    restores
        See `ImportItems`.
    converter
        For users, once the items are imported.
    """

    entries: tuple[Entry, ...]
    restores: tuple[int, int] | None
    converter: LineConverter


@dataclass(frozen=True)
class ImportPlan:
    """A checked import."""

    file: ImportFile
    items: ItemPlan
    users: Sequence[Entry]
    replace: bool
    #: Number of lines of items, priors and keys, including those that change nothing
    items_and_priors: int

    def commands(self) -> Iterator[ImportItems | ImportUsers]:
        """Yield the commands of the import, in order."""
        entries, restores, converter = self.items
        # Changes of items are restored in one transaction, or not at all.
        for group in _group(entries) if restores is None else [entries]:
            yield ImportItems(self.file, group, self.replace, restores)
        for group in _group(self.users):
            yield ImportUsers(self.file, group, self.replace, converter.keeps_revisions)


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
        items = _ItemCheck(store, live, live.as_of(reader))
    users: _UserCheck | None = None
    for user, lines in groupby(_iter_lines(file, max_entries, pause), key=_user_of):
        if user is None:
            for at, line in lines:
                with file.at_line(at.number):
                    if users is not None:
                        raise DataError(f"`kind`: {line.kind} must come before the users")
                    items.add(at, line)
        else:
            users = users or _UserCheck(file, store, experiment, items.plan, replace=replace)
            users.add(user, lines)
    if users is not None:
        users.compare_with_store()
    entries = users.entries if users is not None else []
    return ImportPlan(file, items.plan, entries, replace, items.count)


def _iter_lines(
    file: ImportFile, max_entries: int | None, pause: Callable[[], None]
) -> Iterator[tuple[Entry, Line]]:
    entries = 0
    for at, line in file.lines():
        entries += not isinstance(line, ExportLine | HistoryLine)
        if max_entries is not None and entries > max_entries:
            with file.at_line(at.number):
                raise DataError(f"an import must have at most {max_entries} users and items")
        yield at, line
        pause()


def _user_of(numbered: tuple[Entry, Line]) -> str | None:
    line = numbered[1]
    return line.user if isinstance(line, UserLine | HistoryLine) else None


class _UserCheck:
    """Checks users one after another, and compares them with the store, many at a time."""

    def __init__(
        self,
        file: ImportFile,
        store: Store,
        experiment: Experiment,
        items: ItemPlan,
        *,
        replace: bool,
    ) -> None:
        self._file, self._store, self._experiment = file, store, experiment
        self._converter, self._replace = items.converter, replace
        self.entries: list[Entry] = []
        self._numbers: dict[str, int] = {}
        self._compared = 0

    def add(self, user: str, lines: Iterable[tuple[Entry, Line]]) -> None:
        """Check the lines of the next user."""
        read = UserLines(self._file, self._converter, lines)
        known = self._numbers.setdefault(user, read.entry.number)
        if known != read.entry.number:
            with self._file.at_line(read.entry.number):
                raise DataError(f"user {user!r} is in line {known} too")
        for _rows in read.rows():
            pass
        self.entries.append(read.entry)
        if len(self.entries) - self._compared >= _COMMAND_ENTRIES:
            self.compare_with_store()

    def compare_with_store(self) -> None:
        """Raise ConflictError for a user, not compared yet, that exists with other content."""
        entries = {entry.name: entry for entry in self.entries[self._compared :]}
        self._compared = len(self.entries)
        if self._replace:
            return
        with self._store.reading() as reader:
            for name, row in reader.users(entries).items():
                lines = self._file.lines(entries[name])
                user = UserLines(self._file, self._converter, lines)
                if not user.is_stored(reader, self._experiment, row):
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
        self._priors: list[Entry] = []
        self._keys: list[Entry] = []

    @property
    def count(self) -> int:
        """The number of lines of items, priors and keys so far."""
        return len(self._entries) + len(self._priors) + len(self._keys)

    def add(self, at: Entry, line: Line) -> None:
        """Check the next line, or raise DataError or InputError."""
        if isinstance(line, ExportLine):
            if self._header is not None or self.count:
                raise DataError("`kind`: export must be the first line")
            self._header = line
            self._check_catalogue(line)
        elif isinstance(line, PriorLine):
            prior_bytes(self._snapshot.catalogue, line)
            self._priors.append(at)
        elif isinstance(line, KeyLine):
            self._keys.append(at)
        elif isinstance(line, ItemLine):
            self._add_item(at, line)

    @cached_property
    def plan(self) -> ItemPlan:
        """How they are imported; no line may be added after this."""
        is_same, is_restored = self._compare()
        entries = self._entries
        if is_same:
            entries = []
        elif not is_restored:
            entries = list({entry.name: entry for entry in entries}.values())
        restores = None
        if self._header is not None and (is_same or is_restored):
            is_behind = int(self._snapshot.revision) < self._header.items.revision
            if is_behind or self._priors or self._keys or is_restored:
                restores = self._header.items.revision, self._header.items.first
        ids = {change.item.id for change in self._changes}
        coming = {item for item in ids if self._snapshot.row_of(item) is None}
        converter = LineConverter(
            self._snapshot.catalogue, coming, keeps_revisions=is_same or is_restored
        )
        return ItemPlan((*entries, *self._priors, *self._keys), restores, converter)

    def _add_item(self, at: Entry, line: ItemLine) -> None:
        row = self._snapshot.row_of(line.id)
        size = len(self._snapshot.catalogue)
        item = item_row(self._snapshot.catalogue, line, size if row is None else row)
        change = ItemChange(line.revision, item._replace(row=line.row), line.time)
        last = self._changes[-1] if self._changes else None
        if last and (change.revision, line.row) <= (last.revision, last.item.row):
            raise DataError("`revision` and `row` must increase from line to line")
        self._changes.append(change)
        self._entries.append(at._replace(name=line.id))

    def _compare(self) -> tuple[bool, bool]:
        """Return whether the store has the same changes, and whether they can all be restored."""
        if self._header is None:
            return False, False
        theirs = self._header.items
        with self._store.reading() as reader:
            is_same = item_history(reader, theirs.revision) == theirs.model_dump()
            has_changes = bool(reader.item_revisions())
        is_restored = (
            not is_same
            and not has_changes
            and bool(self._changes)
            and digest_changes(self._changes) == theirs.digest
            and self._rows_fit()
        )
        return is_same, is_restored

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
