"""The queue in front of the engine, and the loop that executes what waits in it.

The queue is the same whether the engine runs in a thread of this process (`EngineThread`) or in a
process of its own (`variegate.engine.process`).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import nullcontext, suppress
from itertools import chain, count, takewhile
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, sleep
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from variegate.engine.logs import current_request
from variegate.engine.tracing import BatchTracer, TraceHeaders, current_trace
from variegate.errors import OutcomeUnknownError, StoreError

#: Commands that may wait, at most: more would be answered too late anyway.
MAX_COMMANDS: Final = 5000
#: Approximate bytes of the commands that wait; the last one that is accepted may exceed it.
MAX_BYTES: Final = 32 * 2**20
#: Commands in one transaction, at most.
MAX_BATCH: Final = 64
#: Seconds that a command whose class has `long = True`, such as an import, may take.
LONG_SECONDS: Final = 120.0
#: Seconds for which the engine's thread, once two commands came, lets others come into the batch. A
#: transaction costs as much as several commands, and meanwhile the event loop has the interpreter.
GATHER_SECONDS: Final = 0.003
#: Seconds between two calls of `tick`.
TICK: Final = 1.0
#: Seconds that the engine may take to finish its commands when the service stops.
CLOSE_SECONDS: Final = 5.0
#: Seconds between two searches for commands past their deadline, at most.
_SWEEP: Final = 0.25
#: The engine counts as stuck if a batch takes this many times the timeout of a command.
_STUCK: Final = 3.0
_SMALL: Final = frozenset({type(None), bool, int, float})

#: A command's answer, or the error that it is answered with.
Outcome: TypeAlias = Any
Future: TypeAlias = "asyncio.Future[Any]"

_log = logging.getLogger(__name__)


def _do_nothing() -> None:
    return


class CommandResult(NamedTuple):
    """The result of a command that is executed alone, in a transaction of its own.

    Parameters
    ----------
    answer
        Returned to the caller after the commit.
    after_commit
        Called before that, to update the caches of this process.
    """

    answer: dict[str, Any]
    after_commit: Callable[[], object] = _do_nothing


class QueuedCommand(NamedTuple):
    """A command, with its number, which is higher than those of all commands before it."""

    number: int
    #: When it was queued, by `time.monotonic`, which all processes of a machine share
    since: float
    command: Any
    #: The id of the request that it is of, for the log
    request: str = ""
    #: The trace of that request
    trace: TraceHeaders = ()


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
        # Three aligned numbers of eight bytes; each is written atomically.
        self._numbers = whole[: self.SIZE].cast("d")

    @property
    def begun(self) -> int:
        """The number of the last command that was begun; all before it were begun too."""
        return int(self._numbers[0])

    def begin(self, number: int, deadline: float) -> None:
        """Record that all commands up to a number are begun, and when they should be finished."""
        self._numbers[2] = deadline
        self._numbers[0] = number

    def finish(self) -> None:
        """Record that all commands that were begun are finished."""
        self._numbers[1] = self._numbers[0]

    def is_stuck(self) -> bool:
        """Whether commands that were begun should be finished by now."""
        begun, finished, deadline = self._numbers
        return bool(begun > finished and monotonic() > deadline)


class Worker(Protocol):
    """Executes commands in the order in which they are sent."""

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
    """Sends commands to a worker and answers each of them in time, even if the worker dies.

    A command that was not begun is answered with a StoreError: it had no effect, and never will.
    One that was begun, and whose outcome did not arrive, is answered with an OutcomeUnknownError.

    Parameters
    ----------
    timeout
        Seconds after which a command is answered, whatever its outcome.
    count_error
        Called with a kind for each command that the worker did not answer: `busy`, `timeout`,
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
        """Raise StoreError if the engine does not work."""
        self._worker.check()
        if self._worker.progress.is_stuck():
            raise StoreError("the engine has been at work on one batch for too long")

    async def submit(self, command: Any) -> Any:
        """Return the command's answer after the commit, or raise its error."""
        if len(self._waiting) >= MAX_COMMANDS or self._bytes >= MAX_BYTES:
            self._count_error("busy")
            raise StoreError("the service is too busy: try again in a moment")
        loop, number, now = asyncio.get_running_loop(), next(self._numbers), monotonic()
        is_long, size = getattr(command, "long", False), approximate_size(command)
        future: Future = loop.create_future()
        self._waiting[number] = _Waiting(future, now, size, is_long)
        self._bytes += size
        try:
            request, trace = current_request.get(), current_trace.get()
            self._worker.send(QueuedCommand(number, now, command, request, trace))
        except StoreError:
            self._count_error("unavailable")
            self._remove(number)
            raise
        if self._sweeping is not loop:
            self._sweeping = loop
            loop.call_later(self._pause, self._sweep)
        return await future

    def answer(self, outcomes: Sequence[tuple[int, Outcome]]) -> None:
        """Answer the commands that still wait; call this in their event loop."""
        for number, outcome in outcomes:
            entry = self._remove(number)
            if entry is None or entry.future.done():  # answered already, or cancelled
                continue
            if isinstance(outcome, BaseException):
                entry.future.set_exception(outcome)
            else:
                entry.future.set_result(outcome)

    def answer_from_thread(self, outcomes: Sequence[tuple[int, Outcome]]) -> None:
        """Answer the commands that still wait, from any thread."""
        waiting = (self._waiting.get(number) for number, _ in outcomes)
        loops = {entry.future.get_loop() for entry in waiting if entry is not None}
        for loop in loops:  # one, except in tests
            try:
                loop.call_soon_threadsafe(self.answer, outcomes)
            except RuntimeError:  # the loop was closed
                _log.warning("%d commands were executed, and nobody waited", len(outcomes))

    def fail_all(self, reason: str) -> None:
        """Answer all commands that wait with an error: the worker is gone."""
        begun = self._worker.progress.begun
        self.answer([(number, self._error(number <= begun, reason)) for number in self._waiting])

    @property
    def _pause(self) -> float:
        return min(_SWEEP, self._timeout / 10)

    def _sweep(self) -> None:
        """Answer the commands past their deadline, and repeat that after a while."""
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

    def _remove(self, number: int) -> _Waiting | None:
        entry = self._waiting.pop(number, None)
        if entry is not None:
            self._bytes -= entry.size
        return entry


