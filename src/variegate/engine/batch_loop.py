"""The engine's loop: what waits is done together, in one transaction, each for itself."""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, Final, Protocol

from variegate.engine.queue import LONG_SECONDS, CommandQueue, Outcome, Progress, QueuedCommand
from variegate.errors import StoreError

#: Commands in one transaction, at most.
MAX_BATCH: Final = 64
#: Seconds between two looks at what time itself brings about.
TICK: Final = 1.0
#: Seconds that the engine may take to finish what it has when the service stops.
CLOSE_SECONDS: Final = 5.0
#: How many times the seconds of a command a batch may take before the engine counts as stuck.
_STUCK: Final = 3.0

_log = logging.getLogger(__name__)


class Channel(Protocol):
    """Where commands come from, and where their outcomes go."""

    def receive(self, seconds: float) -> list[QueuedCommand] | None:
        """Return what came, waiting for so many seconds; None when no more will come."""

    def answer(self, outcomes: list[tuple[int, Outcome]]) -> None:
        """Hand outcomes over, by the numbers of the commands."""


class BatchLoop:
    """Does commands that wait, and what time brings about; nothing is raised.

    Parameters
    ----------
    execute
        Does commands in one transaction; returns an outcome for each, an error where one was
        refused. If it raises, none was done, or the error says that this is not known.
    tick
        Is called every second or so; returns whether there is more to do, which is then done in
        turns with what comes.
    timeout
        Seconds after which a command that still waits is not begun any more.
    progress
        Where to note what was begun.
    """

    def __init__(
        self,
        execute: Callable[[Sequence[Any]], Sequence[Outcome]],
        tick: Callable[[], bool],
        *,
        timeout: float,
        progress: Progress | None = None,
    ) -> None:
        self._execute, self._tick, self._timeout = execute, tick, timeout
        self.progress: Final = progress or Progress()
        self._ticked, self._has_more = monotonic(), False

    def run(self, channel: Channel) -> None:
        """Work until no more will come, and all that came is done."""
        waiting, is_open = deque[QueuedCommand](), True
        while is_open or waiting:
            if is_open:
                came = channel.receive(0.0 if waiting or self._has_more else TICK)
                is_open = came is not None
                waiting.extend(came or ())
            batch = [waiting.popleft() for _ in range(min(len(waiting), MAX_BATCH))]
            for group in _groups(batch):
                channel.answer(list(self._outcomes(group)))
            self._end_round()

    def _outcomes(self, group: list[QueuedCommand]) -> Iterator[tuple[int, Outcome]]:
        is_long = getattr(group[0].command, "long", False)
        seconds = LONG_SECONDS if is_long else _STUCK * self._timeout
        # Noted first, and looked at the clock then: whoever finds that a command was not begun,
        # when its time is over, knows that it will not be.
        self.progress.begin(group[-1].number, monotonic() + seconds)
        now = monotonic()
        begun = [one for one in group if now - one.since < self._timeout]
        outcomes = self._executed(begun) if begun else []
        self.progress.finish()
        late = StoreError("the service is too busy: try again in a moment")
        yield from ((one.number, late) for one in group if now - one.since >= self._timeout)
        yield from zip((one.number for one in begun), outcomes, strict=True)

    def _executed(self, group: list[QueuedCommand]) -> Sequence[Outcome]:
        try:
            return self._execute([one.command for one in group])
        except StoreError as error:
            return [error] * len(group)
        except Exception as error:  # a fault of ours: it must not cost the others their answers
            if len(group) == 1:
                return [error]
            _log.exception("a batch of %d failed: each is tried alone", len(group))
            return [self._executed([one])[0] for one in group]

    def _end_round(self) -> None:
        """Do what time brings about, where that is due."""
        if not self._has_more and monotonic() - self._ticked <= TICK:
            return
        self._has_more = False
        try:
            self._has_more = self._tick()
        except StoreError as error:
            _log.warning("the store is away: %s", error)
        except Exception:
            _log.exception("closing lists whose time is over failed; it is tried again")
        self._ticked = monotonic()


class EngineThread:
    """Runs the engine in a thread of this process; see `queue.Worker`.

    Parameters
    ----------
    loop
        Does the commands.
    """

    def __init__(self, loop: BatchLoop) -> None:
        self._loop = loop
        self._commands: SimpleQueue[QueuedCommand | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="variegate-engine", daemon=True)
        self._is_stopping = False
        self._queue: CommandQueue | None = None

    @property
    def progress(self) -> Progress:
        """What was begun."""
        return self._loop.progress

    def attach(self, queue: CommandQueue) -> None:
        """Let a queue have the outcomes."""
        self._queue = queue

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Do what waits, and end; a store that hangs is not waited for."""
        self._is_stopping = True
        self._commands.put(None)
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            _log.error("the engine was still at work after %g seconds", CLOSE_SECONDS)

    def check(self) -> None:
        """Raise StoreError where no command is taken any more."""
        if self._is_stopping:
            raise StoreError("the service is stopping: try again in a moment")

    def send(self, command: QueuedCommand) -> None:
        """Let the thread do a command."""
        self.check()
        self._commands.put(command)

    def receive(self, seconds: float) -> list[QueuedCommand] | None:
        """Return what came; see `Channel`."""
        came = []
        try:
            one = self._commands.get(timeout=seconds) if seconds else self._commands.get_nowait()
            while one is not None:
                came.append(one)
                one = self._commands.get_nowait()
        except Empty:
            return came
        self._commands.put(None)  # for the next time, when nothing comes before it
        return came or None

    def answer(self, outcomes: list[tuple[int, Outcome]]) -> None:
        """Hand outcomes to those who wait in a loop; see `Channel`."""
        if self._queue is not None:
            self._queue.answer_from_thread(outcomes)

    def _run(self) -> None:
        self._loop.run(self)


def _groups(batch: Sequence[QueuedCommand]) -> list[list[QueuedCommand]]:
    """Return the commands in order, those that must be alone in groups of their own."""
    groups: list[list[QueuedCommand]] = []
    together = False
    for one in batch:
        alone = getattr(one.command, "alone", False)
        if together and not alone:
            groups[-1].append(one)
        else:
            groups.append([one])
        together = not alone
    return groups
