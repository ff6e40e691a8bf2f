"""`python -m experiments`, with a plan that takes seconds."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments import plan, report
from experiments.__main__ import reproduce
from experiments.claims import CLAIMS, judged
from experiments.results import Results
from tests.cli.running import archive
from tests.experiments.making import TINY_PLAN
from variegate.evaluation.metrics import Scores

pytest.importorskip("cornac", reason="cornac is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

#: Whatever a page would ask a host for.
ASKS = re.compile(
    r"""(?:src|srcset|action|data|poster)\s*=\s*["']\s*(?:https?:)?//|<link\b|<script\b|@import"""
    r"""|url\(\s*["']?\s*(?:https?:)?//"""
)


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
class Run:
    """What a run wrote and said."""

    out: Path
    docs: Path
    told: list[str]

    @property
    def words(self) -> tuple[object, ...]:
        return ("--quick", "--workers", 1, "--out", self.out)


@pytest.fixture(scope="module")
def ml_100k() -> Path:
    """Return the real archive; a module's fixtures come before the data folder is changed."""
    return archive("ml-100k.zip")


@pytest.fixture(autouse=True)
def tiny(movielens: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let quick be quicker still."""
    monkeypatch.setattr(plan, "quick_plan", lambda: TINY_PLAN)
    return movielens


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> list[Results]:
    """Return where results go in place of a report: drawing takes far longer than measuring."""
    seen: list[Results] = []

    def note(results: Results, out: Path) -> Path:
        seen.append(results)
        return out / "report.html"

    monkeypatch.setattr(report, "write_report", note)
    return seen


@pytest.fixture(scope="module")
def reproduced(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run in which two of the data sets are not there."""
    out, docs = tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("docs")
    started = Run(out, docs, [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "quick_plan", lambda: TINY_PLAN)
        patch.setenv("VARIEGATE_DATA", str(kept))
        patch.setenv("XDG_DATA_HOME", str(kept / "nothing"))
        patch.setenv("VARIEGATE_CACHE", str(kept / "cache"))
        output = run(*started.words, "--docs", docs)
    return replace(started, told=output.splitlines())


def test_paths_and_what_was_left_out_are_told(reproduced: Run) -> None:
    without, also_without, *paths = reproduced.told

    assert without.startswith("without ml-1m: ml-1m is not in ")
    assert "run `variegate fetch ml-1m`" in without
    assert also_without.startswith("without anime: anime is not in ")
    assert paths == [
        f"Report: {reproduced.out / 'report.html'}",
        f"Page: {reproduced.docs / 'reproduction.md'}",
        f"Page: {reproduced.docs / 'beyond-figures.md'}",
    ]


def test_nothing_but_lines_where_nobody_watches(reproduced: Run) -> None:
    assert "\x1b" not in "".join(reproduced.told)
    assert len(reproduced.told) == 5


def test_report_needs_nothing_else(reproduced: Run) -> None:
    page = (reproduced.out / "report.html").read_text()

    assert not ASKS.search(page)
    assert page.count('src="data:image/svg+xml;base64,') == page.count("<img ") > 5
    assert "quick run" in page


def test_report_tells_the_command_and_the_seeds(reproduced: Run) -> None:
    page = (reproduced.out / "report.html").read_text()

    command = (
        f"python -m experiments --quick --out {reproduced.out} --workers 1 --docs {reproduced.docs}"
    )
    assert f"<dt>command</dt><dd>{command}</dd>" in page
    assert "<dt>seeds: splits</dt><dd>0, 1</dd>" in page
    assert "<dt>seeds: simulation</dt><dd>0</dd>" in page


def test_results_are_whole_json(reproduced: Run) -> None:
    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} is no JSON")

    text = (reproduced.out / "results.json").read_text()

    found = json.loads(text, parse_constant=refuse)
    assert [claim["name"] for claim in found["claims"]] == [claim.name for claim in CLAIMS]
    assert found["quick"] is True
    assert found["facts"]["plan"]["datasets"] == ["ml-100k"]
    assert len(found["replays"]["ml-100k"]) == 10


def test_figures_are_beside_the_report_in_both_formats(reproduced: Run) -> None:
    figures = reproduced.out / "figures"

    pictures = {path.stem for path in figures.glob("*.png")}
    assert len(pictures) > 5
    assert {path.stem for path in figures.glob("*.svg")} == pictures


def test_report_has_the_chapter_beyond_the_paper(reproduced: Run) -> None:
    page = (reproduced.out / "report.html").read_text()

    assert '<section id="beyond">' in page
    assert "`variegate tune`" in page


@pytest.mark.parametrize(
    ("only", "measured"), [("paper", (True, False)), ("beyond", (False, True))]
)
def test_one_chapter_can_be_run_alone(
    reproduced: Run, undrawn: list[Results], only: str, measured: tuple[bool, bool]
) -> None:
    run(*reproduced.words, "--dataset", "ml-100k", "--only", only)

    (results,) = undrawn
    assert (bool(results.replays), results.beyond is not None) == measured


def test_page_for_the_documents_says_what_made_it(reproduced: Run) -> None:
    page = (reproduced.docs / "reproduction.md").read_text()

    assert (
        f"Made by `python -m experiments --quick --out {reproduced.out} --workers 1 --docs" in page
    )
    named = re.findall(r"\]\((pictures/\S+)\)", page)
    assert len(named) > 5
    assert [name for name in named if not (reproduced.docs / name).is_file()] == []


@pytest.mark.usefixtures("undrawn")
def test_second_run_measures_nothing_again(reproduced: Run) -> None:
    measured = reproduced.out / "measured"
    before = {path: path.stat().st_mtime_ns for path in measured.glob("*.npz")}

    run(*reproduced.words, "--dataset", "ml-100k")

    assert {path: path.stat().st_mtime_ns for path in measured.glob("*.npz")} == before
    # Four arrays, then ten policies on two splits, four settings and three of another length
    assert len(before) > 4 + 20 + 4 + 3
    scores = [Scores.load(path).settings for path in before if path.name.startswith("scores-")]
    of_the_paper = [one for one in scores if {"items", "prior"}.isdisjoint(one)]
    assert {"lmdh", "lsb", "mmr:trade_off=0.5"} <= {one["policy"] for one in of_the_paper}


@pytest.mark.usefixtures("undrawn")
def test_bars_are_drawn_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")

    output = run("--quick", "--workers", 1, "--out", tmp_path)

    assert "approximation ratios (none)" in output
    assert "split 1, K = 3: 10 policies" in output


def test_folder_of_other_settings_is_refused_with_words(
    reproduced: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "quick_plan", lambda: replace(TINY_PLAN, rounds=4))

    assert fail(*reproduced.words, "--dataset", "ml-100k").endswith(
        "measured holds results of other settings (rounds differ): choose another folder, or "
        "delete it"
    )


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (["--dataset", "ml-100"], "got 'ml-100': did you mean 'ml-100k'?"),
        (["--workers", "0"], "`workers` must be from 1 to 10000 (the most that make sense), got 0"),
    ],
)
def test_what_will_not_do_is_one_line(tmp_path: Path, told: list[str], message: str) -> None:
    assert fail("--quick", "--out", tmp_path / "out", *told).endswith(message)
    assert not (tmp_path / "out").exists()


