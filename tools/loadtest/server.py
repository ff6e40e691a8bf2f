"""A service of its own to try: started, weighed and stopped."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from variegate.errors import StoreError

_ADDRESS: Final = re.compile(r"http://([\w.:\[\]]+):(\d+)")
_NO_BYTE_CODE: Final = "PYTHONDONTWRITEBYTECODE"
#: Seconds for the requests under way.
_DRAIN: Final = 40


@contextmanager
def own_service(
    store: str | None, workers: int, options: Sequence[str] = ()
) -> Iterator[tuple[str, int, int]]:
    """Give host, port and process id of a service on a free port, with its own store if none."""
    with tempfile.TemporaryDirectory(prefix="variegate-loadtest-") as folder:
        url = store or f"sqlite:///{Path(folder) / 'load.db'}"
        command = [sys.executable, "-m", "variegate", "serve", "--store", url, "--port", "0"]
        command += ["--workers", str(workers), "--log-level", "warning", *options]
        process = subprocess.Popen(  # noqa: S603 - no text from outside
            command, stdout=subprocess.PIPE, text=True, env=installed_environment()
        )
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            found = _ADDRESS.search(process.stdout.readline())
            if found is None:
                raise StoreError("the service did not start: what it printed says why")
            yield found[1], int(found[2]), process.pid
        finally:
            process.terminate()
            process.wait(timeout=_DRAIN)
            if process.stdout is not None:
                process.stdout.close()


def installed_environment() -> dict[str, str]:
    """Return the environment, in which Python may write byte code as `pip install` does."""
    return {name: value for name, value in os.environ.items() if name != _NO_BYTE_CODE}


def processes_by_role(pid: int) -> dict[str, list[int]]:
    """Return the processes of a service and this one: clients, HTTP and engine."""
    roles: dict[str, list[int]] = {"clients": [os.getpid()], "HTTP": []}
    for one in family_of(pid):
        is_engine = b"process_main" in Path(f"/proc/{one}/cmdline").read_bytes()
        roles.setdefault("engine" if is_engine else "HTTP", []).append(one)
    return roles


def cpu_seconds(pids: Sequence[int]) -> float:
    """Return the CPU time that processes have spent, of those that still run."""
    ticks = 0
    for pid in pids:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int | None:
    """Return the memory of a process and those it started; None where that cannot be seen."""
    try:
        return sum(_resident(one) for one in family_of(pid))
    except OSError:
        return None


def family_of(pid: int) -> list[int]:
    """Return a process and those it started, itself first; raises OSError where /proc is not."""
    tasks = Path(f"/proc/{pid}/task").iterdir()  # each thread has the children that it started
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    family = [pid]
    for child in children:
        with suppress(OSError):  # it has ended since
            family += family_of(int(child))
    return family


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
