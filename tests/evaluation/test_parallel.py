"""Work shared by several processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from variegate.errors import InputError, VariegateError
from variegate.evaluation.parallel import Shared, parallel_map, parse_workers, share


def square(number: int) -> int:
    if number < 0:
        raise InputError(f"`number` must not be negative, got {number}")
    return number * number


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_come_back_with_their_numbers(workers: int) -> None:
    found = dict(parallel_map(square, [(3,), (4,), (5,)], workers=workers))

    assert found == {0: 9, 1: 16, 2: 25}


def test_error_in_a_job_ends_the_others_and_leaves_the_environment_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)

    with pytest.raises(InputError, match=r"`number` must not be negative, got -1"):
        list(parallel_map(square, [(-1,), (2,)], workers=2))

    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_worker_that_dies_is_reported() -> None:
    with pytest.raises(
        VariegateError, match=r"a worker process ended before its work was done: if memory ran out"
    ):
        list(parallel_map(os._exit, [(3,), (3,)], workers=2))


def test_script_without_a_guard_says_so_and_does_not_hang(tmp_path: Path) -> None:
    # A task larger than a pipe holds was once written to a worker that had ended already.
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from tests.evaluation.replaying import drawn_task\n"
        "from variegate.evaluation import evaluate\n"
        "evaluate(['popular'], drawn_task(users=40, items=4000), rounds=1, workers=2)\n"
    )
    root = ROOT

    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
    )

    assert done.returncode == 1
    # The last line of the traceback, whatever Python's resource tracker still warns of after it.
    (error,) = [
        line for line in done.stderr.splitlines() if line.startswith("variegate.errors.Variegate")
    ]
    assert 'a script needs `if __name__ == "__main__":` around what it runs' in error


def read(shared: Shared[dict[str, int]], key: str) -> int:
    return shared.get()[key]


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_read_what_they_share(workers: int) -> None:
    with share([{"a": 1}, {"a": 2}], workers) as (first, second):
        found = dict(parallel_map(read, [(first, "a"), (second, "a")], workers=workers))

    assert found == {0: 1, 1: 2}


@pytest.mark.parametrize(
    ("text", "workers"),
    [("3", 3), ("ray", "ray"), ("ray://head:10001", "ray://head:10001"), ("h:6379", "h:6379")],
)
def test_workers_are_a_number_or_a_cluster(text: str, workers: int | str) -> None:
    assert parse_workers(text) == workers


def test_by_default_there_is_a_process_for_each_core() -> None:
    found = parse_workers(None)

    assert isinstance(found, int)
    assert 1 <= found <= (os.cpu_count() or 1)


@pytest.mark.parametrize("text", ["many", "0", "-1", "1.5", ""])
def test_other_workers_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"`workers` must be"):
        parse_workers(text)
