"""`variegate serve` in a process of its own."""

import signal
import subprocess
import sys
from typing import Final, Self

from variegate.errors import StateError


class Service:
    """A service that can be killed and started again at the same address.

    Parameters
    ----------
    flags
        Of `variegate serve`.
    """

    def __init__(self, *flags: str) -> None:
        self._flags: Final = flags
        self._port = "0"
        self.address = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it accepts requests."""
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
        """End it without warning (SIGKILL)."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order (SIGTERM)."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._process = None
