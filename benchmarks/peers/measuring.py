"""What the peers' scripts share. Nothing here needs more than Python itself."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from time import perf_counter

#: Seconds that each measured call may be repeated for, and the least number of repetitions.
BUDGET = 4.0
LEAST = 5
MOST = 201


@dataclass(frozen=True)
class Task:
    """What a script is asked to do; the parent process passes it as JSON."""

    items: int
    d: int
    k: int
    budget: float = BUDGET


@dataclass(frozen=True)
class Measured:
    """The seconds of one call of a peer, with what it does and does not do."""

    title: str
    #: "list" or "learn"
    task: str
    job: str
    seconds: list[float]


def given_task() -> Task:
    """Return the task from the command line."""
    return Task(**json.loads(sys.argv[1]))


def seconds_of(call: Callable[[], object], budget: float) -> list[float]:
    """Return the seconds of each repetition, after one that warms up."""
    call()
    times: list[float] = []
    end = perf_counter() + budget
    while len(times) < LEAST or (perf_counter() < end and len(times) < MOST):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return times


def print_measured(package: str, measured: list[Measured]) -> None:
    """Print what the parent process reads."""
    rows = [asdict(row) for row in measured]
    print(json.dumps({"package": package, "version": version(package), "measured": rows}))
