"""The queue in front of the engine: what waits, for how long, and what it is answered.

One queue, whichever way the engine runs: in a thread of this process (`EngineThread`) or in a
process of its own (`variegate.engine.process`).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence, Set
from itertools import chain, count, takewhile
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
