"""A command of the package in a process of its own, with its time and its largest memory."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from variegate.errors import VariegateError


@dataclass(frozen=True)
class Ran:
    """What a command printed, and what it took."""

    printed: str
    seconds: float
    cpu_seconds: float
    #: Largest resident memory of the process, and of each that it waited for
    peak_bytes: float

    def __str__(self) -> str:
        return (
            f"{self.seconds:.0f} s ({self.cpu_seconds:.0f} s of CPU), peak memory "
            f"{self.peak_bytes / 1e9:.2f} GB"
        )


def run(arguments: Sequence[str]) -> Ran:
    """Run ``variegate`` with these arguments."""
    start = perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "variegate", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    with process.stdout as pipe:
        printed = pipe.read()
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise VariegateError(f"variegate {arguments[0]} ended with {process.returncode}")
    peak, cpu = usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime
    return Ran(printed, perf_counter() - start, cpu, peak)
