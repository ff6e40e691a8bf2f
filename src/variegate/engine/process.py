"""The engine in a process of its own, as the process that speaks HTTP sees it.

Python runs one thread of a process at a time, so lists and HTTP in one process share one core. What
is known of users is in the store alone: the engine process can be lost at any moment, as the whole
service can, and another is started in its place.
"""

import asyncio
import gc
import logging
import mmap
import os
import pickle
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Any, Final, cast

from variegate.engine.queue import CLOSE_SECONDS, CommandQueue, Progress, QueuedCommand
from variegate.engine.settings import Settings
from variegate.errors import InputError, StoreError, VariegateError

_LENGTH: Final = struct.Struct("<I")


def encode_frame(message: Any) -> bytes:
    """Return a message as it goes over the wire."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Puts together what comes in pieces."""

    def __init__(self) -> None:
        self._received = bytearray()

    def fed(self, data: bytes) -> Iterator[Any]:
        """Give the messages that are whole by now."""
        received = self._received
        received += data
        at = 0
        while len(received) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(received, at)
            start, end = at + _LENGTH.size, at + _LENGTH.size + length
            if len(received) < end:
                break
            yield pickle.loads(bytes(received[start:end]))  # noqa: S301 - of our own making
            at = end
        del received[:at]


#: Seconds between two heartbeats of an engine process.
BEAT: Final = 0.5
#: Seconds without a heartbeat after which an engine process is killed, where `timeout_seconds` is
#: twice that or more.
HUNG_SECONDS: Final = 5.0
#: Seconds without a heartbeat after which one that is not ready yet is given up: importing and
#: compiling take long on a busy machine.
_START_SECONDS: Final = 60.0
#: Seconds between two tries to start one.
_PAUSE: Final = 1.0
#: Heartbeats for which a batch must be overdue, so that a service that was stopped and goes on has
#: time to finish it.
_OVERDUE: Final = 4
_MODULE: Final = "variegate.engine.process_main"

_log = logging.getLogger(__name__)


def uses_engine_process(settings: Settings) -> bool:
    """Whether the engine gets a process: as the settings say, or where cores would be idle."""
    if os.name != "posix":
        if settings.engine_process:
            raise InputError("`engine_process` must not be true here: sockets cannot be inherited")
        return False
    if settings.engine_process is None:
        return cores() >= 2 * settings.workers
    return settings.engine_process


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class EngineProcess:
    """A process that was started with one end of a pair of sockets; closing ours ends it."""

    def __init__(self, settings: Settings) -> None:
        self.front, back = socket.socketpair()
        with back, tempfile.TemporaryFile() as shared:
            shared.truncate(Progress.SIZE)
            self.progress: Final = Progress(mmap.mmap(shared.fileno(), Progress.SIZE))
            handed = back.fileno(), shared.fileno()
            self._process = subprocess.Popen(  # noqa: S603 - of our own making
                [sys.executable, "-m", _MODULE, *map(str, handed)],
                pass_fds=handed,
                stdin=subprocess.DEVNULL,
                # Whoever reads what the service prints waits for its end, not for this one's.
                stdout=subprocess.DEVNULL,
            )
        # Through the socket, for they may hold a password: others see a command and its
        # environment.
        self.front.sendall(settings.model_dump_json().encode() + b"\n")
        self.front.setblocking(False)

    def kill(self) -> None:
        """End it at once, even where it is stopped."""
        self._process.kill()

    async def end(self, seconds: float) -> int | None:
        """Let it finish what it has within so many seconds, and return its exit code."""
        with suppress(OSError):  # it may be closed already
            self.front.shutdown(socket.SHUT_WR)
        deadline = monotonic() + seconds
        while self._process.poll() is None and monotonic() < deadline:
            await asyncio.sleep(0.01)
        if self._process.poll() is None:
            self.kill()
            while self._process.poll() is None:
                await asyncio.sleep(0.01)
        return self._process.returncode


