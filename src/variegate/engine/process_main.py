"""The engine's process.

`variegate.engine.process` runs it with two file descriptors: a socket, for settings, commands and
outcomes, and shared memory for the `Progress`.
"""

import logging
import mmap
import os
import select
import signal
import socket
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from time import sleep
from typing import Any, Final

from variegate.engine.factory import (
    create_executor,
    create_replica,
    load_catalogue,
    open_store,
    warm_policies,
)
from variegate.engine.logs import configure_logs
from variegate.engine.process import BEAT, FrameDecoder, encode_frame, freeze_startup_objects
from variegate.engine.queue import BatchLoop, Outcome, Progress, QueuedCommand
from variegate.engine.settings import Settings
from variegate.engine.tracing import BatchTracer, close_tracing, open_tracing
from variegate.errors import VariegateError

#: Bytes read at a time.
_PIECE: Final = 2**20

_log = logging.getLogger(__name__)


class SocketChannel:
    """Commands and outcomes through a socket; see `queue.Channel`."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket, self._decoder, self._sending = connection, FrameDecoder(), Lock()
        #: Metrics that are not sent yet; the process that answers HTTP has the counters.
        self._observed: deque[tuple[str, float]] = deque()

    def observe(self, name: str, value: float) -> None:
        """Send a metric with the next outcomes; see `Executor`."""
        self._observed.append((name, value))

    def receive(self, seconds: float) -> list[QueuedCommand] | None:
        """Return new commands; None when the other end is closed."""
        if not select.select([self._socket], [], [], seconds)[0]:
            return []
        try:
            data = self._socket.recv(_PIECE)
        except ConnectionResetError:  # the other process was killed
            data = b""
        return [QueuedCommand(*one) for one in self._decoder.feed(data)] if data else None

    def answer(self, outcomes: list[tuple[int, Outcome]]) -> None:
        """Send outcomes and metrics."""
        observed = [self._observed.popleft() for _ in range(len(self._observed))]
        self.send(([(number, _sendable(one)) for number, one in outcomes], observed))

    def send(self, message: Any) -> None:
        """Send a message, unless the other process is gone: commits stay."""
        with suppress(OSError), self._sending:
            self._socket.sendall(encode_frame(message))

    def beat(self) -> None:
        """Send heartbeats until the process ends; call this in a thread."""
        while True:
            sleep(BEAT)
            self.answer([])


def main() -> None:
    """Execute the commands that come through the inherited socket, after the settings."""
    # A signal may go to all processes of the service: this one finishes what it has begun, and ends
    # when the other closes the socket.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        progress = Progress(mmap.mmap(int(sys.argv[2]), Progress.SIZE))
        os.close(int(sys.argv[2]))
        settings = Settings.model_validate_json(_first_line(connection))
        configure_logs(settings.log_level, settings.log_format)
        channel = SocketChannel(connection)
        Thread(target=channel.beat, name="variegate-heartbeat", daemon=True).start()
        try:
            with (
                _batch_tracer(settings) as tracer,
                open_store(settings, channel.observe) as store,
                create_replica(settings, store) as replica,
            ):
                catalogue = load_catalogue(settings)
                warm_policies(settings, catalogue)
                observe = channel.observe if tracer is None else tracer.observing(channel.observe)
                executor = create_executor(settings, catalogue, store, observe, replica)
                loop = BatchLoop(
                    executor,
                    executor.close_due,
                    timeout=settings.timeout_seconds,
                    progress=progress,
                    tracer=tracer,
                )
                freeze_startup_objects()
                channel.send(None)
                loop.run(channel)
        except VariegateError as error:
            channel.send(error)


@contextmanager
def _batch_tracer(settings: Settings) -> Iterator[BatchTracer | None]:
    """Give what makes spans, if the settings say so, and send the last ones in the end."""
    if not settings.traces:
        yield None
        return
    provider = open_tracing()
    try:
        yield BatchTracer(provider)
    finally:
        close_tracing(provider)


def _sendable(outcome: Outcome) -> Any:
    """Return an outcome that can be unpickled in the other process."""
    if not isinstance(outcome, BaseException) or isinstance(outcome, VariegateError):
        return outcome
    _log.error("a command failed", exc_info=outcome)
    return RuntimeError(f"{type(outcome).__name__}: {outcome}")


def _first_line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = connection.recv(4096)
        if not piece:
            raise SystemExit(0)  # the other process is gone
        line += piece
    return line
