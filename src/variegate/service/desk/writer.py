"""The one thread of a process that writes, for those who wait in an event loop."""

import asyncio
import logging
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, TypeAlias

from variegate.errors import StoreError
from variegate.service.desk.batches import LONGEST_QUEUE, MOST, Batches, Outcome, Waiting

Future: TypeAlias = "asyncio.Future[Any]"

_log = logging.getLogger(__name__)


class Writer:
    """Takes operations from a loop, does those that wait together, and answers after the commit.

    Parameters
    ----------
    batches
        Does them.
    """

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._queue: SimpleQueue[Waiting[Future] | None] = SimpleQueue()
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
        future: Future = asyncio.get_running_loop().create_future()
        self._queue.put(Waiting(operation, monotonic(), future))
        return await future

    def _run(self) -> None:
        while not self._stopping or not self._queue.empty():
            batch = self._next_batch(self._batches.pause)
            if batch:
                self._answer(self._batches.done(batch))
            self._batches.end_round()

    def _next_batch(self, seconds: float) -> list[Waiting[Future]]:
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

    def _answer(self, outcomes: list[tuple[Future, Outcome]]) -> None:
        loop = outcomes[0][0].get_loop()
        try:
            loop.call_soon_threadsafe(deliver, outcomes)
        except RuntimeError:  # the loop was closed: nobody is there to be answered
            _log.warning("%d operations were done, and nobody waited for the answer", len(outcomes))


def deliver(outcomes: list[tuple[Future, Outcome]]) -> None:
    """Answer those who still wait; call this in their loop."""
    for future, outcome in outcomes:
        if future.done():  # whoever waited has gone
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
