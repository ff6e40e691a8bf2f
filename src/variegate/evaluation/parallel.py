"""Run jobs in several processes of this machine, or on a Ray cluster."""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeAlias, TypeVar

from variegate.arrays import check_count
from variegate.errors import InputError, VariegateError

R = TypeVar("R")
T = TypeVar("T")

#: The number of processes; or ``"ray"`` for Ray on this machine, or the address of a Ray cluster.
Workers: TypeAlias = int | str


@dataclass(frozen=True)
class Shared(Generic[T]):
    """A value that jobs read: it is sent once to each worker, not with each job."""

    #: Where it is, such as the path of a file
    place: Any
    #: From the place to the value
    read: Callable[[Any], T]

    def get(self) -> T:
        """Return the value."""
        return self.read(self.place)


def parallel_map(
    work: Callable[..., R], jobs: Sequence[tuple[Any, ...]], *, workers: Workers
) -> Iterator[tuple[int, R]]:
    """Yield the number and the result of each job as it completes.

    Parameters
    ----------
    work
        Called with the arguments of each job. With several workers, it, its arguments and its
        results must be picklable.
    workers
        The number of processes; 1 runs the jobs in this process, in order. Or ``"ray"``, or the
        address of a Ray cluster: see `variegate.evaluation.ray_cluster`.
    """
    if isinstance(workers, str):
        from variegate.evaluation.ray_cluster import ray_map

        yield from ray_map(work, jobs, workers)
    elif workers <= 1 or len(jobs) <= 1:
        for number, job in enumerate(jobs):
            yield number, work(*job)
    else:
        yield from _process_map(work, jobs, workers)


def _process_map(
    work: Callable[..., R], jobs: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[tuple[int, R]]:
    # Imported here to keep the import of the package fast.
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # Spawned, not forked: a fork can copy locks that threads of BLAS or numba hold.
    with (
        _single_threaded_blas(),
        ProcessPoolExecutor(workers, get_context("spawn")) as pool,
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


@contextmanager
def share(values: Sequence[T], workers: Workers) -> Iterator[Sequence[Shared[T]]]:
    """Yield the values in a form that jobs of `parallel_map` can read within this block.

    Processes of this machine read each from a file, once. A worker that ends before it has read
    all of a pipe, as in a script without a guard, would block this process forever.
    """
    if isinstance(workers, str):
        from variegate.evaluation.ray_cluster import connected, put

        with connected(workers):
            yield [put(value) for value in values]
        return
    if workers <= 1:
        yield [Shared(value, _as_it_is) for value in values]
        return
    with TemporaryDirectory(prefix="variegate-") as folder:
        files = [Path(folder) / str(number) for number in range(len(values))]
        for file, value in zip(files, values, strict=True):
            file.write_bytes(pickle.dumps(value))
        try:
            yield [Shared(file, _read) for file in files]
        finally:
            _read.cache_clear()


def _as_it_is(value: T) -> T:
    return value


# Jobs come split by split, so a worker needs hardly more than one at a time.
@lru_cache(maxsize=2)
def _read(path: Path) -> Any:
    # Written a moment ago by the parent process, to a folder of this user's alone.
    return pickle.loads(path.read_bytes())  # noqa: S301


def parse_workers(text: str | None) -> Workers:
    """Return `Workers` from the text of an option; by default one process for each core."""
    if text is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if text.removeprefix("-").isdecimal():
        return check_count(int(text), 10_000, name="workers", of="the most that make sense")
    if text == "ray" or ":" in text:
        return text
    raise InputError(
        f"`workers` must be a number of processes, `ray`, or the address of a Ray cluster such as "
        f"ray://host:10001, got {text!r}"
    )


@contextmanager
def _single_threaded_blas() -> Iterator[None]:
    """Start workers with one BLAS thread each: there are as many workers as cores."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]
        os.environ.update(before)
