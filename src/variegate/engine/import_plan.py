"""An import is checked as a whole before anything is written, then taken in by pieces.

Each piece is a transaction of its own, bounded in users and bytes, so that lists go on in between.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any, Final, TypeAlias

import numpy as np

from variegate.engine.catalogue import CatalogueSnapshot, LiveCatalogue
from variegate.engine.experiment import Experiment
from variegate.engine.export import digest_of, item_history
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
    Target,
    different_user,
    is_same_user,
    item_row,
    prior_data,
)
from variegate.errors import DataError, OutcomeUnknownError, StoreError, VariegateError
from variegate.model.fingerprint import Fingerprint
from variegate.store import ItemChange, Store


class ItemCheck:
    """Checks these lines, and finds how the items can be taken in.

    A list says which revision of the items it was chosen from. Into a store without changes of
    items, all changes are restored under their revisions, so that this stays true; so it does
    where the store has the same changes already. Into any other store items are merged, and lists
    are imported without a revision.
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
        """The items and priors so far."""
        return len(self._entries) + len(self.priors)

    @property
    def keeps_revisions(self) -> bool:
        """Whether revisions mean the same here, once items are taken in."""
        return self._is_same or self._is_restored

    def add(self, at: RawLine, line: ExportLine | ItemLine | PriorLine) -> None:
        """Take in the next line, or raise DataError or InputError."""
        entry = Entry("", at.number, at.start, at.end)
        if isinstance(line, ExportLine):
            if self._header is not None or self.count:
                raise DataError("`kind`: export must be the first line")
            self._header = line
            self._check_catalogue(line)
        elif isinstance(line, PriorLine):
            prior_data(self._snapshot.catalogue, line)
            self.priors.append(entry._replace(name=line.policy))
        else:
            self._add_item(entry._replace(name=line.id), line)

    def target(self) -> Target:
        """Return what users must fit; no line of an item may come after this."""
        self._compare()
        catalogue = self._snapshot.catalogue
        ids = {change.item.id for change in self._changes}
        coming = {item for item in ids if self._snapshot.row_of(item) is None}
        return Target(catalogue, coming, keeps_revisions=self.keeps_revisions)

    def entries(self) -> Sequence[Entry]:
        """Return the lines of items that are to be taken in: all changes, or the last of each."""
        self._compare()
        if self._is_same:
            return []
        last = {entry.name: entry for entry in self._entries}
        return self._entries if self._is_restored else list(last.values())

    def restores(self) -> tuple[int, int] | None:
        """Return the last revision and the first that is kept, where both are restored."""
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
        if self._changes and (change.revision, line.row) <= (
            self._changes[-1].revision,
            self._changes[-1].item.row,
        ):
            raise DataError("`revision` and `row` must grow from line to line")
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
            and digest_of(self._changes) == theirs.digest
            and self._rows_fit()
        )

    def _rows_fit(self) -> bool:
        """Return whether items have, or will have, the rows that they had there."""
        ids, size = self._live.base.ids, len(self._live.base)
        rows = {change.item.row: change.item.id for change in self._changes}
        new = sorted(row for row in rows if row >= size)
        is_whole = new == list(range(size, size + len(new)))
        return is_whole and all(ids[row] == item for row, item in rows.items() if row < size)

    def _check_catalogue(self, line: ExportLine) -> None:
        base = self._live.base
        try:
            theirs = Fingerprint.from_json(line.catalogue)
            # A larger file that begins with the same items will do.
            found = theirs.differences(base.fingerprint_of_first(min(theirs.items, len(base))))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError("`catalogue` must be a fingerprint as an export has it") from None
        if found:
            raise DataError(f"`catalogue` must be that of {base}: {'; '.join(found)}")


#: Users and items of one import over HTTP, at most
MAX_ENTRIES: Final = 50_000
#: Bytes and entries of one piece; a user alone may be more.
_PIECE: Final = 250_000
_ENTRIES: Final = 100

#: Seconds of work after which to pause, and of the pause
_WORK, _PAUSE = 0.002, 0.001

Piece: TypeAlias = ImportItems | ImportUsers


@dataclass(frozen=True)
class Plan:
    """What an import consists of.

    Parameters
    ----------
    items, priors, users
        Where their lines are; of several lines of an item that is not restored with its history,
        the last.
    restores, keeps_revisions
        See `ImportItems` and `Target`.
    """

    file: ImportFile
    items: Sequence[Entry]
    priors: Sequence[Entry]
    users: Sequence[Entry]
    restores: tuple[int, int] | None
    keeps_revisions: bool
    #: Lines of items and priors, those too that change nothing
    items_and_priors: int

    def pieces(self, *, replace: bool) -> Iterator[Piece]:
        """Give the operations that take it in, in order."""
        if self.restores is not None:
            yield ImportItems(self.file, (*self.items, *self.priors), replace, self.restores)
        else:
            for entries in _grouped([*self.items, *self.priors]):
                yield ImportItems(self.file, entries, replace)
        for entries in _grouped(self.users):
            yield ImportUsers(self.file, entries, replace, self.keeps_revisions)


def _grouped(entries: Sequence[Entry]) -> Iterator[tuple[Entry, ...]]:
    group: list[Entry] = []
    size = 0
    for entry in entries:
        length = entry.end - entry.start
        if group and (size + length > _PIECE or len(group) == _ENTRIES):
            yield tuple(group)
            group, size = [], 0
        group.append(entry)
        size += length
    if group:
        yield tuple(group)