def approximate_size(value: Any) -> int:
    """Return approximately how many bytes of memory a command, or a value inside one, takes."""
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


class Channel(Protocol):
    """Where the loop receives commands and sends outcomes."""

    def receive(self, seconds: float) -> list[QueuedCommand] | None:
        """Return new commands, waiting up to `seconds`; None when no more will come."""

    def answer(self, outcomes: list[tuple[int, Outcome]]) -> None:
        """Send outcomes, by the numbers of the commands."""


class BatchLoop:
    """Executes waiting commands in batches, and calls `tick` in between; it raises nothing.

    Parameters
    ----------
    execute
        Executes commands in one transaction; returns an outcome for each, an error where one was
        refused. If it raises, none had an effect, or the error says that this is not known.
    tick
        Called every `TICK` seconds; returns whether there is more to do, which then alternates
        with new commands.
    timeout
        Seconds after which a command that still waits is no longer begun.
    progress
        Where to record what was begun.
    tracer
        Makes spans of the batches; None: nothing is traced.
    """

    def __init__(
        self,
        execute: Callable[[Sequence[Any]], Sequence[Outcome]],
        tick: Callable[[], bool],
        *,
        timeout: float,
        progress: Progress | None = None,
        tracer: BatchTracer | None = None,
    ) -> None:
        self._execute, self._tick, self._timeout = execute, tick, timeout
        self._tracer = tracer
        self.progress: Final = progress or Progress()
        self._ticked, self._has_more = monotonic(), False

    def run(self, channel: Channel) -> None:
        """Run until no more commands will come, and all that came are executed."""
        waiting, is_open = deque[QueuedCommand](), True
        while is_open or waiting:
            if is_open:
                commands = channel.receive(0.0 if waiting or self._has_more else TICK)
                is_open = commands is not None
                waiting.extend(commands or ())
            batch = [waiting.popleft() for _ in range(min(len(waiting), MAX_BATCH))]
            for group in _groups(batch):
                channel.answer(list(self._outcomes(group)))
            self._tick_if_due()

    def _outcomes(self, group: list[QueuedCommand]) -> Iterator[tuple[int, Outcome]]:
        is_long = getattr(group[0].command, "long", False)
        seconds = LONG_SECONDS if is_long else _STUCK * self._timeout
        # Recorded before the clock is read: a command that the queue finds past its deadline and
        # not begun will never be begun.
        self.progress.begin(group[-1].number, monotonic() + seconds)
        now = monotonic()
        begun = [one for one in group if now - one.since < self._timeout]
        # Whatever is logged meanwhile, here or in the store, is of these requests.
        current_request.set(",".join(dict.fromkeys(one.request for one in begun if one.request)))
        outcomes = self._execute_group(begun) if begun else []
        self.progress.finish()
        late = StoreError("the service is too busy: try again in a moment")
        yield from ((one.number, late) for one in group if now - one.since >= self._timeout)
        yield from zip((one.number for one in begun), outcomes, strict=True)

    def _execute_group(self, group: list[QueuedCommand]) -> Sequence[Outcome]:
        try:
            with nullcontext() if self._tracer is None else self._tracer.batch(group):
                return self._execute([one.command for one in group])
        except StoreError as error:
            return [error] * len(group)
        except Exception as error:  # a bug: it must not cost the other commands their answers
            if len(group) == 1:
                return [error]
            _log.exception("a batch of %d failed: each is tried alone", len(group))
            return [self._execute_group([one])[0] for one in group]

    def _tick_if_due(self) -> None:
        if not self._has_more and monotonic() - self._ticked <= TICK:
            return
        self._has_more = False
        current_request.set("")
        try:
            self._has_more = self._tick()
        except StoreError as error:
            _log.warning("the store is not available: %s", error)
        except Exception:
            _log.exception("closing slates past their deadline failed; it is tried again")
        self._ticked = monotonic()


