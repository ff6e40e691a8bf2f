"""An import is checked as a whole before anything is written, then taken in by pieces.

Each piece is a transaction of its own, bounded in users and bytes, so that lists go on in between.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Final, TypeAlias

from variegate.engine.catalogue import CatalogueSnapshot, LiveCatalogue
from variegate.engine.experiment import Experiment
from variegate.engine.import_file import Entry, ImportFile, RawLine
from variegate.engine.import_items import ItemCheck
from variegate.engine.importing import (
    ImportItems,
    ImportUsers,
    Target,
    different_user,
    is_same_user,
)
from variegate.engine.lines import HistoryCheck, HistoryLine, Line, UserLine, parse_line
from variegate.errors import DataError, OutcomeUnknownError, StoreError, VariegateError
from variegate.store import Store

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
