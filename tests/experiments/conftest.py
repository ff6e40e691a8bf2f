"""One tiny run of everything, shared by the tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.__main__ import reproduce
from experiments.report import write_report
from experiments.results import Results
from experiments.simulated.world import Size
from tests.evaluation.replaying import write_movielens
from tests.experiments.making import TINY_PLAN


def run(*words: object) -> str:
    """Return what the command prints when it succeeds."""
    result = CliRunner().invoke(reproduce, list(map(str, words)))
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def fail(*words: object) -> str:
    """Return the one line that the command prints when it fails."""
    result = CliRunner().invoke(reproduce, list(map(str, words)))
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line.removeprefix("Error: ")


@dataclass(frozen=True)
class TinyRun:
    """The folders, the output and the results of the shared run."""

    out: Path
    docs: Path
    data: Path
    lines: list[str]
    results: Results


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with made-up likes in the files of MovieLens-100K, and nothing else."""
    folder = tmp_path_factory.mktemp("data")
    write_movielens(folder)
    return folder


@contextmanager
def only_data_in(data: Path) -> Iterator[pytest.MonkeyPatch]:
    """Look for data sets in that folder only; `--quick` is a run of seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.__main__.quick_plan", lambda: TINY_PLAN)
        patch.setattr("experiments.simulated.cold_start.TRAINING", Size(runs=50, rounds=1))
        patch.setenv("VARIEGATE_DATA", str(data))
        patch.setenv("VARIEGATE_CACHE", str(data / "cache"))
        patch.setenv("XDG_DATA_HOME", str(data / "nothing"))
        patch.delenv("FORCE_COLOR", raising=False)
        yield patch


@pytest.fixture
def data_only_here(data: Path) -> Iterator[pytest.MonkeyPatch]:
    """Look for data sets in the folder of made-up data only."""
    with only_data_in(data) as patch:
        yield patch


@pytest.fixture(scope="session")
def tiny_run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> TinyRun:
    """Run the command once, with two of the data sets missing."""
    pytest.importorskip("cornac", reason="cornac is not installed")
    out, docs = tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("docs")
    seen: list[Results] = []

    def note_results(results: Results, folder: Path) -> Path:
        seen.append(results)
        return write_report(results, folder)

    with only_data_in(data) as patch:
        patch.setattr("experiments.__main__.write_report", note_results)
        printed = run("--quick", "--workers", 1, "--out", out, "--docs", docs)
    return TinyRun(out, docs, data, printed.splitlines(), seen[0])