class EngineProxy:
    """Sends commands to an engine process, and starts another where one is lost or hangs.

    Parameters
    ----------
    observe
        Is called with what the engine observed; see `Executor`.
    count_restart
        Is called with a reason, `hung` or `ended`, when an engine process is replaced.
    """

    def __init__(
        self,
        settings: Settings,
        observe: Callable[[str, float], None],
        count_restart: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        self._settings, self._observe, self._count_restart = settings, observe, count_restart
        #: Heartbeats that may be missing
        self._missing = max(2, round(min(HUNG_SECONDS, settings.timeout_seconds / 2) / BEAT))
        self._process: EngineProcess | None = None
        self._line: _Line | None = None
        self._queue: CommandQueue | None = None
        self._tending: asyncio.Task[None] | None = None

    @property
    def progress(self) -> Progress:
        """What the engine has begun."""
        return Progress() if self._process is None else self._process.progress

    def attach(self, queue: CommandQueue) -> None:
        """Let a queue have the outcomes."""
        self._queue = queue

    def begin(self) -> None:
        """Start the process, which takes a second or two to get ready; `open` waits for it."""
        self._process = EngineProcess(self._settings)

    async def open(self) -> None:
        """Return when the engine is ready, or raise why it cannot be."""
        if self._process is None:
            self.begin()
        try:
            line = await self._connect()
        except BaseException:
            await self._end(0.0)
            raise
        self._tending = asyncio.create_task(self._tend(line))

    def abandon(self) -> None:
        """Leave a process that was begun to itself: it ends."""
        if self._process is not None:
            self._process.front.close()

    async def close(self) -> None:
        """Let the engine finish what it has, and end it."""
        if self._tending is not None:
            self._tending.cancel()
        is_ready, self._line = self._line is not None, None
        await self._end(CLOSE_SECONDS if is_ready else 0.0)

    def check(self) -> None:
        """Raise StoreError while no engine answers."""
        if self._line is None:
            raise StoreError("the engine is being started: try again in a moment")
        if self._line.silent > max(2, self._missing // 2):
            raise StoreError("the engine does not answer: try again in a moment")

    def send(self, command: QueuedCommand) -> None:
        """Let the engine do a command."""
        if self._line is None:
            raise StoreError("the engine is being started: try again in a moment")
        self._line.send(command)

    async def _connect(self) -> "_Line":
        """Wait for the engine to be ready."""
        line = _Line(self._answered)
        await asyncio.get_running_loop().create_connection(
            lambda: line, sock=cast(EngineProcess, self._process).front
        )
        while not line.ready.done():
            if line.silent * BEAT > _START_SECONDS:
                raise StoreError(f"the engine did not start within {_START_SECONDS:g} seconds")
            await asyncio.wait({line.ready}, timeout=BEAT)
            line.silent += 1
        line.ready.result()
        self._line = line
        return line

    async def _tend(self, line: "_Line") -> None:
        """Start another process whenever one is lost."""
        while True:
            reason = await self._watched(line)
            # Before anything is awaited: who asks from here on is told at once.
            self._line = None
            if self._queue is not None:
                self._queue.lose("the engine was lost")
            code = await self._end(0.0)
            self._count_restart(reason)
            _log.error("the engine process %s (code %s): another is started", reason, code)
            line = await self._restarted()

    async def _watched(self, line: "_Line") -> str:
        """Return why an engine process must be replaced, once it must."""
        overdue = 0
        while True:
            await asyncio.wait({line.lost}, timeout=BEAT)
            if line.lost.done():
                return "ended"
            # Beats are counted, not seconds: a service that was stopped as a whole, and goes on,
            # has missed one.
            line.silent += 1
            overdue = overdue + 1 if self.progress.is_stuck() else 0
            if line.silent > self._missing or overdue > _OVERDUE:
                return "hung"

    async def _restarted(self) -> "_Line":
        while True:
            try:
                self.begin()
                return await self._connect()
            except (VariegateError, OSError) as error:
                _log.warning("the engine process cannot start: %s", error)
                await self._end(0.0)
                await asyncio.sleep(_PAUSE)

    async def _end(self, seconds: float) -> int | None:
        process, self._process = self._process, None
        return None if process is None else await process.end(seconds)

    def _answered(self, message: Any) -> None:
        outcomes, observed = message
        if self._queue is not None:
            self._queue.answer(outcomes)
        for name, value in observed:
            self._observe(name, value)


class _Line(asyncio.Protocol):
    """The socket to one engine process."""

    def __init__(self, answered: Callable[[Any], None]) -> None:
        loop = asyncio.get_running_loop()
        self._answered, self._frames = answered, Frames()
        self._transport: asyncio.Transport | None = None
        #: Heartbeats since anything came
        self.silent = 0
        #: Done when the engine says that it is ready, or why it cannot be
        self.ready: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()

    def send(self, message: Any) -> None:
        """Send a message, or raise StoreError where nobody would get it."""
        transport = cast(asyncio.Transport, self._transport)
        if transport.is_closing():
            raise StoreError("the engine was lost: try again in a moment")
        transport.write(encode_frame(message))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.silent = 0
        for message in self._frames.fed(data):
            if isinstance(message, tuple):
                self._answered(message)
            elif self.ready.done():
                continue  # whoever waited has given up
            elif isinstance(message, VariegateError):
                self.ready.set_exception(message)
            else:
                self.ready.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self.ready.done():
            why = StoreError("the engine process ended before it was ready")
            self.ready.set_exception(why)
        if not self.lost.done():
            self.lost.set_result(None)


#: Python's own 700 are made by two dozen requests.
_OBJECTS_UNTIL_COLLECTED: Final = 20_000


def freeze_startup_objects() -> None:
    """Take all that was made so far out of the sight of the garbage collector.

    It is there until the process ends: looking at it again and again finds nothing, and took some
    20 microseconds of each request.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_UNTIL_COLLECTED)
