"""`variegate sweep`, on made likes."""

import csv
import json
import re
from pathlib import Path

import pytest

from tests.cli.running import fail, run, run_with_errors
from tests.extras import needs

pytestmark = needs("cornac")

SHORT = ("--rounds", 3, "--k", 4, "--workers", 1)


def test_every_combination_has_a_row_under_its_length(likes: Path) -> None:
    output = run(
        *("sweep", likes, *SHORT),
        *("--vary", "ridge=1,50", "--vary", "exploration=0,2", "--vary", "k=2,3"),
    )

    assert re.findall(r"^lmdh, lists of (\d)$", output, re.MULTILINE) == ["2", "3"]
    assert (
        re.findall(r"^ridge=(\d+),exploration=(\d)", output, re.MULTILINE)
        == [
            ("1", "0"),
            ("1", "2"),
            ("50", "0"),
            ("50", "2"),
        ]
        * 6
    )
    heads = re.findall(r"^(F1|recall|diversity) ", output, re.MULTILINE)
    assert heads == ["F1", "recall", "diversity"] * 2
    assert "± standard error over users" in output


def test_all_settings_are_written_to_a_file(likes: Path, tmp_path: Path) -> None:
    words = ("--vary", "ridge=1,50", "--vary", "k=2,3", "--out", tmp_path / "all.csv")

    result = run_with_errors("sweep", likes, *SHORT, *words)

    rows = list(csv.DictReader((tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()))
    assert f"Results: {tmp_path / 'all.csv'}\n" in result
    assert {row["policy"] for row in rows} == {
        f"lmdh:ridge={ridge}, k={k}" for ridge in (1, 50) for k in (2, 3)
    }
    assert {row["measure"] for row in rows} == {"recall", "diversity", "F1", "F2"}


def test_tables_fit_80_columns_and_cut_no_number(likes: Path) -> None:
    output = run(
        *("sweep", likes, "--rounds", 31, "--k", 1, "--workers", 1),
        *("--vary", "normaliser=none,fixed", "--vary", "search=greedy,non-oblivious"),
    )

    assert max(map(len, output.splitlines()[1:])) <= 80
    assert not re.search(r"\d…", output)
    assert "\x1b" not in output


def test_json_names_policy_and_length(likes: Path) -> None:
    output = run("sweep", likes, *SHORT, "--vary", "ridge=1,50", "--vary", "k=2,3", "--json")

    found = json.loads(output)
    assert output.count("\n") == 1
    assert [(one["policy"], one["k"]) for one in found] == [
        ("lmdh:ridge=1", 2),
        ("lmdh:ridge=50", 2),
        ("lmdh:ridge=1", 3),
        ("lmdh:ridge=50", 3),
    ]
    assert len(found[0]["recall"]["mean"]) == 3


def test_numbers_are_those_of_a_replay(likes: Path) -> None:
    (swept,) = json.loads(run("sweep", likes, *SHORT, "--vary", "ridge=7", "--json"))
    replayed = json.loads(run("replay", likes, *SHORT, "--policy", "lmdh:ridge=7", "--json"))

    assert {name: swept[name] for name in replayed["lmdh:ridge=7"]} == replayed["lmdh:ridge=7"]


def test_options_that_were_set_stay(likes: Path) -> None:
    words = ("--policy", "lmdh:normaliser=none", "--vary", "ridge=1", "--json")

    (found,) = json.loads(run("sweep", likes, *SHORT, *words))

    assert found["policy"] == "lmdh:normaliser=none,ridge=1"


def test_policy_with_a_fitted_prior_can_be_varied(likes: Path) -> None:
    words = ("--policy", "lmdp:prior=fit", "--vary", "floor=0,9", "--json")

    found = json.loads(run("sweep", likes, *SHORT, *words))

    assert [one["policy"] for one in found] == [
        "lmdp:prior=fit,floor=0",
        "lmdp:prior=fit,floor=9",
    ]
    little, much = (one["diversity"]["mean"][0] for one in found)
    assert little < much


def test_k_alone_can_be_varied(likes: Path) -> None:
    found = json.loads(
        run("sweep", likes, *SHORT, "--policy", "mmr", "--vary", "k=3,1,3", "--json")
    )

    assert [(one["policy"], one["k"]) for one in found] == [("mmr", 3), ("mmr", 1)]


def test_values_in_brackets_stay_together(likes: Path) -> None:
    words = ("--policy", "dc2b", "--vary", "hyperprior=[1,2],[2,1]", "--json")

    found = json.loads(run("sweep", likes, *SHORT, *words))

    assert [one["policy"] for one in found] == ["dc2b:hyperprior=[1,2]", "dc2b:hyperprior=[2,1]"]


@pytest.mark.parametrize(
    ("varied", "message"),
    [
        ("ridge", "`--vary` must read option=value,value,..., got 'ridge'"),
        ("ridge=", "`--vary` must read option=value,value,..., got 'ridge='"),
        ("=1,2", "`--vary` must read option=value,value,..., got '=1,2'"),
        ("k=5,ten", "`k` must be a whole number, got 'ten'"),
        ("k=0", "`k` must be from 1 to 100000 (the most that make sense), got 0"),
        ("rigde=1", "got 'rigde': did you mean 'ridge'?"),
        ("normaliser=growng", "got 'growng': did you mean 'growing'?"),
        ("ridge=-1", "`ridge` must be a number greater than 0, got -1"),
    ],
)
def test_what_cannot_be_varied_is_one_line(likes: Path, varied: str, message: str) -> None:
    assert fail("sweep", likes, "--vary", varied).endswith(message)


def test_unknown_policy_is_one_line_with_the_nearest(likes: Path) -> None:
    line = fail("sweep", likes, "--policy", "lmhd", "--vary", "ridge=1")

    assert line.endswith("got 'lmhd': did you mean 'lmdh'?")
