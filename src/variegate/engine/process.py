"""The engine in a process of its own, as seen by the process that answers HTTP requests.

Python executes one thread per process at a time, so recommending and HTTP in one process share one
core. Users' data are in the store only: an engine process can die at any moment, as the whole
service can, and is replaced by another.
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

#: Seconds between two heartbeats of an engine process.
BEAT: Final = 0.5
#: Seconds without a heartbeat after which an engine process is killed; half of `timeout_seconds`,
#: if that is less.
HUNG_SECONDS: Final = 5.0
#: The same before it is ready: importing and compiling take long on a busy machine.
_START_SECONDS: Final = 60.0
#: Seconds between two attempts to start an engine process.
_PAUSE: Final = 1.0
#: Heartbeats for which a batch must be overdue: a service that was suspended and resumes has time
#: to finish it.
_OVERDUE: Final = 4
#: Garbage is not collected while it starts, which takes a fifth less time.
_PROGRAM: Final = "import gc; gc.disable(); from variegate.engine.process_main import main; main()"
#: Python's own 700 are created by two dozen requests.
_OBJECTS_UNTIL_COLLECTED: Final = 20_000
_LENGTH: Final = struct.Struct("<I")

_log = logging.getLogger(__name__)


def uses_engine_process(settings: Settings) -> bool:
    """Whether the engine gets a process: as set, by default where cores would be idle."""
    if os.name != "posix":
        if settings.engine_process:
            raise InputError("`engine_process` must not be true here: sockets cannot be inherited")
        return False
    if settings.engine_process is None:
        return available_cores() >= 2 * settings.workers
    return settings.engine_process


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def freeze_startup_objects() -> None:
    """Exclude all present objects from garbage collection, and enable it.

    They live until the process ends: scanning them took about 20 microseconds of each request.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_UNTIL_COLLECTED)
    gc.enable()


def encode_frame(message: Any) -> bytes:
    """Return a message as sent through the socket: a length, then a pickle.

    Only processes of one service have the socket, so that the reader can trust what it unpickles.
    """
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