def test_no_data_at_all_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIEGATE_DATA", str(tmp_path))

    line = fail("--quick", "--out", tmp_path / "out")

    assert line.startswith(f"no data set is there: ml-100k is not in {tmp_path}: run `variegate ")
    assert "log in at https://www.kaggle.com/" in line


def test_command_is_told_as_it_was_typed(undrawn: list[Results], tmp_path: Path) -> None:
    out = tmp_path / "a folder"

    run("--dataset", "ml-100k", "--quick", "--out", out, "--workers", 1)

    assert undrawn[0].facts["command"] == (
        f"python -m experiments --quick --out '{out}' --dataset ml-100k --workers 1"
    )


def test_movielens_100k_is_reproduced(
    ml_100k: Path, undrawn: list[Results], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIEGATE_DATA", str(ml_100k.parent))
    few = replace(TINY_PLAN, splits=1, users={"ml-100k": 4})
    monkeypatch.setattr(plan, "quick_plan", lambda: few)

    run(
        *("--quick", "--workers", 1, "--out", tmp_path),
        *("--dataset", "ml-100k", "--only", "paper"),
    )

    (results,) = undrawn
    verdicts = {claim.name: verdict for claim, verdict in judged(results).claims.items()}
    assert verdicts["table-1"].status == "holds"
    assert len(results.replays["ml-100k"]["lmdh"][0].recall) == 4


@pytest.mark.parametrize("text", ["ml-1m", "ml-1m=", "ml-1m=many", "ml-1m=0"])
def test_users_that_are_no_number_are_refused(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("experiments.__main__._paths", lambda _names: ({"ml-1m": tmp_path}, {}))

    assert "`--users` must read data set=number, got" in fail("--users", text)
