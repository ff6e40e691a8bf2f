"""`variegate compare`, on made likes."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.running import fail, run
from tests.extras import needs
from variegate.evaluation.bootstrap import MEASURES

pytestmark = needs("cornac")

SHORT = ("--rounds", 6, "--k", 4, "--workers", 1)


def test_each_rival_has_a_table_of_rounds_by_measures(likes: Path) -> None:
    output = run("compare", likes, "lmdh", "logrank", "uniform", *SHORT)

    assert re.findall(r"^lmdh minus (\w+)$", output, re.MULTILINE) == ["logrank", "uniform"]
    assert "± half of the 95% interval over users" in output
    assert output.count("".join(f"{measure:>16}" for measure in MEASURES).strip()) <= 2
    starts = [line[:10].strip() for line in output.splitlines() if " ±" in line]
    assert starts == ["t = 1", "t = 5", "t = 6", "all rounds"] * 2


def test_fitted_priors_can_be_compared(likes: Path) -> None:
    output = run("compare", likes, "lmdp:prior=fit", "ease", "lmdp", *SHORT)

    assert re.findall(r"^lmdp:prior=fit minus (.+)$", output, re.MULTILINE) == [
        "ease",
        "lmdp",
    ]


def test_tables_fit_80_columns_and_cut_no_number(likes: Path) -> None:
    output = run("compare", likes, "lmdh:normaliser=growing,exploration=1.0", "mmr", *SHORT)

    assert max(map(len, output.splitlines()[1:])) <= 80
    assert "…" not in output
    assert "\x1b" not in output


def test_star_marks_the_intervals_that_leave_out_zero(likes: Path) -> None:
    words = ("compare", likes, "popular", "uniform", *SHORT)

    (found,) = json.loads(run(*words, "--json"))
    table = run(*words)

    cells = re.findall(r"(\*?)([+-]\d\.\d{3}) ±(\d\.\d{3})", table)
    shown = [
        (
            "*" if found[m]["low"][t] > 0 or found[m]["high"][t] < 0 else "",
            f"{found[m]['mean'][t]:+.3f}",
            f"{(found[m]['high'][t] - found[m]['low'][t]) / 2:.3f}",
        )
        for t in (0, 4, 5)
        for m in MEASURES
    ]
    assert cells[:12] == shown
    assert {star for star, _, _ in cells} == {"", "*"}


def test_json_has_intervals_for_every_round_and_over_all(likes: Path) -> None:
    output = run("compare", likes, "lmdh", "logrank", "mmr", *SHORT, "--json")

    found = json.loads(output)
    assert output.count("\n") == 1
    assert [(one["ours"], one["theirs"]) for one in found] == [("lmdh", "logrank"), ("lmdh", "mmr")]
    for measure in MEASURES:
        one = found[0][measure]
        assert len(one["mean"]) == len(one["low"]) == len(one["high"]) == 6
        assert one["all rounds"]["low"] <= one["all rounds"]["mean"] <= one["all rounds"]["high"]


def test_policy_is_level_with_itself(likes: Path) -> None:
    (found,) = json.loads(run("compare", likes, "lmdh", "lmdh", *SHORT, "--json"))

    assert found["F1"] == {
        "mean": [0.0] * 6,
        "low": [0.0] * 6,
        "high": [0.0] * 6,
        "all rounds": {"mean": 0.0, "low": 0.0, "high": 0.0},
    }


def test_order_of_the_two_turns_the_sign(likes: Path) -> None:
    (ahead,) = json.loads(run("compare", likes, "lmdh", "mmr", *SHORT, "--json"))
    (behind,) = json.loads(run("compare", likes, "mmr", "lmdh", *SHORT, "--json"))

    assert ahead["recall"]["mean"] == [-mean for mean in behind["recall"]["mean"]]
    assert ahead["recall"]["low"] == pytest.approx([-high for high in behind["recall"]["high"]])


def test_users_who_like_no_candidate_are_reported(likes: Path) -> None:
    assert run("compare", likes, "lmdh", "mmr", *SHORT, "--splits", 2).startswith("split 1 of 2: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lmhd", "mmr"], "got 'lmhd': did you mean 'lmdh'?"),
        (["lmdh", "mrm"], "got 'mrm': did you mean 'mmr'?"),
        (["lmdh", "mmr:tradeoff=1"], "got 'tradeoff': did you mean 'trade_off'?"),
    ],
)
def test_unknown_names_are_one_line_with_the_nearest(
    likes: Path, words: list[str], message: str
) -> None:
    assert message in fail("compare", likes, *words)
