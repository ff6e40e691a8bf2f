"""A replay of MovieLens-1M in one process and on a Ray of this machine, in turns.

`python -m benchmarks.bench_ray` compares the bits of the scores, and the times: with Ray started
before, as for all replays of an experiment but the first, and the time of the start by itself.
"""

import argparse
import os
from contextlib import ExitStack
from time import perf_counter
from typing import Final

from benchmarks.machine import THREADS

if __name__ == "__main__":
    # One thread of BLAS on each side; before NumPy is imported.
    os.environ.update(dict.fromkeys(THREADS, "1"))

import numpy as np

from benchmarks.bench_replay import ROUNDS, K, task_of
from variegate.evaluation import Evaluation, evaluate
from variegate.evaluation.parallel import Workers
from variegate.evaluation.ray_cluster import connected
from variegate.evaluation.replay import ReplayTask

NAME: Final = "ml-1m"
POLICIES: Final = ("lmdh", "lmdp:prior=fit", "mmr")
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


def timed(task: ReplayTask, workers: Workers, rounds: int) -> tuple[float, Evaluation]:
    """Return the seconds of a replay, and what it found."""
    start = perf_counter()
    found = evaluate(POLICIES, task, k=K, rounds=rounds, workers=workers, progress=False)
    return perf_counter() - start, found


def main() -> None:
    """Measure, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--name", default=NAME, help="a data set: ml-100k or ml-1m")
    given = parser.parse_args()
    task = task_of(given.name)
    timed(task, 1, 1)  # compiles and warms up
    with ExitStack() as stack:
        start = perf_counter()
        stack.enter_context(connected("ray"))
        started = perf_counter() - start
        timed(task, "ray", 1)  # starts the workers
        seconds: dict[str, list[float]] = {"one process": [], "Ray": []}
        is_same = True
        for turn in range(given.turns):
            alone, expected = timed(task, 1, given.rounds)
            shared, found = timed(task, "ray", given.rounds)
            seconds["one process"].append(alone)
            seconds["Ray"].append(shared)
            is_same = is_same and same_bits(found, expected)
            print(f"turn {turn + 1}: {alone:.1f} s and {shared:.1f} s, {alone / shared:.2f} times")
    ratio = min(seconds["one process"]) / min(seconds["Ray"])
    print(
        f"{given.name}, {len(task.likes)} test users, {len(POLICIES)} policies, {given.rounds} "
        f"rounds, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
    )
    print(f"the same bits: {'yes' if is_same else 'NO'}")
    print(
        f"best of {given.turns}: {ratio:.2f} times as fast on Ray "
        f"({'at least' if ratio >= TIMES_AS_FAST else 'NOT'} {TIMES_AS_FAST}); "
        f"the start of Ray takes {started:.1f} s more"
    )


if __name__ == "__main__":
    main()
