"""How long the package takes to import and the service to start, in new processes."""

import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection
from statistics import median
from time import perf_counter
from typing import Final

from tools.loadtest.server import installed_environment, own_service

_PACKAGE: Final = "from variegate import LMDH, Catalogue"


def import_ratios(runs: int) -> list[float]:
    """Return how many times as long as NumPy the package takes to import, in alternating runs."""
    # The first import is not counted: it may write byte code.
    times = [(_seconds_to_run(_PACKAGE), _seconds_to_run("import numpy")) for _ in range(runs + 1)]
    return [package / numpy for package, numpy in times[1:]]


def start_seconds(runs: int) -> list[float]:
    """Return the times from the start of `variegate serve` to its first list, after a first one."""
    return [_seconds_to_first_list() for _ in range(runs + 1)][1:]


def middle(values: list[float]) -> str:
    """Return a median with its spread, as text."""
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def _seconds_to_run(statement: str) -> float:
    start = perf_counter()
    command = [sys.executable, "-c", statement]
    subprocess.run(command, check=True, env=installed_environment())  # noqa: S603 - ours
    return perf_counter() - start


def _seconds_to_first_list() -> float:
    start = perf_counter()
    with own_service(None, 1) as (host, port, _pid):
        with closing(HTTPConnection(host, port, timeout=60)) as connection:
            connection.request("POST", "/v1/users/first/slates")
            connection.getresponse().read()
        return perf_counter() - start