class FrameDecoder:
    """Decodes messages from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """Yield the messages that are complete."""
        received = self._received
        received += data
        at = 0
        while len(received) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(received, at)
            start, end = at + _LENGTH.size, at + _LENGTH.size + length
            if len(received) < end:
                break
            yield pickle.loads(bytes(received[start:end]))  # noqa: S301 - see `encode_frame`
            at = end
        del received[:at]


class EngineProcess:
    """A child process with one end of a socket pair; closing the other end stops it."""

    def __init__(self, settings: Settings) -> None:
        self.socket, child_socket = socket.socketpair()
        with child_socket, tempfile.TemporaryFile() as shared:
            shared.truncate(Progress.SIZE)
            self.progress: Final = Progress(mmap.mmap(shared.fileno(), Progress.SIZE))
            inherited = child_socket.fileno(), shared.fileno()
            self._process = subprocess.Popen(  # noqa: S603 - no text from outside
                [sys.executable, "-c", _PROGRAM, *map(str, inherited)],
                pass_fds=inherited,
                stdin=subprocess.DEVNULL,
                # A reader of the service's output waits for the service's end, not for this one's.
                stdout=subprocess.DEVNULL,
            )
        # Through the socket: the settings may have a password, and other users of the machine can
        # read a process's arguments and environment.
        self.socket.sendall(settings.model_dump_json().encode() + b"\n")
        self.socket.setblocking(False)

    async def end(self, seconds: float) -> int | None:
        """Let it finish its commands for `seconds`, then kill it; return the exit code."""
        with suppress(OSError):  # the socket may be closed already
            self.socket.shutdown(socket.SHUT_WR)
        deadline = monotonic() + seconds
        while self._process.poll() is None and monotonic() < deadline:
            await asyncio.sleep(0.01)
        if self._process.poll() is None:
            self._process.kill()  # works on a suspended process too
            while self._process.poll() is None:
                await asyncio.sleep(0.01)
        return self._process.returncode


class EngineProxy:
    """Sends commands to an engine process, and replaces it when it ends or hangs.

    Parameters
    ----------
    observe
        Called with the metrics of the engine process; see `Executor`.
    count_restart
        Called with a reason, `hung` or `ended`, when an engine process is replaced.
    """

    def __init__(
        self,
        settings: Settings,
        observe: Callable[[str, float], None],
        count_restart: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        self._settings, self._observe, self._count_restart = settings, observe, count_restart
        #: Heartbeats that may be missed
        self._max_missed = max(2, round(min(HUNG_SECONDS, settings.timeout_seconds / 2) / BEAT))
        self._process: EngineProcess | None = None
        self._connection: _Connection | None = None
        self._queue: CommandQueue | None = None
        self._supervisor: asyncio.Task[None] | None = None

    @property
    def progress(self) -> Progress:
        """How far the engine is."""
        return Progress() if self._process is None else self._process.progress

    def attach(self, queue: CommandQueue) -> None:
        """Send outcomes to a queue."""
        self._queue = queue

    def begin(self) -> None:
        """Start the process, which takes a second or two until it is ready; `open` waits for it."""
        self._process = EngineProcess(self._settings)

    async def open(self) -> None:
        """Wait until the engine is ready, or raise the error that it failed with."""
        if self._process is None:
            self.begin()
        try:
            connection = await self._connect()
        except BaseException:
            await self._end(0.0)
            raise
        self._supervisor = asyncio.create_task(self._supervise(connection))

    def abandon(self) -> None:
        """Close the socket to a process that was begun, which ends it."""
        if self._process is not None:
            self._process.socket.close()

    async def close(self) -> None:
        """Let the engine finish its commands, and end it."""
        if self._supervisor is not None:
            self._supervisor.cancel()
        is_ready, self._connection = self._connection is not None, None
        await self._end(CLOSE_SECONDS if is_ready else 0.0)

    def check(self) -> None:
        """Raise StoreError while no engine answers."""
        if self._connection is None:
            raise StoreError("the engine is being started: try again in a moment")
        if self._connection.silent > max(2, self._max_missed // 2):
            raise StoreError("the engine does not answer: try again in a moment")

    def send(self, command: QueuedCommand) -> None:
        """Send a command to the engine."""
        if self._connection is None:
            raise StoreError("the engine is being started: try again in a moment")
        # A plain tuple takes a third of the time to send.
        self._connection.send(tuple(command))

    async def _connect(self) -> "_Connection":
        """Return the connection to the engine, once it is ready."""
        connection = _Connection(self._handle_answers)
        await asyncio.get_running_loop().create_connection(
            lambda: connection, sock=cast(EngineProcess, self._process).socket
        )
        while not connection.ready.done():
            if connection.silent * BEAT > _START_SECONDS:
                raise StoreError(f"the engine did not start within {_START_SECONDS:g} seconds")
            await asyncio.wait({connection.ready}, timeout=BEAT)
            connection.silent += 1
        connection.ready.result()
        self._connection = connection
        return connection

    async def _supervise(self, connection: "_Connection") -> None:
        """Start another process whenever one ends or hangs."""
        while True:
            reason = await self._wait_for_failure(connection)
            # Before anything is awaited: commands from here on are refused at once.
            self._connection = None
            if self._queue is not None:
                self._queue.fail_all("the engine was lost")
            code = await self._end(0.0)
            self._count_restart(reason)
            _log.error("the engine process %s (code %s): another is started", reason, code)
            connection = await self._restart()

    async def _wait_for_failure(self, connection: "_Connection") -> str:
        """Wait until an engine process must be replaced; return why."""
        overdue = 0
        while True:
            await asyncio.wait({connection.lost}, timeout=BEAT)
            if connection.lost.done():
                return "ended"
            # Beats are counted, not seconds: a service that was suspended as a whole and resumes
            # has missed one.
            connection.silent += 1
            overdue = overdue + 1 if self.progress.is_stuck() else 0
            if connection.silent > self._max_missed or overdue > _OVERDUE:
                return "hung"

    async def _restart(self) -> "_Connection":
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

    def _handle_answers(self, message: Any) -> None:
        outcomes, observed = message
        if self._queue is not None:
            self._queue.answer(outcomes)
        for name, value in observed:
            self._observe(name, value)


class _Connection(asyncio.Protocol):
    """The socket to an engine process."""

    def __init__(self, handle: Callable[[Any], None]) -> None:
        loop = asyncio.get_running_loop()
        self._handle, self._decoder = handle, FrameDecoder()
        self._transport: asyncio.Transport | None = None
        #: Heartbeats since anything was received
        self.silent = 0
        #: Done when the engine reports that it is ready, or an error
        self.ready: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()

    def send(self, message: Any) -> None:
        """Send a message, or raise StoreError if the connection is closed."""
        transport = cast(asyncio.Transport, self._transport)
        if transport.is_closing():
            raise StoreError("the engine was lost: try again in a moment")
        transport.write(encode_frame(message))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.silent = 0
        for message in self._decoder.feed(data):
            if isinstance(message, tuple):
                self._handle(message)
            elif self.ready.done():
                continue  # the start timed out
            elif isinstance(message, VariegateError):
                self.ready.set_exception(message)
            else:
                self.ready.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ready.done():
            why = StoreError("the engine process ended before it was ready")
            self.ready.set_exception(why)
        if not self.lost.done():
            self.lost.set_result(None)
