"""The benchmark runs and writes its results. No test checks how fast anything is."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmarks")
    parts = [word for part in ("lists", "growth", "learning") for word in ("--only", part)]
    done = run("--quick", *parts, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def results(out: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return read


def test_results_hold_the_parts_that_were_asked_for(results: dict[str, Any]) -> None:
    assert list(results["parts"]) == ["lists", "growth", "learning"]
    assert results["quick"] is True
    assert {"processor", "cores", "Python"} <= set(results["machine"])


def test_medians_and_ratios_belong_together(results: dict[str, Any]) -> None:
    rows = [row for part in results["parts"].values() for row in part["comparisons"]]
    assert [row["ratio"] for row in rows] == [row["theirs"] / row["ours"] for row in rows]
    assert all(row["low"] <= row["high"] for row in rows)


def test_measured_lists_are_those_of_the_paper(results: dict[str, Any]) -> None:
    facts = results["parts"]["lists"]["facts"]
    assert facts["shapes where the list is the paper's, item by item"] == facts["shapes"] == 2


def test_states_have_the_documented_size(results: dict[str, Any]) -> None:
    facts = results["parts"]["learning"]["facts"]
    measured = {name: value for name, value in facts.items() if name.startswith("bytes of a state")}
    assert {name.replace("of a state", "by the formula") for name in measured} <= set(facts)
    assert all(
        facts[name.replace("of a state", "by the formula")] == value
        for name, value in measured.items()
    )


def test_bars_are_judged_only_where_they_were_measured(results: dict[str, Any]) -> None:
    verdicts = {row["what"]: (row["value"], row["verdict"]) for row in results["bars"]}
    assert verdicts["bytes of a user's state, d = 10, m = 1"] == (670, "met")
    assert verdicts["LMDH's list of 10 against MABWiser's LinUCB, L = 1,447"] == (
        None,
        "not measured",
    )


@pytest.mark.parametrize("plot", ["ratios", "growth"])
def test_plots_are_written_and_shown(out: Path, plot: str) -> None:
    picture = out / "pictures" / "benchmarks" / f"{plot}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    page = (out / "benchmarks.md").read_text(encoding="utf-8")
    assert f"(pictures/benchmarks/{plot}.png)" in page


def test_page_says_that_a_quick_run_means_little(out: Path) -> None:
    page = (out / "benchmarks.md").read_text(encoding="utf-8")
    assert page.startswith("# Benchmarks\n")
    assert "numbers mean little" in page
    assert "## LMDH's list" in page


def test_page_is_made_again_from_the_results(out: Path) -> None:
    page = out / "benchmarks.md"
    before = page.read_text(encoding="utf-8")
    page.unlink()
    assert run("--redraw", "--out", str(out)).returncode == 0
    assert page.read_text(encoding="utf-8") == before


def test_unknown_part_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    done = run("--quick", "--only", "list", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "did you mean 'lists'?" in done.stderr
    assert "Traceback" not in done.stderr
