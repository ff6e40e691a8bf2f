"""A service in a process of its own, on a store that is thrown away."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from variegate.errors import StateError


class Serving:
    """A service that can be killed and started anew at the same address.

    Parameters
    ----------
    flags
        Of `variegate serve`.
    """

    def __init__(self, *flags: str) -> None:
        self._flags = flags
        self._port = "0"
        self.address = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "variegate", "serve", "--log-level", "error"]
        self._process = subprocess.Popen(  # noqa: S603 - this package, by this Python
            [*command, "--port", self._port, *self._flags], stdout=subprocess.PIPE, text=True
        )
        line = self._process.stdout.readline() if self._process.stdout else ""
        if "http" not in line:
            self.stop()
            raise StateError("the service could not start: the log above says why")
        self.address = line[line.index("http") :].split()[0]
        self._port = self.address.rpartition(":")[2]

    def kill(self) -> None:
        """End it as a loss of power would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in peace."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._process = None


@contextmanager
def serving(flags: Sequence[str]) -> Iterator[Serving]:
    """Give a service that answers, and stop it."""
    service = Serving(*flags)
    service.start()
    try:
        yield service
    finally:
        service.stop()
