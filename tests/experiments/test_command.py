"""`python -m experiments`, with a plan that takes seconds."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.claims import CLAIMS, judge
from experiments.results import Results
from tests.cli.running import archive
from tests.experiments.conftest import TinyRun, fail, run
from tests.experiments.making import TINY_PLAN


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Results]:
    """Return where results go instead of a report: drawing takes longer than measuring."""
    results: list[Results] = []

    def note(found: Results, out: Path) -> Path:
        results.append(found)
        return out / "report.html"

    monkeypatch.setattr("experiments.__main__.write_report", note)
    return results


def test_paths_and_missing_data_sets_are_printed_without_colours(tiny_run: TinyRun) -> None:
    without, also_without, *paths = tiny_run.lines

    assert without.startswith("without ml-1m: ml-1m is not in ")
    assert "run `variegate fetch ml-1m`" in without
    assert also_without.startswith("without anime: anime is not in ")
    assert paths == [
        f"Report: {tiny_run.out / 'report.html'}",
        f"Page: {tiny_run.docs / 'reproduction.md'}",
        f"Page: {tiny_run.docs / 'beyond-figures.md'}",
    ]
    assert "\x1b" not in "".join(tiny_run.lines)


def test_report_has_the_command_the_seeds_and_every_claim(tiny_run: TinyRun) -> None:
    page = (tiny_run.out / "report.html").read_text()

    command = (
        f"python -m experiments --quick --out {tiny_run.out} --workers 1 --docs {tiny_run.docs}"
    )
    assert f"<li>command: {command}</li>" in page
    assert "<li>seeds: splits: 0, 1</li>" in page
    assert "A quick run" in page
    assert "<h1 " in page[page.index("What the paper leaves open</h2>") :]
    found = json.loads((tiny_run.out / "results.json").read_text())
    assert [claim["name"] for claim in found["claims"]] == [claim.name for claim in CLAIMS]
    assert found["facts"]["plan"]["datasets"] == ["ml-100k"]
    assert len(found["replays"]["ml-100k"]) == 10


def test_figures_are_beside_the_report_in_both_formats(tiny_run: TinyRun) -> None:
    figures = tiny_run.out / "figures"

    names = {path.stem for path in figures.glob("*.png")}
    assert len(names) > 20
    assert {path.stem for path in figures.glob("*.svg")} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in figures.glob("*.png"))


@pytest.mark.parametrize("name", ["reproduction.md", "beyond-figures.md"])
def test_pages_for_the_documents_name_the_command_and_their_figures(
    tiny_run: TinyRun, name: str
) -> None:
    page = (tiny_run.docs / name).read_text()

    assert f"Made by `python -m experiments --quick --out {tiny_run.out}" in page
    named = re.findall(r"\]\((pictures/\S+)\)", page)
    assert len(named) > 5
    assert [figure for figure in named if not (tiny_run.docs / figure).is_file()] == []


@pytest.mark.usefixtures("data_only_here")
@pytest.mark.parametrize("only", ["paper", "beyond"])
def test_one_chapter_can_be_run_alone_and_measures_nothing_again(
    tiny_run: TinyRun, seen: list[Results], only: str
) -> None:
    measured = tiny_run.out / "measured"
    before = {path: path.stat().st_mtime_ns for path in measured.glob("*.npz")}

    run("--quick", "--workers", 1, "--out", tiny_run.out, "--dataset", "ml-100k", "--only", only)

    (results,) = seen
    assert (bool(results.replays), results.beyond.is_measured) == (only == "paper", only != "paper")
    assert {path: path.stat().st_mtime_ns for path in measured.glob("*.npz")} == before


def test_progress_is_drawn_on_a_terminal_and_the_command_is_quoted(
    data_only_here: pytest.MonkeyPatch, seen: list[Results], tmp_path: Path
) -> None:
    out, few = tmp_path / "a folder", replace(TINY_PLAN, splits=1, readings=("none",))
    with data_only_here.context() as patch:
        patch.setattr("experiments.__main__.quick_plan", lambda: few)
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("FORCE_COLOR", "1")
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", "80")
        words = ("--dataset", "ml-100k", "--quick", "--only", "paper", "--workers", 1)
        output = run(*words, "--out", out)

    assert "approximation ratios (none)" in output
    assert "split 1, K = 3: 10 policies" in output
    assert seen[0].facts["command"] == (
        f"python -m experiments --quick --out '{out}' --dataset ml-100k --workers 1 --only paper"
    )


@pytest.mark.usefixtures("data_only_here")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dataset", "ml-100"], "got 'ml-100': did you mean 'ml-100k'?"),
        (["--workers", "0"], "`workers` must be from 1 to 10000 (the most that make sense), got 0"),
        (["--synthetic", "--dataset", "ml-1m"], "likes of its own: leave out --dataset and --docs"),
        (["--users", "ml-1m"], "`--users` must be data set=number, got 'ml-1m'"),
        (["--users", "ml-1m=many"], "`--users` must be data set=number, got 'ml-1m=many'"),
        (["--users", "ml-1m=0"], "`--users` must be data set=number, got 'ml-1m=0'"),
    ],
)
def test_invalid_options_are_refused_in_one_line(
    tmp_path: Path, words: list[str], message: str
) -> None:
    assert fail("--quick", "--out", tmp_path / "out", *words).endswith(message)
    assert not (tmp_path / "out").exists()


def test_without_any_data_set_the_message_tells_how_to_get_one(
    data_only_here: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with data_only_here.context() as patch:
        patch.setenv("VARIEGATE_DATA", str(tmp_path))
        line = fail("--quick", "--out", tmp_path / "out")

    assert line.startswith(f"no data set was found in {tmp_path}: `variegate fetch ml-100k` gets ")
    assert "`python -m experiments --synthetic` needs none" in line


def test_movielens_100k_has_the_papers_sizes(
    data_only_here: pytest.MonkeyPatch, seen: list[Results], tmp_path: Path
) -> None:
    few = replace(TINY_PLAN, splits=1, users={"ml-100k": 4}, readings=("none",))
    with data_only_here.context() as patch:
        patch.delenv("VARIEGATE_DATA")
        patch.setenv("VARIEGATE_DATA", str(archive("ml-100k.zip").parent))
        patch.setattr("experiments.__main__.quick_plan", lambda: few)
        words = ("--workers", 1, "--dataset", "ml-100k", "--only", "paper")
        run("--quick", "--out", tmp_path, *words)

    (results,) = seen
    verdicts = {claim.name: verdict for claim, verdict in judge(results).claims.items()}
    assert verdicts["table-1"].status == "holds"
    assert len(results.replays["ml-100k"]["lmdh"][0].recall) == 4
