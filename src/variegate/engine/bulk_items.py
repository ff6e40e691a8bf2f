"""Add and change many items in small pieces, while lists are made of the items as they were.

Each piece is a transaction of some milliseconds. It does not change what lists are made of:
building a large catalogue takes seconds, so that is done once, after the last piece, in the
background of every process; see `hidden_items`. Sending the same items again changes nothing, so
an import that stopped midway is completed by repeating it.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from time import monotonic
from typing import Any, ClassVar, Final

from variegate.engine.background import frequent_switches
from variegate.engine.catalogue import CatalogueSnapshot, LiveCatalogue, lock_items
from variegate.engine.experiment import Experiment
from variegate.engine.hidden_items import Execute, announcement, show_hidden_items
from variegate.engine.item_data import ResolvedItem, resolve_items
from variegate.engine.item_lines import CsvLines, ItemLine, JsonLines
from variegate.engine.items import LAST_ITEM, next_row, write_items
from variegate.engine.queue import CommandResult
from variegate.errors import ConflictError, InputError
from variegate.store import ITEMS_REVISION, Batch, ItemRow, Store

#: Items in one transaction, at most.
PIECE: Final = 50
#: After a piece of an import others get the processor so many times as long as it took.
_OTHERS: Final = 3.0
#: Seconds between two attempts to write a piece while others are shown, and the longest pause.
_PAUSE: Final = 0.25


@dataclass
class ImportCounts:
    """How many lines were read, and what became of them."""

    lines: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    rejected: int = 0

    def add(self, other: "ImportCounts") -> None:
        """Add the counts of a piece."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass(frozen=True)
class RejectedLine:
    """A line whose item was not added or changed."""

    line: int
    id: str | None
    message: str


@dataclass
class Piece:
    """What one piece of an import writes, and what it does not."""

    #: The revision of the items that it was prepared for
    revision: str
    rows: list[ItemRow] = field(default_factory=list)
    counts: ImportCounts = field(default_factory=ImportCounts)
    rejected: list[RejectedLine] = field(default_factory=list)


def pieces(lines: Iterable[ItemLine]) -> Iterator[list[ItemLine]]:
    """Yield the lines in pieces; an id that comes twice within one begins the next."""
    piece: list[ItemLine] = []
    ids: set[str] = set()
    for line in lines:
        if piece and (len(piece) == PIECE or line.id in ids):
            yield piece
            piece, ids = [], set()
        piece.append(line)
        if line.id is not None:
            ids.add(line.id)
    if piece:
        yield piece


def prepare_piece(store: Store, live: LiveCatalogue, lines: Sequence[ItemLine]) -> Piece:
    """Return what a piece writes."""
    requests = [line.request for line in lines if line.request is not None]
    with store.reading() as reader:
        snapshot = live.as_of(reader)
        stored = reader.items_by_id([str(request["id"]) for request in requests])
        size, revision = next_row(reader, snapshot), reader.meta(ITEMS_REVISION) or "0"
    found = iter(resolve_items(snapshot, requests, stored, size, keeps_retired=True))
    piece = Piece(revision, counts=ImportCounts(lines=len(lines)))
    for line in lines:
        outcome = InputError(line.problem) if line.request is None else next(found)
        if not isinstance(outcome, ResolvedItem):
            piece.rejected.append(RejectedLine(line.number, line.id, str(outcome)))
            piece.counts.rejected += 1
        elif not outcome.is_changed:
            piece.counts.unchanged += 1
        else:
            piece.rows.append(outcome.row)
            is_new = outcome.row.row >= size
            piece.counts.added += is_new
            piece.counts.changed += not is_new
    return piece


