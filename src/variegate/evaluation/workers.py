"""Replays and simulations over the cores: the same numbers at any number of workers."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import VariegateError
from variegate.evaluation.replay import PolicyFactory, ReplayTask, Trace, replay
from variegate.evaluation.simulation import Simulation

R = TypeVar("R")

#: Users played in one go: enough to make up for the hand-over, few enough to share out.
CHUNK = 16

#: The task that this worker was given when it started.
_task: ReplayTask | None = None


@dataclass(frozen=True)
class Settings:
    """How a replay is played."""

    rounds: int = 30
    k: int = 10
    seed: int = 0


def replay_all(
    policies: Sequence[PolicyFactory],
    task: ReplayTask,
    settings: Settings,
    *,
    workers: int = 1,
    progress: Callable[[int], None] = lambda _users: None,
) -> Iterator[tuple[int, Trace]]:
    """Play every policy against every user of a task; yield each one's place and trace when done.

    Parameters
    ----------
    policies
        What makes each one's policies; with several workers it must be one that can be pickled,
        such as a `PolicySpec`.
    workers
        Processes to share the users out over; 1 plays them here.
    progress
        Is told how many users were played since it was last told.
    """
    users = range(len(task.likes))
    chunks = [users[start : start + CHUNK] for start in range(0, len(users), CHUNK)]
    jobs = [(make, chunk, settings) for make in policies for chunk in chunks]
    parts: dict[int, dict[int, Trace]] = {place: {} for place in range(len(policies))}
    for number, trace in shared_out(_play, jobs, workers=workers, given=task):
        place, chunk = divmod(number, len(chunks))
        parts[place][chunk] = trace
        progress(len(trace.lists))
        if len(parts[place]) == len(chunks):
            done = parts.pop(place)
            yield place, _joined(done[chunk] for chunk in range(len(chunks)))


def simulate_all(
    *,
    runs: int,
    workers: int = 1,
    progress: Callable[[int], None] = lambda _runs: None,
    **settings: Any,
) -> FloatArray:
    """Play a `Simulation` with these settings, run by run; return the regret of all of it."""
    jobs = [(run, settings) for run in range(runs)]
    parts: dict[int, FloatArray] = {}
    for run, regret in shared_out(_simulate, jobs, workers=workers):
        parts[run] = regret
        progress(1)
    return np.concatenate([parts[run] for run in range(runs)], axis=1)


def shared_out(
    work: Callable[..., R],
    jobs: Sequence[tuple[Any, ...]],
    *,
    workers: int,
    given: ReplayTask | None = None,
) -> Iterator[tuple[int, R]]:
    """Yield the number of each job and what `work` made of it, as they are done.

    `given` is handed to each worker once, not with each job.
    """
    if workers <= 1 or len(jobs) <= 1:
        for number, job in enumerate(jobs):
            _start(given)  # each time: whoever waits for this may share out other work meanwhile
            yield number, work(*job)
        return
    # Not forked: threads of BLAS or numba may hold locks that a copy would never see freed.
    with (
        _one_thread_each(),
        _handed_over(given) as place,
        ProcessPoolExecutor(
            workers, get_context("spawn"), initializer=_fetch, initargs=(place,)
        ) as pool,
    ):
        futures = {pool.submit(work, *job): number for number, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise VariegateError(
                "a worker process ended before its work was done: if memory ran out, use fewer "
                'workers; a script needs `if __name__ == "__main__":` around what it runs'
            ) from None
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let each worker's BLAS have one thread: the workers are as many as the cores."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def _handed_over(task: ReplayTask | None) -> Iterator[Path | None]:
    """Give a file that holds the task, for workers to read as they start.

    A process that is started with more than a pipe holds, and ends before it has read all of
    it, leaves whoever started it waiting for good.
    """
    if task is None:
        yield None
        return
    with TemporaryDirectory(prefix="variegate-") as folder:
        place = Path(folder) / "task"
        place.write_bytes(pickle.dumps(task))
        yield place


def _fetch(place: Path | None) -> None:
    # Written a moment ago, to a folder that is this user's alone.
    _start(None if place is None else pickle.loads(place.read_bytes()))  # noqa: S301


def _start(task: ReplayTask | None) -> None:
    global _task  # a worker process has one task for its whole life
    _task = task


def _play(make: PolicyFactory, users: Sequence[int], settings: Settings) -> Trace:
    if _task is None:
        raise RuntimeError("a worker was started without its task")
    return replay(
        make, _task, users=users, rounds=settings.rounds, k=settings.k, seed=settings.seed
    )


def _simulate(run: int, settings: dict[str, Any]) -> FloatArray:
    simulation = Simulation(runs=[run], **settings)
    for _ in simulation.play():
        pass
    return simulation.regret


def _joined(traces: Iterable[Trace]) -> Trace:
    parts = list(traces)
    return Trace(
        parts[0].label,
        np.concatenate([part.lists for part in parts]),
        np.concatenate([part.clicks for part in parts]),
    )
