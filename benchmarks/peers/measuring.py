"""What the peers' scripts share. Nothing here needs more than Python itself."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from time import perf_counter

Call = Callable[[], object]

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


def scores_all_arms(task: Task) -> str:
    """Return what a peer does that scores every arm by itself."""
    return f"scores {task.items:,} arms one by one, then the {task.k} best; no diversity"


def seconds_of(call: Call, budget: float) -> list[float]:
    """Return the seconds of each repetition, after one that warms up."""
    call()
    times: list[float] = []
    end = perf_counter() + budget
    while len(times) < LEAST or (perf_counter() < end and len(times) < MOST):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return times


def measure(
    task: Task, title: str, a_list: tuple[str, Call], learning: tuple[str, Call]
) -> list[Measured]:
    """Return the seconds of a list and of learning; each is given as what it does and a call."""
    return [
        Measured(title, kind, job, seconds_of(call, task.budget))
        for kind, (job, call) in (("list", a_list), ("learn", learning))
    ]


def print_measured(package: str, measured: list[Measured]) -> None:
    """Print what the parent process reads."""
    rows = [asdict(row) for row in measured]
    print(json.dumps({"package": package, "version": version(package), "measured": rows}))
