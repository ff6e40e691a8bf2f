"""`variegate simulate` and `variegate ratios`, as a person runs them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from variegate.cli import commands


def run(*words: str) -> str:
    result = CliRunner().invoke(commands, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def test_simulate_prints_a_row_for_each_policy_and_a_verdict() -> None:
    output = run("simulate", "--rounds", "3", "--runs", "2")

    for label in ("LMDH", "LMDH (greedy, α = 0)", "C2UCB", "LSB", "DC2B", "Uniform"):
        assert label in output
    assert "regret after 3 lists" in output
    assert "times that of random lists" in output
    assert "reconstructed" in output


def test_simulate_gives_the_same_numbers_for_the_same_seed_only() -> None:
    first, again, other = (
        run("simulate", "--rounds", "5", "--runs", "2", "--seed", seed) for seed in "778"
    )

    assert first == again
    assert first != other


def test_simulate_draws_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "regret.png"

    output = run("simulate", "--rounds", "3", "--runs", "1", "--out", str(picture))

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"Results: {picture.name}" in output.replace("\n", "").replace(f"{tmp_path}/", "")


def test_simulate_compares_given_policies_and_writes_them(tmp_path: Path) -> None:
    words = ("--rounds", "3", "--runs", "2", "--policy", "lmdh", "--policy", "lmdh:exploration=0.1")

    output = run("simulate", *words, "--policy", "uniform", "--out", str(tmp_path / "r.json"))

    records = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["records"]
    assert {one["policy"] for one in records} == {"lmdh", "lmdh:exploration=0.1", "uniform"}
    assert [one["round"] for one in records[:3]] == [1, 2, 3]
    assert "lmdh:exploration=0.1" in output
    assert "C2UCB" not in output


def test_ratios_stand_beside_the_papers() -> None:
    output = run("ratios", "--users", "3")

    assert "0.9971" in output
    assert "local" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulate", "--k", "21"], "`k` must be from 1 to 20 (the items), got 21"),
        (["simulate", "--rounds", "0"], "`rounds` must be from 1 to"),
        (["simulate", "--out", "regret.doc"], "`out` must end in .csv"),
        (["simulate", "--policy", "lmhd"], "did you mean"),
        (["ratios", "--users", "0"], "`users` must be from 1 to"),
    ],
)
def test_bad_settings_are_one_line_and_exit_code_1(words: list[str], message: str) -> None:
    result = CliRunner().invoke(commands, words)

    assert result.exit_code == 1
    assert message in result.output


def test_help_has_an_example_for_each_command() -> None:
    for name in commands.commands:
        assert f"variegate {name}" in run(name, "--help")


def test_the_installed_command_runs_in_a_process_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "variegate", "simulate", "--rounds", "2", "--runs", "1"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "LMDH" in done.stdout
    assert done.stderr == ""


def test_without_its_extra_the_command_says_what_to_install() -> None:
    hide_click = (
        "import sys, importlib.util as u; f = u.find_spec;"
        "u.find_spec = lambda name, *rest: None if name == 'click' else f(name, *rest);"
        "from variegate.__main__ import main; main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", hide_click], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr == (
        "variegate: the command line needs click: pip install 'variegate[cli]'\n"
    )
