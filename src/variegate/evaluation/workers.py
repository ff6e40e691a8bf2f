"""Replays over the cores: the same numbers at any number of workers."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from variegate.evaluation.replay import ReplayTask, Trace, replay
from variegate.policies import PolicySpec

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
    policies: Sequence[PolicySpec],
    task: ReplayTask,
    settings: Settings,
    *,
    workers: int = 1,
    progress: Callable[[int], None] = lambda _users: None,
) -> list[Trace]:
    """Play every policy against every user of a task; return their traces in order.

    Parameters
    ----------
    workers
        Processes to share the users out over; 1 plays them here.
    progress
        Is told how many users were played since it was last told.
    """
    users = range(len(task.likes))
    chunks = [users[start : start + CHUNK] for start in range(0, len(users), CHUNK)]
    jobs = [(spec, chunk) for spec in policies for chunk in chunks]
    parts: dict[int, Trace] = {}
    for number, trace in _played(jobs, task, settings, workers):
        parts[number] = trace
        progress(len(trace.lists))
    per = len(chunks)
    return [_joined([parts[p * per + c] for c in range(per)]) for p in range(len(policies))]


def _played(
    jobs: Sequence[tuple[PolicySpec, Sequence[int]]],
    task: ReplayTask,
    settings: Settings,
    workers: int,
) -> Iterator[tuple[int, Trace]]:
    if workers <= 1 or len(jobs) <= 1:
        for number, (spec, users) in enumerate(jobs):
            yield number, _play(task, spec, users, settings)
        return
    # Not forked: threads of BLAS or numba may hold locks that a copy would never see freed.
    with ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_start, initargs=(task,)
    ) as pool:
        futures = {
            pool.submit(_play_here, spec, users, settings): number
            for number, (spec, users) in enumerate(jobs)
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _start(task: ReplayTask) -> None:
    global _task  # a worker process has one task for its whole life
    _task = task


def _play_here(spec: PolicySpec, users: Sequence[int], settings: Settings) -> Trace:
    if _task is None:
        raise RuntimeError("a worker was started without its task")
    return _play(_task, spec, users, settings)


def _play(task: ReplayTask, spec: PolicySpec, users: Sequence[int], settings: Settings) -> Trace:
    return replay(spec, task, users=users, rounds=settings.rounds, k=settings.k, seed=settings.seed)


def _joined(traces: Iterable[Trace]) -> Trace:
    parts = list(traces)
    return Trace(
        parts[0].label,
        np.concatenate([part.lists for part in parts]),
        np.concatenate([part.clicks for part in parts]),
    )


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