def _groups(batch: Sequence[QueuedCommand]) -> list[list[QueuedCommand]]:
    """Return the commands in order, those that are executed alone in groups of one."""
    groups: list[list[QueuedCommand]] = []
    is_shared = False
    for one in batch:
        is_alone = getattr(one.command, "alone", False)
        if is_shared and not is_alone:
            groups[-1].append(one)
        else:
            groups.append([one])
        is_shared = not is_alone
    return groups


class EngineThread:
    """Runs a `BatchLoop` in a thread of this process; it is a `Worker` and a `Channel`."""

    def __init__(self, loop: BatchLoop) -> None:
        self._loop = loop
        self._commands: SimpleQueue[QueuedCommand | None] = SimpleQueue()
        self._thread = Thread(target=loop.run, args=(self,), name="variegate-engine", daemon=True)
        self._is_stopping = False
        self._queue: CommandQueue | None = None

    @property
    def progress(self) -> Progress:
        """How far the loop is."""
        return self._loop.progress

    def attach(self, queue: CommandQueue) -> None:
        """Send outcomes to a queue."""
        self._queue = queue

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Execute what waits, and end; a store that hangs is not waited for."""
        self._is_stopping = True
        self._commands.put(None)
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            _log.error("the engine was still at work after %g seconds", CLOSE_SECONDS)

    def check(self) -> None:
        """Raise StoreError if no more commands are accepted."""
        if self._is_stopping:
            raise StoreError("the service is stopping: try again in a moment")

    def send(self, command: QueuedCommand) -> None:
        """Let the thread execute a command."""
        self.check()
        self._commands.put(command)

    def receive(self, seconds: float) -> list[QueuedCommand] | None:
        """Return new commands; see `Channel`."""
        commands, is_open = self._take(seconds)
        if is_open and len(commands) > 1:
            sleep(GATHER_SECONDS)
            more, is_open = self._take(0.0)
            commands += more
        if not is_open:
            self._commands.put(None)  # for the next call, if nothing comes before it
        return commands if is_open else commands or None

    def _take(self, seconds: float) -> tuple[list[QueuedCommand], bool]:
        """Return the commands that wait, or come in time, and whether more can come."""
        commands: list[QueuedCommand] = []
        with suppress(Empty):
            one = self._commands.get(timeout=seconds) if seconds else self._commands.get_nowait()
            while one is not None:
                commands.append(one)
                one = self._commands.get_nowait()
            return commands, False
        return commands, True

    def answer(self, outcomes: list[tuple[int, Outcome]]) -> None:
        """Send outcomes to the queue; see `Channel`."""
        if self._queue is not None:
            self._queue.answer_from_thread(outcomes)
