"""The one thread of a process that writes: what waits is done in one transaction, together."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from variegate.errors import StoreError

#: Operations in one transaction, at most.
MOST: Final = 64
#: Operations that may wait; more would be answered too late anyway.
LONGEST_QUEUE: Final = 5000
#: Seconds between two looks at what time itself brings about.
TICK: Final = 1.0

_log = logging.getLogger(__name__)


class Operation(Protocol):
    """Something to do in a transaction."""


#: Each operation's answer, or the error it is answered with
Outcome: TypeAlias = Any


class _Waiting(NamedTuple):
    operation: Operation
    future: "asyncio.Future[Any]"
    since: float


class Writer:
    """Takes operations from a loop, does those that wait together, and answers after the commit.

    Parameters
    ----------
    settle
        Does operations in one transaction; returns an outcome for each, an error where one was
        refused. If it raises, none was done.
    tick
        Is called every second or so, in the same thread; returns whether there is more to do,
        which is then done in turns with what comes.
    patience
        Seconds after which an operation that still waits is not begun any more.
    """

    def __init__(
        self,
        settle: Callable[[Sequence[Any]], Sequence[Outcome]],
        tick: Callable[[], bool],
        *,
        patience: float,
    ) -> None:
        self._settle, self._tick, self._patience = settle, tick, patience
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="variegate-writer", daemon=True)
        self._stopping = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Do what waits, and end."""
        self._stopping = True
        self._queue.put(None)
        self._thread.join()

    async def submit(self, operation: Any) -> Any:
        """Return the operation's answer once it is kept, or raise its error."""
        if self._stopping or self._queue.qsize() > LONGEST_QUEUE:
            raise StoreError("the service is stopping or too busy: try again in a moment")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.put(_Waiting(operation, future, monotonic()))
        return await future

    def _run(self) -> None:
        ticked, more = monotonic(), False
        while not self._stopping or not self._queue.empty():
            batch = self._next_batch(0.0 if more else TICK)
            if batch:
                self._do(batch)
            if more or monotonic() - ticked > TICK:
                more = self._tick_safely()
                ticked = monotonic()

    def _next_batch(self, seconds: float) -> list[_Waiting]:
        try:
            first = self._queue.get(timeout=seconds)
        except Empty:
            return []
        batch = [] if first is None else [first]
        while len(batch) < MOST:
            try:
                more = self._queue.get_nowait()
            except Empty:
                break
            if more is not None:
                batch.append(more)
        return batch

    def _do(self, batch: list[_Waiting]) -> None:
        now = monotonic()
        begun = [one for one in batch if now - one.since <= self._patience]
        outcomes: dict[int, Outcome] = {
            id(one): StoreError("the service is too busy: try again in a moment")
            for one in batch
            if now - one.since > self._patience
        }
        for group in _groups(begun):
            for one, outcome in zip(group, self._settled(group), strict=True):
                outcomes[id(one)] = outcome
        loop = batch[0].future.get_loop()
        answers = [(one.future, outcomes[id(one)]) for one in batch]
        try:
            loop.call_soon_threadsafe(_deliver, answers)
        except RuntimeError:  # the loop was closed: nobody is there to be answered
            _log.warning("%d operations were done, and nobody waited for the answer", len(batch))

    def _settled(self, group: list[_Waiting]) -> Sequence[Outcome]:
        operations = [one.operation for one in group]
        try:
            return self._settle(operations)
        except StoreError as error:
            return [error] * len(group)
        except Exception as error:  # a fault of ours: it must not cost the others their answers
            if len(group) == 1:
                return [error]
            _log.exception("a batch of %d failed: each is tried alone", len(group))
            return [self._settled([one])[0] for one in group]

    def _tick_safely(self) -> bool:
        try:
            return self._tick()
        except StoreError as error:
            _log.warning("the store is away: %s", error)
        except Exception:
            _log.exception("what time brings about failed; it is tried again")
        return False


def _groups(batch: list[_Waiting]) -> list[list[_Waiting]]:
    """Return the operations in order, those that must be alone in groups of their own."""
    groups: list[list[_Waiting]] = []
    together = False
    for one in batch:
        alone = getattr(one.operation, "alone", False)
        if together and not alone:
            groups[-1].append(one)
        else:
            groups.append([one])
        together = not alone
    return groups


def _deliver(answers: list[tuple["asyncio.Future[Any]", Outcome]]) -> None:
    for future, outcome in answers:
        if future.done():  # whoever waited has gone
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
