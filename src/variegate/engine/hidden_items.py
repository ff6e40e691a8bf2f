"""Show the items of an import once every process of every replica has prepared them.

While an import writes, its items are hidden: all processes make lists of the items before it. At
its end they are announced. Every process then builds the new catalogue in the background, and goes
on making lists of the old one; the engine of each replica reports when both it and the process that
answers HTTP are ready. Then the items are shown, to all at the same moment, so no process ever
makes lists of older items than another.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from variegate.engine.catalogue import CatalogueSnapshot, LiveCatalogue, lock_items
from variegate.engine.items import check_served
from variegate.engine.queue import CommandResult
from variegate.errors import VariegateError
from variegate.store import ITEMS_REVISION, ITEMS_VISIBLE, Batch, Reader, Store

#: Seconds that replicas get to prepare items. Then they are shown, and one that is not ready builds
#: its catalogue when it makes the next list.
PATIENCE: Final = 120.0
#: Seconds between two looks at what is announced.
FOLLOW: Final = 1.0
#: Seconds without a change after which hidden items are shown: their import broke off.
ABANDONED: Final = 60.0
#: Seconds between two questions whether a process is ready.
_POLL: Final = 0.1
#: The store's entry for an `Announcement`.
_ANNOUNCED: Final = "items_announced"

#: Executes a command.
Execute: TypeAlias = Callable[[Any], Awaitable[Any]]

_log = logging.getLogger(__name__)


class Announcement(NamedTuple):
    """Hidden items that all replicas prepare."""

    #: The revision that lists are made of meanwhile
    visible: str
    #: The revision to prepare
    revision: str
    #: Seconds since 1970, by the database's clock
    time: float
    #: The replicas that have prepared it
    ready: list[str]

    def write(self, batch: Batch) -> None:
        """Store it."""
        batch.set_meta(_ANNOUNCED, json.dumps(self))


def announcement(reader: Reader) -> Announcement | None:
    """Return the announcement of the items that are hidden now, if there is one."""
    text = reader.meta(_ANNOUNCED)
    found = None if text is None else Announcement(*json.loads(text))
    if found is None or found.visible != reader.meta(ITEMS_VISIBLE):
        return None
    return found if reader.head().now - found.time < PATIENCE else None


@dataclass(frozen=True, slots=True)
class AnnounceItems:
    """Let all replicas prepare the hidden items; return whether there are any."""

    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, _executor: Any) -> CommandResult:
        """Announce the latest revision, unless one is announced already."""
        lock_items(batch)
        visible = batch.meta(ITEMS_VISIBLE)
        if visible and announcement(batch) is None:
            revision = batch.meta(ITEMS_REVISION) or "0"
            Announcement(visible, revision, batch.head().now, []).write(batch)
        return CommandResult({"announced": bool(visible)})


@dataclass(frozen=True, slots=True)
class PrepareItems:
    """Let the engine prepare the latest items in a thread; return whether they are ready."""

    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Start the thread, or look at it."""
        revision = batch.meta(ITEMS_REVISION) or "0"
        return CommandResult({"ready": executor.preparation.poll(executor, revision)})


@dataclass(frozen=True, slots=True)
class ReportPrepared:
    """Record that this replica has prepared what is announced."""

    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Add this replica to those that are ready."""
        lock_items(batch)
        found = announcement(batch)
        if found is not None and executor.replica is not None:
            ready = {*found.ready, executor.replica.id}
            found._replace(ready=sorted(ready)).write(batch)
        return CommandResult({})


@dataclass(frozen=True, slots=True)
class ShowItems:
    """Let lists be made of the latest items, if all replicas are ready; return whether they are.

    Parameters
    ----------
    at_once
        Show them in any case.
    """

    at_once: bool = False
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Show them to all processes."""
        lock_items(batch)
        found, replica = announcement(batch), executor.replica
        if not self.at_once and found is not None and replica is not None:
            late = {row.id for row in replica.live(batch)} - set(found.ready)
            if late:
                return CommandResult({"shown": False})
        batch.show_items()
        return CommandResult({"shown": True})


class Preparation:
    """Prepares the items of an engine in a thread."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._failure: Exception | None = None

    def poll(self, executor: Any, revision: str) -> bool:
        """Return whether the items of a revision are ready; if not, let the thread prepare them.

        Raises the error that the thread ended with.
        """
        if self._thread is not None and self._thread.is_alive():
            return False
        self._thread, failure, self._failure = None, self._failure, None
        if failure is not None:
            raise failure
        if executor.live.has_prepared(revision):
            return True
        self._thread = Thread(
            target=self._run, args=(executor,), name="variegate-prepare", daemon=True
        )
        self._thread.start()
        return False

    def _run(self, executor: Any) -> None:
        # As long as those that will be asked for, so that what they need is computed here.
        experiment, k = executor.experiment, executor.rules.k
        try:
            executor.live.prepare(
                executor.store,
                lambda snapshot: check_served(snapshot, experiment, k),
                lambda: executor.is_busy,
            )
        except Exception as error:  # raised where it is asked for
            self._failure = error


async def prepare_items(store: Store, live: LiveCatalogue, execute: Execute) -> None:
    """Let the engine and this process prepare the hidden items, and report it."""
    while not (await execute(PrepareItems()))["ready"]:
        await asyncio.sleep(_POLL)
    await asyncio.to_thread(live.prepare, store, _look_up)
    await execute(ReportPrepared())


async def show_hidden_items(store: Store, live: LiveCatalogue, execute: Execute) -> None:
    """Show hidden items, if there are any, without a pause for lists."""
    begun = monotonic()
    if not (await execute(AnnounceItems()))["announced"]:
        return
    await prepare_items(store, live, execute)
    while not (await execute(ShowItems(at_once=monotonic() - begun > PATIENCE)))["shown"]:
        await asyncio.sleep(_POLL)


class Follower:
    """Prepares what any replica announces, and shows what a broken import left hidden."""

    def __init__(self, store: Store, live: LiveCatalogue, execute: Execute) -> None:
        self._store, self._live, self._execute = store, live, execute
        self._tried: tuple[str, str] | None = None
        #: The latest revision if it was hidden at the last look, or else ""
        self.hidden = ""
        self._since = 0.0

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            await asyncio.sleep(FOLLOW)
            try:
                await self.follow()
            except VariegateError as error:
                _log.warning("the items of an import could not be prepared: %s", error)
            except Exception:  # a bug: the next import must be prepared all the same
                _log.exception("the items of an import could not be prepared")

    async def follow(self) -> None:
        """Do what there is to do now."""
        found, hidden = await asyncio.to_thread(self._look)
        if hidden != self.hidden:
            self.hidden, self._since = hidden, monotonic()
        if found is not None and found[:2] != self._tried:
            self._tried = found[:2]  # once: what fails would fail again every second
            await prepare_items(self._store, self._live, self._execute)
        elif found is None and hidden and monotonic() - self._since > ABANDONED:
            await show_hidden_items(self._store, self._live, self._execute)

    def _look(self) -> tuple[Announcement | None, str]:
        """Return what is announced, and the latest revision if it is hidden, or else ""."""
        with self._store.reading() as reader:
            if not reader.meta(ITEMS_VISIBLE):
                return None, ""
            return announcement(reader), reader.meta(ITEMS_REVISION) or "0"


def _look_up(snapshot: CatalogueSnapshot) -> None:
    """Compute what a process that makes no lists needs of the items."""
    snapshot.row_of("")
