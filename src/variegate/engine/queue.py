"""The queue in front of the engine: what waits, for how long, and what it is answered.

One queue, whichever way the engine runs: in a thread of this process (`EngineThread`) or in a
process of its own (`variegate.engine.process`).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain, count, takewhile
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from variegate.errors import OutcomeUnknownError, StoreError

#: Commands that may wait; more would be answered too late anyway.
MAX_COMMANDS: Final = 5000
#: Bytes that the commands that wait may take, as `approximate_size` counts them; the last one that
#: is let in may exceed it.
MAX_BYTES: Final = 32 * 2**20
#: Seconds that a command whose class says that it is `long`, such as an import, may take.
LONG_SECONDS: Final = 120.0
#: Seconds between two looks at what has waited too long, at most.
_SWEEP: Final = 0.25
_SMALL: Final = frozenset({type(None), bool, int, float})

#: A command's answer, or the error it is answered with
Outcome: TypeAlias = Any
Future: TypeAlias = "asyncio.Future[Any]"

_log = logging.getLogger(__name__)


def _nothing() -> None:
    return


class Done(NamedTuple):
    """What such an operation comes to.

    Parameters
    ----------
    answer
        Given once all is kept.
    then
        Called right before: what this process shall remember of it.
    """

    answer: dict[str, Any]
    then: Callable[[], object] = _nothing


class QueuedCommand(NamedTuple):
    """A command, its number (each is higher than the one before) and when it came."""

    number: int
    #: By `time.monotonic`, which all processes of a machine share
    since: float
    command: Any


class Progress:
    """How far the engine is; readable while it runs, and after it was killed.

    Parameters
    ----------
    memory
        At least `SIZE` bytes, which two processes may share.
    """

    SIZE: Final = 24

    def __init__(self, memory: Any = None) -> None:
        whole = memoryview(bytearray(self.SIZE) if memory is None else memory)
        # Three aligned numbers of eight bytes, each of which is written at once.
        self._numbers = whole[: self.SIZE].cast("d")

    @property
    def begun(self) -> int:
        """The number of the last command that was begun; all before it were begun too."""
        return int(self._numbers[0])

    def begin(self, number: int, deadline: float) -> None:
        """Note that all commands up to a number are begun, and when they should be done."""
        self._numbers[2] = deadline
        self._numbers[0] = number

    def finish(self) -> None:
        """Note that what was begun is done."""
        self._numbers[1] = self._numbers[0]

    def is_stuck(self) -> bool:
        """Whether what was begun should have been done by now."""
        begun, finished, deadline = self._numbers
        return bool(begun > finished and monotonic() > deadline)


class Worker(Protocol):
    """Does commands, in the order in which they are sent."""

    @property
    def progress(self) -> Progress: ...
    def attach(self, queue: "CommandQueue") -> None: ...
    def send(self, command: QueuedCommand) -> None: ...
    def check(self) -> None: ...


class _Waiting(NamedTuple):
    future: Future
    since: float
    size: int
    is_long: bool


class CommandQueue:
    """Hands commands to a worker and answers each of them in time, whatever becomes of the worker.

    A command that was not begun is answered with a StoreError: it was not done, and never will be.
    One that was begun, and whose outcome did not come, is answered with an OutcomeUnknownError.

    Parameters
    ----------
    timeout
        Seconds after which a command is answered, whatever became of it.
    count_error
        Is called with a kind for each command that the worker did not answer: `busy`, `timeout`,
        `unavailable`, `outcome_unknown`.
    """

    def __init__(
        self,
        worker: Worker,
        *,
        timeout: float,
        count_error: Callable[[str], None] = lambda _kind: None,
    ) -> None:
        self._worker, self._timeout, self._count_error = worker, timeout, count_error
        self._waiting: dict[int, _Waiting] = {}
        self._bytes = 0
        self._numbers = count(1)
        self._sweeping: asyncio.AbstractEventLoop | None = None
        worker.attach(self)

    def __len__(self) -> int:
        """Return how many commands are not answered yet."""
        return len(self._waiting)

    def check(self) -> None:
        """Raise StoreError where the engine does not work now."""
        self._worker.check()
        if self._worker.progress.is_stuck():
            raise StoreError("the engine has been at work on one batch for too long")

    async def submit(self, command: Any) -> Any:
        """Return the command's answer once it is kept, or raise its error."""
        if len(self._waiting) >= MAX_COMMANDS or self._bytes >= MAX_BYTES:
            self._count_error("busy")
            raise StoreError("the service is too busy: try again in a moment")
        loop, number, now = asyncio.get_running_loop(), next(self._numbers), monotonic()
        is_long, size = getattr(command, "long", False), approximate_size(command)
        future: Future = loop.create_future()
        self._waiting[number] = _Waiting(future, now, size, is_long)
        self._bytes += size
        try:
            self._worker.send(QueuedCommand(number, now, command))
        except StoreError:
            self._count_error("unavailable")
            self._removed(number)
            raise
        if self._sweeping is not loop:
            self._sweeping = loop
            loop.call_later(self._pause, self._sweep)
        return await future

    def answer(self, outcomes: Sequence[tuple[int, Outcome]]) -> None:
        """Answer those who still wait; call this in their loop."""
        for number, outcome in outcomes:
            entry = self._removed(number)
            if entry is None or entry.future.done():  # it was answered, or whoever waited has gone
                continue
            if isinstance(outcome, BaseException):
                entry.future.set_exception(outcome)
            else:
                entry.future.set_result(outcome)

    def answer_from_thread(self, outcomes: Sequence[tuple[int, Outcome]]) -> None:
        """Answer those who still wait, from any thread."""
        waiting = (self._waiting.get(number) for number, _ in outcomes)
        loops = {entry.future.get_loop() for entry in waiting if entry is not None}
        for loop in loops:  # one, unless a test has several
            try:
                loop.call_soon_threadsafe(self.answer, outcomes)
            except RuntimeError:  # the loop was closed
                _log.warning("%d commands were done, and nobody waited", len(outcomes))

    def lose(self, reason: str) -> None:
        """Answer all that waits: the worker is gone, and will answer nothing."""
        begun = self._worker.progress.begun
        self.answer([(number, self._error(number <= begun, reason)) for number in self._waiting])

    @property
    def _pause(self) -> float:
        return min(_SWEEP, self._timeout / 10)

    def _sweep(self) -> None:
        """Answer what has waited too long, and look again after a while."""
        now, begun = monotonic(), self._worker.progress.begun
        oldest = takewhile(
            lambda waiting: now - waiting[1].since >= self._timeout, self._waiting.items()
        )
        late = [
            (number, number <= begun)
            for number, entry in oldest
            if not (entry.is_long and number <= begun and now - entry.since < LONG_SECONDS)
        ]
        reason = f"no answer came within {self._timeout:g} seconds"
        self.answer([(number, self._error(is_begun, reason)) for number, is_begun in late])
        if self._waiting and self._sweeping is not None:
            self._sweeping.call_later(self._pause, self._sweep)
        else:
            self._sweeping = None

    def _error(self, is_begun: bool, reason: str) -> StoreError:
        if is_begun:
            self._count_error("outcome_unknown")
            return OutcomeUnknownError(f"{reason}: the change may have been made or not")
        self._count_error("timeout")
        return StoreError(f"{reason}, and nothing was begun: try again in a moment")

    def _removed(self, number: int) -> _Waiting | None:
        entry = self._waiting.pop(number, None)
        if entry is not None:
            self._bytes -= entry.size
        return entry


def approximate_size(value: Any) -> int:
    """Return about how many bytes of memory a command, or a value inside one, takes."""
    kind = type(value)
    if kind is str or kind is bytes:
        return 56 + len(value)
    if kind in _SMALL:
        return 32
    if kind is dict:
        both = chain(value.keys(), value.values())
        return 64 + 32 * len(value) + sum(map(approximate_size, both))
    if isinstance(value, (Sequence, Set)):
        return 56 + 8 * len(value) + sum(map(approximate_size, value))
    names = getattr(kind, "__dataclass_fields__", ())
    return 48 + sum(approximate_size(getattr(value, name)) for name in names)


#: Commands in one transaction, at most.
MAX_BATCH: Final = 64
#: Seconds between two looks at what time itself brings about.
TICK: Final = 1.0
#: Seconds that the engine may take to finish what it has when the service stops.
CLOSE_SECONDS: Final = 5.0
#: How many times the seconds of a command a batch may take before the engine counts as stuck.
_STUCK: Final = 3.0


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
