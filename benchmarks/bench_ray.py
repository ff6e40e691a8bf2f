"""A replay of MovieLens-1M in one process and on a Ray of this machine, in turns.

`python -m benchmarks.bench_ray` compares the bits of the scores, and the times: with Ray started
before, as for all replays of an experiment but the first, and the time of the start by itself. A
replay of all of MovieLens-1M is written to docs/explanation/volume.md.
"""

import argparse
import os
from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter
from typing import Final

from benchmarks.machine import THREADS

if __name__ == "__main__":
    # One thread of BLAS on each side; before NumPy is imported.
    os.environ.update(dict.fromkeys(THREADS, "1"))

import numpy as np

from benchmarks.bench_replay import ROUNDS, K, task_of
from tools.findings import Finding, Part
from tools.volume.report import report
from variegate.evaluation import Evaluation, evaluate
from variegate.evaluation.parallel import Workers
from variegate.evaluation.ray_cluster import connected
from variegate.evaluation.replay import ReplayTask

NAME: Final = "ml-1m"
#: Those of `variegate replay` without lmdh-greedy, which takes longer than all others together, and
#: the learner that a service has by default.
POLICIES: Final = ("lmdh", "logrank", "mmr", "epsilon-greedy", "c2ucb", "dc2b", "lmdp:prior=fit")
#: The promise on two cores.
TIMES_AS_FAST: Final = 1.6


def same_bits(one: Evaluation, other: Evaluation) -> bool:
    """Return whether all arrays of the scores are equal to the last bit."""
    return all(
        np.array_equal(value, vars(theirs)[name], equal_nan=True)
        for policy in one.scores
        for ours, theirs in zip(one[policy], other[policy], strict=True)
        for name, value in vars(ours).items()
        if isinstance(value, np.ndarray)
    )


@dataclass
class Measured:
    """The seconds of each turn, and whether the scores were the same each time."""

    alone: list[float] = field(default_factory=list)
    shared: list[float] = field(default_factory=list)
    is_same: bool = True
    #: Seconds to start Ray
    start: float = 0.0


def measure(task: ReplayTask, rounds: int, turns: int) -> Measured:
    """Replay in one process and on Ray, in turns."""
    found = Measured()
    timed(task, 1, 1)  # compiles and warms up
    start = perf_counter()
    with connected("ray"):
        found.start = perf_counter() - start
        timed(task, "ray", 1)  # starts the workers
        for turn in range(turns):
            alone, expected = timed(task, 1, rounds)
            shared, others = timed(task, "ray", rounds)
            found.alone.append(alone)
            found.shared.append(shared)
            found.is_same = found.is_same and same_bits(others, expected)
            print(f"turn {turn + 1}: {alone:.1f} s and {shared:.1f} s, {alone / shared:.2f} times")
    return found


def timed(task: ReplayTask, workers: Workers, rounds: int) -> tuple[float, Evaluation]:
    """Return the seconds of a replay, and what it found.

    A copy of the task has no fitted prior: each replay pays for that, on one side and the other.
    """
    copy = replace(task)
    start = perf_counter()
    found = evaluate(POLICIES, copy, k=K, rounds=rounds, workers=workers, progress=False)
    return perf_counter() - start, found


def part_of(found: Measured, task: ReplayTask, name: str, rounds: int) -> Part:
    """Return the findings, and how they were made."""
    ratio = median(a / b for a, b in zip(found.alone, found.shared, strict=True))
    return Part(
        f"`python -m benchmarks.bench_ray`: {name}, {len(task.likes)} test users, {rounds} rounds, "
        f"the policies {', '.join(f'`{one}`' for one in POLICIES)}, in one process and on a Ray of "
        f"this machine in turns. Ray is started before, which takes {found.start:.1f} s more.",
        [
            Finding(
                "The scores on Ray are those of one process, bit by bit",
                f"{'the same' if found.is_same else 'not the same'} in each of "
                f"{len(found.alone)} turns",
                found.is_same,
            ),
            Finding(
                f"Two workers are at least {TIMES_AS_FAST} times as fast as one process",
                f"{median(found.alone):.1f} s and {median(found.shared):.1f} s, "
                f"{ratio:.2f} times (median of {len(found.alone)} turns)",
                ratio >= TIMES_AS_FAST,
            ),
        ],
    )


def main() -> None:
    """Measure, judge and write; end with 1 if something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--name", default=NAME, help="a data set: ml-100k or ml-1m")
    given = parser.parse_args()
    task = task_of(given.name)
    found = measure(task, given.rounds, given.turns)
    part = part_of(found, task, given.name, given.rounds)
    report("ray", part, is_whole=(given.name, given.rounds) == (NAME, ROUNDS))


if __name__ == "__main__":
    main()
