"""Many policies on several folds at once: the same numbers at any number of workers."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from variegate.evaluation.choosing.folds import Fold
from variegate.evaluation.choosing.measures import Measures, measured
from variegate.evaluation.replay import ReplayTask, Trace, replay
from variegate.evaluation.workers import CHUNK, Settings, shared_out
from variegate.policies import PolicySpec


class Stage:
    """The folds, laid out where workers find them."""

    def __init__(
        self, folds: Sequence[Fold], folder: Path, settings: Settings, *, workers: int = 1
    ) -> None:
        self.folds, self.settings, self.workers = folds, settings, workers
        self._tasks = {
            is_plain: [fold.plain if is_plain else fold.popular for fold in folds]
            for is_plain in (True, False)
        }
        self._places = {
            is_plain: [folder / f"{number}-{is_plain}" for number in range(len(folds))]
            for is_plain in (True, False)
        }
        for is_plain, tasks in self._tasks.items():
            for place, task in zip(self._places[is_plain], tasks, strict=True):
                place.write_bytes(pickle.dumps(task))

    def played(
        self,
        policies: Sequence[Sequence[PolicySpec]],
        *,
        is_plain: bool = False,
        progress: Callable[[int, int], None] = lambda _done, _of: None,
    ) -> list[list[Measures]]:
        """Return what each of a fold's policies is worth, fold by fold.

        `is_plain` shows items without their popularity.
        """
        tasks, jobs = self._tasks[is_plain], []
        for fold, (place, task) in enumerate(zip(self._places[is_plain], tasks, strict=True)):
            users = range(len(task.likes))
            chunks = [users[start : start + CHUNK] for start in range(0, len(users), CHUNK)]
            jobs += [
                (place, policy, chunk, self.settings)
                for policy in policies[fold]
                for chunk in chunks
            ]
        total, done = sum(len(job[2]) for job in jobs), 0
        parts: dict[int, Trace] = {}
        for number, trace in shared_out(_play, jobs, workers=self.workers):
            parts[number] = trace
            done += len(trace.lists)
            progress(done, total)
        in_order = iter([parts[number] for number in range(len(jobs))])
        return [
            measured([_taken(in_order, task) for _ in policies[fold]], task)
            for fold, task in enumerate(tasks)
        ]


@contextmanager
def staged(folds: Sequence[Fold], settings: Settings, *, workers: int = 1) -> Iterator[Stage]:
    """Give the folds to play on; their files go afterwards."""
    with TemporaryDirectory(prefix="variegate-") as folder:
        try:
            yield Stage(folds, Path(folder), settings, workers=workers)
        finally:
            _task_at.cache_clear()


def _taken(in_order: Iterator[Trace], task: ReplayTask) -> Trace:
    """Join the next traces until they are of all users of the task."""
    parts = [next(in_order)]
    while sum(len(part.lists) for part in parts) < len(task.likes):
        parts.append(next(in_order))
    return Trace(
        parts[0].label,
        np.concatenate([part.lists for part in parts]),
        np.concatenate([part.clicks for part in parts]),
    )


def _play(place: Path, policy: PolicySpec, users: Sequence[int], settings: Settings) -> Trace:
    return replay(
        policy,
        _task_at(place),
        users=users,
        rounds=settings.rounds,
        k=settings.k,
        seed=settings.seed,
    )


# Work comes fold by fold, so a worker has hardly more than one in its hands.
@lru_cache(maxsize=2)
def _task_at(place: Path) -> ReplayTask:
    # Written by whoever shares the work out, to a folder that is this user's alone.
    task: ReplayTask = pickle.loads(place.read_bytes())  # noqa: S301
    return task
