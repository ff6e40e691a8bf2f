"""`variegate plan`: the table, the advice, the assumptions."""

import json

from click.testing import CliRunner

from variegate.cli import commands


def test_plan_prints_needs_bottlenecks_and_assumptions() -> None:
    run = CliRunner(env={"COLUMNS": "120"}).invoke(commands, ["plan"])

    assert run.exit_code == 0
    for words in ("1 million", "100 million", "1 billion", "worker processes", "Next bottleneck"):
        assert words in run.stdout
    assert "Assumed: 3 lists per user and day" in run.stdout


def test_plan_as_json_holds_all_numbers() -> None:
    options = ["--users", "1e6", "--lists-per-day", "1", "--catalogue", "1e6", "--json"]

    found = json.loads(CliRunner().invoke(commands, ["plan", *options]).stdout)

    assert [one["load"]["catalogue"] for one in found] == [1e6]
    assert found[0]["scoring_seconds"] > 0
    assert set(found[0]["shares"]) >= {"storage", "random I/O"}


def test_wrong_options_are_one_line() -> None:
    run = CliRunner().invoke(commands, ["plan", "--peak", "0.5"])

    assert (run.exit_code, run.stderr) == (1, "Error: `peak` must be at least 1, got 0.5\n")