def unfinished(error: VariegateError, done: int) -> VariegateError:
    """Return the error of a piece, which says how much was taken in before it."""
    if not done:
        return error
    # Part of the import was done: not what a StoreError promises.
    kind = OutcomeUnknownError if isinstance(error, StoreError) else type(error)
    return kind(f"{error} ({done} users are in: sending the same again goes on from there)")


def plan_import(
    file: ImportFile,
    store: Store,
    live: LiveCatalogue,
    experiment: Experiment,
    *,
    replace: bool,
    max_entries: int | None = MAX_ENTRIES,
    rest: Callable[[], None] = lambda: None,
) -> Plan:
    """Check all lines of a file and return how to take them in, or raise what is wrong.

    Nothing is written. Raises DataError for a line that is not as it was exported or does not fit
    the catalogue, ConflictError for a user that is there with other content. `rest` is called
    after each line.
    """
    with store.reading() as reader:
        snapshot = live.as_of(reader)
    check = _Check(file, store, live, experiment, snapshot, replace=replace)
    for line in file.raw_lines():
        with file.located(line.number):
            check.add(line, parse_line(line.raw, file.max_cost))
            if max_entries is not None and check.entries > max_entries:
                raise DataError(f"an import must have at most {max_entries} users and items")
        check.look_up(_ENTRIES)
        rest()
    check.end()
    return check.plan()


class Pauses:
    """Lets other threads run now and then: a pause of 1 ms after each 2 ms of work.

    Without them, a thread that only computes gives up the interpreter every 5 ms, and whoever
    reads from the store in another thread waits for it at each step.
    """

    def __init__(self) -> None:
        self._since = monotonic()

    def __call__(self) -> None:
        """Pause if it is time."""
        if monotonic() - self._since > _WORK:
            sleep(_PAUSE)
            self._since = monotonic()


class _Check:
    """Goes over the lines of a file."""

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
        self._items = ItemCheck(store, live, snapshot)
        self._users: list[Entry] = []
        self._numbers: dict[str, int] = {}
        self._target: Target | None = None
        self._history: HistoryCheck | None = None
        self._looked_up = 0

    @property
    def entries(self) -> int:
        """The users, items and priors so far."""
        return len(self._users) + self._items.count

    def plan(self) -> Plan:
        """Return how to take in what was checked."""
        items = self._items
        entries = items.entries(), items.priors, self._users
        return Plan(self._file, *entries, items.restores(), items.keeps_revisions, items.count)

    def add(self, at: RawLine, line: Line) -> None:
        """Take in the next line."""
        if isinstance(line, HistoryLine):
            self._go_on(at, line)
            return
        self._check_ended()
        if isinstance(line, UserLine):
            self._begin(at, line)
        elif self._users:
            raise DataError(f"`kind`: {line.kind} must come before the users")
        else:
            self._items.add(at, line)

    def end(self) -> None:
        """Check what only the last line tells."""
        with self._file.located(self._users[-1].number if self._users else 1):
            self._check_ended()
        self.look_up(1)

    def _begin(self, at: RawLine, line: UserLine) -> None:
        if line.user in self._numbers:
            raise DataError(f"user {line.user!r} is in line {self._numbers[line.user]} too")
        self._numbers[line.user] = at.number
        if self._target is None:
            self._target = self._items.target()
        self._target.user(line)
        self._history = HistoryCheck()
        self._users.append(Entry(line.user, at.number, at.start, at.end))
        self._check_history(line)

    def _go_on(self, at: RawLine, line: HistoryLine) -> None:
        if self._history is None or self._users[-1].name != line.user:
            raise DataError("`kind`: history must follow the line of its user")
        self._users[-1] = self._users[-1]._replace(end=at.end)
        self._check_history(line)

    def _check_history(self, line: UserLine | HistoryLine) -> None:
        if self._target is None or self._history is None:
            return
        for one in line.lists:
            self._target.slate(one, line.user)
        self._history.add(line.lists, line.events)
        if not line.more:
            self._history.end()
            self._history = None

    def _check_ended(self) -> None:
        if self._history is not None:
            raise DataError(
                f"user {self._users[-1].name!r} must go on in another line, as `more` says: the "
                "file was cut off or changed"
            )

    def look_up(self, least: int) -> None:
        """Raise ConflictError where a user is there with other content.

        Nothing is done unless there are at least so many users that were not looked up.
        """
        last = len(self._users) - (self._history is not None)
        entries = {entry.name: entry for entry in self._users[self._looked_up : last]}
        if len(entries) < least or self._target is None:
            return
        self._looked_up = last
        with self._store.reading() as reader:
            kept = {} if self._replace else reader.users(entries)
            for name, row in kept.items():
                lines = self._file.lines(entries[name])
                if not is_same_user(reader, self._target, self._experiment, row, lines):
                    with self._file.located(entries[name].number):
                        raise different_user(name)


class HistoryCheck:
    """Compares a user's lists with the events of all of their lines."""

    def __init__(self) -> None:
        #: Positions that a list says have taught, and that no event above did teach
        self._taught: dict[str, set[int]] = {}
        self._lists: set[str] = set()
        self._requests: set[str] = set()

    def add(self, lists: Sequence[SlateLine], events: Sequence[Any]) -> None:
        """Take in the lists and events of a line, or raise DataError."""
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
                f"`events` must teach each position of list {slate!r} once, and those that its "
                "`taught` names"
            )
        left -= positions
        if not left:
            del self._taught[slate]

    def end(self) -> None:
        """Raise DataError unless events taught all that the lists say have taught."""
        for slate in self._taught:
            raise DataError(f"`taught` of list {slate!r} must be what `events` taught")
