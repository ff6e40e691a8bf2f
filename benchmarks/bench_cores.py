"""The same with all cores on both sides, in a process that is not held to one.

The list of a large catalogue, and a replay whose users are shared out. `measure` starts
`python -m benchmarks.bench_cores`, because a process decides on its threads only once.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.environments import PATIENCE, succeeded
from benchmarks.machine import all_cores, use_cores
from benchmarks.markdown import duration
from benchmarks.results import Part, Shape, part_of

ROOT: Final = Path(__file__).resolve().parents[1]
SHAPES: Final = (Shape(100_000), Shape(1_000_000), Shape(1_000_000, 64))
REPLAYED: Final = "ml-1m"


def measure(quick: bool) -> Part:
    """Return what a process with all cores finds."""
    command = [sys.executable, "-m", "benchmarks.bench_cores", *(["--quick"] if quick else [])]
    return part_of(json.loads(succeeded(command, PATIENCE, folder=ROOT).splitlines()[-1]))


def _measured(quick: bool) -> Part:
    from benchmarks.bench_lists import compare
    from benchmarks.workloads import catalogue, taught

    part = Part()
    part.facts["cores"] = len(all_cores())
    for shape in (Shape(60_000),) if quick else SHAPES:
        compare(part, taught(catalogue(shape)), shape, 0.2 if quick else 3.0, all_sides=False)
    if not quick:
        _replayed(part)
    return part


def _replayed(part: Part) -> None:
    """Time all of a data set's test users, shared out over the cores."""
    from benchmarks.bench_replay import ROUNDS, K, task_of
    from variegate.errors import DataError, MissingExtraError
    from variegate.evaluation import evaluate

    try:
        task = task_of(REPLAYED)
    except (DataError, MissingExtraError) as error:
        part.skipped.append(f"replay of {REPLAYED} over the cores: {error}")
        return
    start = perf_counter()
    evaluate(["lmdh"], task, k=K, rounds=ROUNDS, workers=len(all_cores()), progress=False)
    part.facts[f"{REPLAYED}: seconds for all test users by LMDH"] = perf_counter() - start
    part.facts[f"{REPLAYED}: test users"] = len(task.likes)


def section(part: Part) -> list[str]:
    """Write the lists and the replay with all cores on both sides."""
    from benchmarks.bench_lists import lists_table

    lines = [
        f"Both sides with {part.facts.get('cores', 0.0):.0f} cores and as many threads of BLAS.",
        "",
        *lists_table(part),
    ]
    seconds = part.facts.get(f"{REPLAYED}: seconds for all test users by LMDH")
    if seconds is not None:
        users = part.facts[f"{REPLAYED}: test users"]
        lines += [
            f"All {users:,.0f} test users of {REPLAYED}, 30 rounds of 10, shared out over the"
            f" cores: {duration(seconds)}, the start of the processes included.",
            "",
        ]
    return lines


if __name__ == "__main__":
    use_cores(all_cores())
    print(json.dumps(asdict(_measured("--quick" in sys.argv))))
