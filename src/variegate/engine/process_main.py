"""The engine's process: ``python -m variegate.engine.process_main SOCKET MEMORY``.

`variegate.engine.process` runs it with two file descriptors: a socket, through which settings
and commands come and outcomes go, and memory in which to note what was begun.
"""

import logging
import mmap
import os
import select
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, Final

from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.executor import Executor
from variegate.engine.factory import (
    create_experiment,
    create_replica,
    create_rules,
    load_catalogue,
    open_store,
    warm_policies,
)
from variegate.engine.logs import configure_logs
from variegate.engine.process import BEAT, Frames, encode_frame, freeze_startup_objects
from variegate.engine.queue import MAX_BATCH, BatchLoop, Outcome, Progress, QueuedCommand
from variegate.engine.replicas import Replica
from variegate.engine.settings import Settings
from variegate.errors import VariegateError
from variegate.store import Store

#: Bytes read at a time.
_PIECE: Final = 2**20

_log = logging.getLogger(__name__)


class MetricsBuffer:
    """What was observed and not sent yet: the metrics are kept where they are asked for."""

    def __init__(self) -> None:
        self._observed: deque[tuple[str, float]] = deque()

    def observe(self, name: str, value: float) -> None:
        """Note a number; see `Executor`."""
        self._observed.append((name, value))

    def take(self) -> list[tuple[str, float]]:
        """Return what was observed since this was called last."""
        return [self._observed.popleft() for _ in range(len(self._observed))]


class SocketChannel:
    """Commands and outcomes through a socket; see `batch_loop.Channel`."""

    def __init__(self, front: socket.socket, metrics: MetricsBuffer) -> None:
        self._front, self._metrics, self._frames = front, metrics, Frames()
        self._sending, self._ended = Lock(), Event()

    def receive(self, seconds: float) -> list[QueuedCommand] | None:
        """Return what came; None when the other end is closed."""
        if not select.select([self._front], [], [], seconds)[0]:
            return []
        try:
            data = self._front.recv(_PIECE)
        except ConnectionResetError:  # whoever waited was killed
            data = b""
        return list(self._frames.fed(data)) if data else None

    def answer(self, outcomes: list[tuple[int, Outcome]]) -> None:
        """Send outcomes to the front, and what was observed."""
        self.send(([(number, _sendable(one)) for number, one in outcomes], self._metrics.take()))

    def send(self, message: Any) -> None:
        """Send a message, if anybody is still there: what was done stays done."""
        with suppress(OSError), self._sending:
            self._front.sendall(encode_frame(message))

    def beat(self) -> None:
        """Say from a thread of its own, again and again, that this process runs."""
        while not self._ended.wait(BEAT):
            self.answer([])

    def end(self) -> None:
        """Send no heartbeat any more."""
        self._ended.set()


def main() -> None:
    """Do what comes through the socket that was handed down, by the settings in its first line."""
    # Who stops the service may mean all of its processes: what is under way is finished first, and
    # the front closes the socket then.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as front:
        progress = Progress(mmap.mmap(int(sys.argv[2]), Progress.SIZE))
        os.close(int(sys.argv[2]))
        settings = Settings.model_validate_json(_first_line(front))
        configure_logs(settings.log_level, settings.log_format)
        metrics = MetricsBuffer()
        channel = SocketChannel(front, metrics)
        Thread(target=channel.beat, name="variegate-heartbeat", daemon=True).start()
        try:
            with (
                open_store(settings, metrics.observe) as store,
                create_replica(settings, store) as replica,
            ):
                loop = _loop(settings, store, replica, progress, metrics.observe)
                freeze_startup_objects()
                channel.send(None)
                loop.run(channel)
        except VariegateError as error:
            channel.send(error)
        finally:
            channel.end()


def _loop(
    settings: Settings,
    store: Store,
    replica: Replica,
    progress: Progress,
    observe: Callable[[str, float], None],
) -> BatchLoop:
    catalogue, experiment = load_catalogue(settings), create_experiment(settings)
    warm_policies(experiment, catalogue)
    live = LiveCatalogue(catalogue)
    with store.batch() as batch:
        live.bind(batch)
        live.as_of(batch)
    rules = create_rules(settings)
    executor = Executor(store, live, experiment, rules, observe=observe, replica=replica)
    return BatchLoop(
        executor,
        lambda: executor.close_due(MAX_BATCH) == MAX_BATCH,
        timeout=settings.timeout_seconds,
        progress=progress,
    )


def _sendable(outcome: Outcome) -> Any:
    """Return an outcome that can be put together again in another process."""
    if not isinstance(outcome, BaseException) or isinstance(outcome, VariegateError):
        return outcome
    _log.error("a command failed", exc_info=outcome)
    return RuntimeError(f"{type(outcome).__name__}: {outcome}")


def _first_line(front: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = front.recv(4096)
        if not piece:
            raise SystemExit(0)  # nobody is there
        line += piece
    return line


if __name__ == "__main__":
    main()
