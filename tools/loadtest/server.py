"""A service of its own to try: started, weighed and stopped."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from variegate.errors import StoreError

_ADDRESS: Final = re.compile(r"http://([\w.:\[\]]+):(\d+)")
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
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
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
    return [pid, *(one for child in children for one in family_of(int(child)))]


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
