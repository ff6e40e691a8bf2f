"""`variegate try`, as a person plays it and as a script does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.running import fail
from tests.demo.making import boxes
from variegate import POLICIES, Catalogue
from variegate.cli import commands
from variegate.model.distances import cosine


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """A file of six boxes."""
    boxes().save(tmp_path / "boxes.npz")
    return str(tmp_path / "boxes.npz")


def play(lines: str | bytes, *words: str, columns: int = 80) -> Result:
    result = CliRunner().invoke(
        commands, ["try", *words], input=lines, env={"COLUMNS": str(columns), "NO_COLOR": "1"}
    )
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result


def test_lists_have_numbers_titles_attributes_and_what_is_new(shop: str) -> None:
    lines = play("q\n", "--catalogue", shop, "--k", "3").stdout.splitlines()

    assert any(line.split() == ["colour", "size", "new", "in"] for line in lines)
    assert any(re.fullmatch(r" *1  red 6 +red +6 *", line) for line in lines)
    assert any(re.match(r" *2  blue 1 +blue +1 +(size|colours)", line) for line in lines)


def test_picks_are_learnt_from_and_reported_by_name(shop: str) -> None:
    output = play("1\n1\n", "--catalogue", shop, "--k", "2", "--policy", "lmdh").stdout

    assert "Picked 1 of 2. By list: 1\n" in output
    assert "Picked 1 of 2. By list: 1 1\n" in output
    assert re.search(r"perhaps +red \+0\.50\n", output)
    assert re.search(r"you like +red \+0\.50\n", output)
    assert re.search(r"colours +- +0\.50 +too few to say", output)


def test_the_least_variety_is_reported(shop: str) -> None:
    lines = "The policy uses a weight of at least +0.40 for each."
    words = ("--catalogue", shop, "--k", "2")
    # The floor of lmdp, 0.8 in all, is shared by two distances.
    assert lines in play("1\n", *words).stdout
    assert "at least" not in play("1\n", *words, "--policy", "lmdh").stdout


@pytest.mark.parametrize(
    ("lines", "summary"),
    [
        ("1 2\n\nq\n", "Done: 2 picks of 4 shown."),
        ("1,2\n\n", "Done: 2 picks of 4 shown."),
        ("1 2\n\n1\n", "Done: 3 picks of 6 shown. All items were shown."),
        ("\n", "Done: 0 picks of 2 shown."),
        ("1 2", "Done: 2 picks of 2 shown."),
        ("q\n", "No list was answered, so nothing was learnt."),
        ("", "No list was answered, so nothing was learnt."),
    ],
)
def test_every_end_has_a_summary(shop: str, lines: str, summary: str) -> None:
    assert summary in play(lines, "--catalogue", shop, "--k", "2").stdout


@pytest.mark.parametrize("wrong", ["7", "x", "1 2 9", "-1", "1.5"])
def test_wrong_input_gets_a_line_and_another_chance(shop: str, wrong: str) -> None:
    output = play(f"{wrong}\n1\n", "--catalogue", shop, "--k", "3").stdout

    assert re.search(r"`\S+` is not (a number|in this list): type numbers from 1 to 3", output)
    assert "By list: 1\n" in output
    assert output.count("\nList 1\n") == 1


def test_bytes_that_are_no_text_are_wrong_input(shop: str) -> None:
    output = play(b"\xff\xfe\n1\n", "--catalogue", shop, "--k", "3").stdout
    assert "is not a number" in output
    assert "By list: 1\n" in output


def test_help_and_reasons_do_not_use_up_the_list(shop: str) -> None:
    output = play("?\nw\n2\n", "--catalogue", shop, "--k", "3").stdout

    assert output.count("Enter alone: none of them.") == 2
    assert re.search(r"# +relevance +colours +size +exploration +score", output)
    assert "By list: 1\n" in output


def test_reasons_add_up_to_the_score(shop: str) -> None:
    output = play("1\nw\n", "--catalogue", shop, "--k", "3").stdout

    rows = re.findall(r"^\d  \w+ \d +([+-].*)$", output, re.MULTILINE)
    parts = [[float(number) for number in row.split()] for row in rows]
    assert len(parts) == 3
    assert [sum(row[:-1]) for row in parts] == pytest.approx([row[-1] for row in parts], abs=0.03)


@pytest.mark.parametrize("name", POLICIES)
def test_any_policy_plays(shop: str, name: str) -> None:
    output = play("1\nw\n2\n", "--catalogue", shop, "--k", "3", "--policy", name).stdout
    assert "Done: 2 picks of 6 shown." in output


def test_options_reach_the_policy(shop: str) -> None:
    words = ("--catalogue", shop, "--k", "3", "--policy", "lmdh")
    bold, shy = (play("1\n", *words, "--ridge", ridge).stdout for ridge in ("0.1", "50"))
    never, also_never = (
        play("w\n", *words, *option).stdout
        for option in (["--exploration", "0"], ["--policy", "lmdh:exploration=0"])
    )

    assert re.search(r"red \+0\.60", bold)
    assert re.search(r"red \+0\.02", shy)
    assert re.search(r"1  red 6 +(\+0\.00 +){4}\+0\.00", never)
    assert never == also_never


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--k", "7"], "`k` must be from 1 to 6 (the items), got 7"),
        (["--policy", "lmhd"], "did you mean 'lmdh'?"),
        (["--policy", "popular", "--ridge", "1"], "`option of popular` must be one of"),
        (["--policy", "lmdh", "--ridge", "0"], "`ridge` must be a number greater than 0, got 0.0"),
        (["--exploration", "-1"], "`exploration` must be"),
    ],
)
def test_bad_settings_are_one_line(shop: str, words: list[str], message: str) -> None:
    assert message in fail("try", "--catalogue", shop, *words)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    assert "no catalogue at" in fail("try", "--catalogue", str(tmp_path / "none.npz"))


def test_titles_are_printed_as_they_are_on_one_line(tmp_path: Path) -> None:
    odd = Catalogue(
        ["a", "b"],
        [[1.0, 0.0], [0.0, 1.0]],
        cosine(),
        titles=["[bold]Brackets[/bold]", "two\nlines"],
    )
    odd.save(tmp_path / "odd.npz")

    output = play("1\n", "--catalogue", str(tmp_path / "odd.npz"), "--k", "2").stdout

    assert "1  [bold]Brackets[/bold]" in output
    assert "2  two lines" in output


def test_a_catalogue_without_distances_plays(tmp_path: Path) -> None:
    plain = Catalogue(list("abcd"), [[1.0], [0.5], [0.2], [0.1]], [], feature_names=["size"])
    plain.save(tmp_path / "plain.npz")

    output = play("1\nw\n", "--catalogue", str(tmp_path / "plain.npz"), "--k", "2").stdout

    assert "size +" in output
    assert "variety of" not in output


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    pytest.importorskip("bokeh_sampledata", reason="the extra `films` is not installed")

    output = play("1 2 4\nw\n3 5\n1\n", columns=columns).stdout

    # Talk is folded by the terminal; lists and tables are made to fit.
    tables = [line for line in output.splitlines() if re.match(r" *\d+  |\w+ +\d\.\d\d", line)]
    assert len(tables) > 40
    assert max(len(line.rstrip()) for line in tables) <= columns


def test_the_films_are_played_over_a_pipe() -> None:
    pytest.importorskip("bokeh_sampledata", reason="the extra `films` is not installed")

    done = subprocess.run(
        [sys.executable, "-m", "variegate", "try"],
        input="2\n1 3\n\n",
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "1,500 items, LMDP. You are the user." in done.stdout
    assert "Done: 3 picks of 30 shown. By list: 1 2 0" in done.stdout
    assert "\x1b" not in done.stdout


def test_ctrl_c_ends_with_the_summary(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["1"])

    def typed(prompt: str) -> str:
        assert prompt == "Your picks: "
        for answer in answers:
            return answer
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", typed)

    assert "Done: 1 picks of 3 shown." in play("", "--catalogue", shop, "--k", "3").stdout
