"""A service in processes of its own, which can be killed at any moment."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

from variegate.engine.settings import Settings
from variegate.errors import StoreError

#: Seconds to start, and to finish requests in progress after SIGTERM.
_TIMEOUT: Final = 60.0

# A process that has everything imported makes the others by forking: back in a fraction of the
# time, so that the same minute has ten times as many kills.
_processes = get_context("forkserver")
_processes.set_forkserver_preload(["tools.soak.preload"])


class Process:
    """A service that answers, until it is killed or stopped.

    Parameters
    ----------
    settings
        Of the service.
    folder
        For what it leaves lying about when it is killed.
    """

    def __init__(self, settings: Settings, folder: str) -> None:
        begun = perf_counter()
        receiving, sending = _processes.Pipe(duplex=False)
        handed = settings.model_dump_json(), folder, sending
        self._process = _processes.Process(target=_serve, args=handed)
        self._process.start()
        sending.close()
        with receiving:
            try:
                # Whoever ends without a word closes the pipe, and that is an answer too.
                line = receiving.recv() if receiving.poll(_TIMEOUT) else ""
            except EOFError:
                line = ""
        if not line:
            self._process.kill()
            raise StoreError("the service did not start: what it printed says why")
        parts = urlsplit(line.partition(" at ")[2].split()[0])
        self.address: Final = parts.hostname or "", parts.port or 0
        self.pid: Final = self._process.pid or 0
        #: Seconds until it answered
        self.seconds: Final = perf_counter() - begun

    def kill(self) -> None:
        """Kill all of its processes at once: none of them can do anything about it."""
        if self._process.is_alive():
            os.killpg(self.pid, signal.SIGKILL)

    def kill_front(self) -> None:
        """Kill the process that speaks HTTP alone: its engine process ends by itself."""
        if self._process.is_alive():
            os.kill(self.pid, signal.SIGKILL)

    def ask_to_stop(self) -> None:
        """Let it finish what is under way and end."""
        if self._process.is_alive():
            os.kill(self.pid, signal.SIGTERM)

    def wait(self) -> int | None:
        """Return its exit code when it has ended; None if it does not in time."""
        self._process.join(_TIMEOUT)
        return self._process.exitcode


@contextmanager
def started(settings: Settings, folder: str) -> Iterator[Process]:
    """Give a service, and kill what is left of it in the end."""
    process = Process(settings, folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _serve(settings: str, folder: str, sending: Pipe) -> None:
    from variegate.service.run import serve

    os.setsid()  # the leader of a group: one signal reaches all
    # Where workers look for it: multiprocessing has opened it under another number.
    os.dup2(sys.stdin.fileno(), 0)
    sys.stdin = os.fdopen(0)
    tempfile.tempdir = folder
    os.environ["TMPDIR"] = folder
    serve(Settings.model_validate_json(settings), sending.send)
