"""The same numbers at any number of workers, in any chunks."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluation.replaying import drawn_task
from variegate import POLICIES
from variegate.errors import InputError, NotFoundError, VariegateError
from variegate.evaluation import workers
from variegate.evaluation.replay import ReplayTask, Trace, replay
from variegate.evaluation.simulation import Simulation
from variegate.evaluation.workers import Settings, replay_all, shared_out, simulate_all
from variegate.policies import PolicySpec

#: Every policy, and options that draw or that search otherwise
SPECS = [
    *map(PolicySpec, POLICIES),
    PolicySpec("epsilon-greedy", {"epsilon": 0.5}),
    PolicySpec("dc2b", {"intercept": True}),
    PolicySpec("lmdh", {"search": "local", "normaliser": "none"}),
]
SETTINGS = Settings(rounds=4, k=5, seed=3)


@pytest.fixture(scope="module")
def task() -> ReplayTask:
    return drawn_task(users=20, items=60)


@pytest.fixture(scope="module")
def traces(task: ReplayTask) -> dict[int, dict[int, Trace]]:
    """By the number of workers, by the place of the policy."""
    return {number: dict(replay_all(SPECS, task, SETTINGS, workers=number)) for number in (1, 2, 3)}


def square(number: int) -> int:
    if number < 0:
        raise InputError(f"`number` must not be negative, got {number}")
    return number * number


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("place", range(len(SPECS)), ids=list(map(str, SPECS)))
def test_several_workers_give_the_bits_of_one(
    traces: dict[int, dict[int, Trace]], number: int, place: int
) -> None:
    here, there = traces[1][place], traces[number][place]

    assert there.label == here.label
    assert there.lists.tobytes() == here.lists.tobytes()
    assert there.clicks.tobytes() == here.clicks.tobytes()


@pytest.mark.parametrize("chunk", [1, 7, 100])
@pytest.mark.parametrize("place", [0, POLICIES.__len__()], ids=["lmdh", "epsilon-greedy"])
def test_chunks_do_not_matter(
    task: ReplayTask,
    traces: dict[int, dict[int, Trace]],
    chunk: int,
    place: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "CHUNK", chunk)

    ((_, trace),) = replay_all([SPECS[place]], task, SETTINGS)

    np.testing.assert_array_equal(trace.lists, traces[1][place].lists)


def test_shared_out_replay_is_the_plain_one(
    task: ReplayTask, traces: dict[int, dict[int, Trace]]
) -> None:
    plain = replay(SPECS[0], task, rounds=4, k=5, seed=3)

    np.testing.assert_array_equal(traces[2][0].lists, plain.lists)


@pytest.mark.parametrize("number", [1, 2])
def test_progress_adds_up_to_users_times_policies(task: ReplayTask, number: int) -> None:
    told: list[int] = []

    found = list(
        replay_all(SPECS[2:4], task, Settings(rounds=1, k=2), workers=number, progress=told.append)
    )

    assert sorted(place for place, _ in found) == [0, 1]
    assert sum(told) == 2 * len(task.likes)


def test_two_replays_at_once_do_not_mix_up_their_tasks(task: ReplayTask) -> None:
    # The task of the second was once left standing for the rest of the first.
    smaller = drawn_task(users=3, items=12)
    specs = [PolicySpec("popular"), PolicySpec("logrank")]
    settings = Settings(rounds=2, k=2)

    pairs = list(
        zip(replay_all(specs, task, settings), replay_all(specs, smaller, settings), strict=True)
    )

    for (place, larger), (_, small) in pairs:
        expected = replay(specs[place], task, rounds=2, k=2)
        np.testing.assert_array_equal(larger.lists, expected.lists)
        assert len(small.lists) == 3


@pytest.mark.parametrize("number", [1, 2])
def test_error_in_a_worker_is_told_as_it_is(task: ReplayTask, number: int) -> None:
    with pytest.raises(NotFoundError, match=r"got 'growng': did you mean 'growing'\?"):
        list(
            replay_all(
                [PolicySpec("lmdh", {"normaliser": "growng"})], task, SETTINGS, workers=number
            )
        )


@pytest.mark.parametrize("number", [1, 2])
def test_jobs_come_back_with_their_numbers(number: int) -> None:
    found = dict(shared_out(square, [(3,), (4,), (5,)], workers=number))

    assert found == {0: 9, 1: 16, 2: 25}


def test_error_in_a_job_ends_the_others_and_leaves_the_environment_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)

    with pytest.raises(InputError, match=r"`number` must not be negative, got -1"):
        list(shared_out(square, [(-1,), (2,)], workers=2))

    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_worker_that_dies_is_told() -> None:
    with pytest.raises(
        VariegateError, match=r"a worker process ended before its work was done: if memory ran out"
    ):
        list(shared_out(os._exit, [(3,), (3,)], workers=2))


def test_script_without_a_guard_is_told_so_and_does_not_hang(tmp_path: Path) -> None:
    # A task larger than a pipe holds was once written to a worker that had ended already.
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from tests.evaluation.replaying import drawn_task\n"
        "from variegate.evaluation.workers import Settings, replay_all\n"
        "from variegate.policies import PolicySpec\n"
        "task = drawn_task(users=40, items=4000)\n"
        "list(replay_all([PolicySpec('popular')], task, Settings(rounds=1), workers=2))\n"
    )
    root = Path(__file__).parents[2]

    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(root)},
    )

    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert 'a script needs `if __name__ == "__main__":` around what it runs' in last


@pytest.mark.parametrize("number", [1, 2])
def test_simulation_run_by_run_is_the_one_of_all_runs(number: int) -> None:
    settings: dict[str, Any] = {"rounds": 3, "items": 8, "k": 2, "normaliser": "fixed"}
    whole = Simulation(runs=3, **settings)
    assert list(whole.play()) == [1, 2, 3]
    told: list[int] = []

    regret = simulate_all(runs=3, workers=number, progress=told.append, **settings)

    assert regret.tobytes() == whole.regret.tobytes()
    assert told == [1, 1, 1]


def test_a_process_has_at_least_one_worker() -> None:
    assert 1 <= workers.default_workers() <= (os.cpu_count() or 1)
