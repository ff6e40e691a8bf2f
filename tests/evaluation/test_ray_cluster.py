"""Jobs on a real Ray cluster of three nodes: the same bits, also if a node dies."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluation.replaying import drawn_task
from tests.extras import needs
from variegate.errors import InputError, VariegateError
from variegate.evaluation import Evaluation, evaluate, ray_cluster
from variegate.evaluation.parallel import parallel_map

POLICIES = ["lmdh", "uniform", "lmdp:prior=fit"]
pytestmark = [
    needs("ray"),
    pytest.mark.slow,
    # Ray's own
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def fail(number: int) -> int:
    if number:
        raise InputError(f"`number` must be 0, got {number}")
    return number


@pytest.mark.parametrize("form", ["ray://127.0.0.1:{}", "127.0.0.1:{}", "127.0.0.1:x{}"])
def test_an_address_without_a_cluster_is_refused(form: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = form.format(free.getsockname()[1])

        with pytest.raises(InputError, match=r"none answers at .* start one with `ray start"):
            list(parallel_map(fail, [(0,)], workers=address))


def test_an_address_of_the_environment_without_a_cluster_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Ray itself tried for two minutes.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free.getsockname()[1]}")

        with pytest.raises(InputError, match=r"^`RAY_ADDRESS` must be .* and none answers at"):
            list(parallel_map(fail, [(0,)], workers="ray"))


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(InputError, match=r"pip install 'variegate\[ray\]'"):
        list(parallel_map(fail, [(0,)], workers="ray"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    found: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    found.lost = found.add_node(num_cpus=1)
    found.add_node(num_cpus=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", found.address)
        try:
            yield found
        finally:
            ray.shutdown()
            found.shutdown()


def test_other_versions_are_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "version", lambda _name: "0.0")

    with pytest.raises(VariegateError, match=r"the workers of the Ray cluster have .* numba 0\.6"):
        list(parallel_map(fail, [(0,)], workers=cluster.address))


@pytest.fixture(scope="module")
def address(cluster: Any) -> Iterator[str]:
    """Stay connected to the cluster: connecting takes seconds."""
    with ray_cluster.connected(cluster.address):
        yield cluster.address


def test_a_node_killed_in_the_middle_changes_nothing(cluster: Any, address: str) -> None:
    task = drawn_task(users=96, items=80)
    done: list[str] = []

    def kill_a_node(policy: str, _split: int, _scores: object) -> None:
        if not done:
            cluster.remove_node(cluster.lost, allow_graceful=False)
        done.append(policy)

    expected = evaluate(POLICIES, task, rounds=3, progress=False)
    found = evaluate(
        POLICIES, task, rounds=3, progress=False, workers=address, on_scores=kill_a_node
    )

    assert len(done) == len(POLICIES)
    assert_same(found, expected)


def assert_same(found: Evaluation, expected: Evaluation) -> None:
    for policy in POLICIES:
        for measure in ("recall", "diversity"):
            ours, theirs = (getattr(one[policy][0], measure) for one in (found, expected))
            assert np.array_equal(ours, theirs), (policy, measure)


def die_until(marks: str, lives: int) -> int:
    """Kill the worker, unless it has happened so often before."""
    deaths = len(list(Path(marks).iterdir()))
    if deaths < lives:
        Path(marks, str(deaths)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return deaths


def test_a_job_whose_worker_dies_is_done_by_another(address: str, tmp_path: Path) -> None:
    assert list(parallel_map(die_until, [(str(tmp_path), 2)], workers=address)) == [(0, 2)]


def test_a_job_that_kills_every_worker_is_reported(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_cluster, "MAX_RETRIES", 1)

    with pytest.raises(VariegateError, match=r"could not be completed after 1 retries: \S+"):
        list(parallel_map(die_until, [(str(tmp_path), 99)], workers=address))


def test_an_error_of_a_job_is_raised_as_it_is(address: str) -> None:
    with pytest.raises(InputError, match=r"^`number` must be 0, got 2$"):
        list(parallel_map(fail, [(0,), (2,)], workers=address))
