"""Run jobs in several processes."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from variegate.errors import VariegateError

R = TypeVar("R")


def parallel_map(
    work: Callable[..., R], jobs: Sequence[tuple[Any, ...]], *, workers: int
) -> Iterator[tuple[int, R]]:
    """Yield the number and the result of each job as it completes.

    Parameters
    ----------
    work
        Called with the arguments of each job. With several workers, it, its arguments and its
        results must be picklable.
    workers
        The number of processes; 1 runs the jobs in this process, in order.
    """
    if workers <= 1 or len(jobs) <= 1:
        for number, job in enumerate(jobs):
            yield number, work(*job)
        return
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


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
