"""Run jobs on Ray: on this machine, or on a cluster at an address.

Every job is a Ray task, retried if its worker or its node dies; what jobs share is in Ray's object
store once. Needs the extra `ray`, on a cluster also variegate on every node.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final, TypeVar

from variegate.errors import InputError, VariegateError
from variegate.evaluation.parallel import Shared

R = TypeVar("R")
T = TypeVar("T")

#: Seconds in which a cluster must accept a connection.
CONNECT_SECONDS: Final = 5.0
#: How often a job is started again if its worker or its node dies.
MAX_RETRIES: Final = 5
#: Jobs waiting at Ray, per core: enough to keep the cores busy.
JOBS_PER_CORE: Final = 4


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect to Ray within this block, unless the process is connected already.

    Parameters
    ----------
    address
        ``"ray"`` starts Ray on this machine, or uses the cluster that the environment variable
        ``RAY_ADDRESS`` names. Or an address, such as ``ray://host:10001``.

    Raises
    ------
    InputError
        If Ray is not installed, or no cluster answers at the address.
    VariegateError
        If versions of the cluster differ from those of this process.
    """
    ray = _ray()
    if ray.is_initialized():
        yield
        return
    _connect(ray, address)
    try:
        yield
    finally:
        ray.shutdown()


def ray_map(
    work: Callable[..., R], jobs: Sequence[tuple[Any, ...]], address: str
) -> Iterator[tuple[int, R]]:
    """Yield the number and the result of each job as it completes; see `parallel_map`."""
    ray = _ray()
    with connected(address):
        remote = ray.remote(max_retries=MAX_RETRIES)(work)
        limit = max(1, JOBS_PER_CORE * int(ray.cluster_resources().get("CPU", 1)))
        waiting = iter(enumerate(jobs))
        running: dict[Any, int] = {}
        try:
            while True:
                while len(running) < limit and (job := next(waiting, None)) is not None:
                    running[remote.remote(*job[1])] = job[0]
                if not running:
                    return
                (done,), _ = ray.wait(list(running), num_returns=1)
                yield running.pop(done), _result(ray, done)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)


def put(value: T) -> Shared[T]:
    """Put a value into the object store, once, for all jobs."""
    # The reference is inside an object, so that Ray does not read it for each job.
    return Shared(_ray().put(value), _read)


@lru_cache(maxsize=2)
def _read(reference: Any) -> Any:
    return _ray().get(reference)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        # What the job raised, as if it had run here.
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise VariegateError(
            f"a job on Ray could not be completed after {MAX_RETRIES} retries: "
            f"{str(error).splitlines()[0]}"
        ) from None


def _connect(ray: Any, address: str) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address != "ray":
        _check_reachable("workers", address)
        options["address"] = address
    elif ":" in (default := os.environ.get("RAY_ADDRESS", "")):
        _check_reachable("RAY_ADDRESS", default)  # Ray would try for minutes
    else:
        options["include_dashboard"] = False
    try:
        ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        text = " ".join(str(error).split())
        raise VariegateError(f"Ray at {address!r} cannot be used: {text}") from None
    try:
        _check_versions(ray)
    except BaseException:
        ray.shutdown()
        raise


def _check_reachable(name: str, address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host, int(port)), CONNECT_SECONDS):
            pass
    except (OSError, ValueError) as error:
        raise InputError(
            f"`{name}` must be the address of a Ray cluster, and none answers at {address!r} "
            f"({error}): start one with `ray start --head`, or use `ray` for this machine"
        ) from None


def _check_versions(ray: Any) -> None:
    """Raise VariegateError unless workers have the same versions as this process."""
    here, there = _versions(), _result(ray, ray.remote(_versions).remote())
    if here != there:
        raise VariegateError(
            f"the workers of the Ray cluster have {there} and this process has {here}: install "
            "the same versions on every node"
        )


def _versions() -> str:
    names = ("variegate", "numpy", "numba")
    python = ".".join(map(str, sys.version_info[:2]))
    return ", ".join([f"Python {python}", *(f"{name} {version(name)}" for name in names)])


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError(
            "`workers` on Ray need the package ray: pip install 'variegate[ray]'"
        ) from None
    return ray