@dataclass(frozen=True, slots=True)
class WriteItems:
    """Write a piece of an import; lists are made of the items as they were.

    Parameters
    ----------
    revision
        The revision that the rows were prepared for. With another one, or while hidden items are
        about to be shown, nothing is written, and the piece must be prepared again.
    n_retired
        How many items the import has retired, with this piece.
    """

    rows: Sequence[ItemRow]
    revision: str
    n_retired: int = 0
    alone: ClassVar[bool] = True
    #: Lists do not wait for the disk with each piece: the commit that shows the items does.
    durable: ClassVar[bool] = False

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Store all of them, or none."""
        lock_items(batch)
        # What is about to be shown is prepared everywhere; more would not be.
        waits = announcement(batch) is not None
        if waits or (batch.meta(ITEMS_REVISION) or "0") != self.revision:
            return CommandResult({"written": False, "waits": waits})
        stored = batch.items_by_id([row.id for row in self.rows])
        batch.hide_item_changes()
        write_items(batch, self.rows, stored)
        snapshot = executor.live.as_of(batch)
        if self.n_retired >= int(snapshot.active.sum()):
            _check_one_is_left(batch, snapshot)
        return CommandResult({"written": True, "waits": False})


def _check_one_is_left(batch: Batch, snapshot: CatalogueSnapshot) -> None:
    n_retired = sum(row.retired for row in batch.items())
    if n_retired == next_row(batch, snapshot):
        raise ConflictError(LAST_ITEM)


class ItemImport:
    """Adds and changes the items of a file.

    Parameters
    ----------
    lines
        Its lines.
    execute
        Executes commands.
    turn
        Held from the first line to the last.
    """

    def __init__(
        self,
        lines: JsonLines | CsvLines,
        store: Store,
        live: LiveCatalogue,
        experiment: Experiment,
        execute: Execute,
        turn: asyncio.Lock,
    ) -> None:
        self._lines, self._store, self._live = lines, store, live
        self._experiment, self._execute, self._turn = experiment, execute, turn
        self.counts: Final = ImportCounts()
        self.ignored_columns: Final = lines.ignored
        self._n_retired, self._is_shown = 0, True

    async def run(self) -> AsyncIterator[RejectedLine | ImportCounts]:
        """Yield each rejected line, and the counts so far after each piece and while it waits.

        After the last of them, lists are made of the new items. If it is stopped before, `show`
        does that.
        """
        async for _ in _waiting_for(self._turn.acquire()):
            yield self.counts
        try:
            with frequent_switches():
                async for event in self._write_all():
                    yield event
                async for _ in _waiting_for(self.show()):
                    yield self.counts
        finally:
            self._turn.release()

    async def show(self) -> None:
        """Let lists be made of what was written, without a pause for them."""
        if not self._is_shown:
            await show_hidden_items(self._store, self._live, self._execute)
            self._is_shown = True

    async def _write_all(self) -> AsyncIterator[RejectedLine | ImportCounts]:
        following, end = pieces(self._lines), list[ItemLine]()
        while lines := await asyncio.to_thread(next, following, end):
            begun = monotonic()
            piece = await self._write(lines)
            self.counts.add(piece.counts)
            for rejected in piece.rejected:
                yield rejected
            yield self.counts
            await asyncio.sleep(min(_OTHERS * (monotonic() - begun), _PAUSE))

    async def _write(self, lines: Sequence[ItemLine]) -> Piece:
        while True:
            piece = await asyncio.to_thread(prepare_piece, self._store, self._live, lines)
            if not piece.rows:
                return piece
            if self._is_shown:
                await asyncio.to_thread(self._check_first, piece.rows)
            n_retired = self._n_retired + sum(row.retired for row in piece.rows)
            command = WriteItems(piece.rows, piece.revision, n_retired)
            answer = await self._execute(command)
            if answer["written"]:
                self._n_retired, self._is_shown = n_retired, False
                return piece
            if answer["waits"]:
                await asyncio.sleep(_PAUSE)

    def _check_first(self, rows: Sequence[ItemRow]) -> None:
        """Raise an error if the policies cannot serve more items, before any is written."""
        with self._store.reading() as reader:
            snapshot = self._live.as_of(reader)
        new = [row for row in rows if row.row >= len(snapshot.catalogue)]
        if new:
            first = new[0]._replace(row=len(snapshot.catalogue))
            catalogue = snapshot.with_changes([first]).catalogue
            for name in self._experiment.names:
                self._experiment.as_of(snapshot).new_policy(name, catalogue)


async def _waiting_for(work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Yield every second until some work is done."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=1.0))[0]:
            yield
    finally:
        if not task.done():
            task.cancel()
    task.result()
