"""`variegate replay`, on made likes."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import archive, fail, in_a_process, run
from tests.extras import needs
from variegate.cli.replay import DEFAULT_POLICIES
from variegate.data.tables import load_table
from variegate.evaluation import evaluate
from variegate.evaluation.bootstrap import MEASURES
from variegate.evaluation.replay import replay_task

pytestmark = needs("cornac")

#: Enough for every table, and quick.
SHORT = ("--rounds", 3, "--k", 4, "--workers", 1)
TWO = ("--policy", "lmdh", "--policy", "logrank")

OWN = '''
"""A custom policy, which is in no package."""

import numpy as np

from variegate import Policy
from variegate.policies import Explanation
from variegate.model.search import FixedScores


class InOrder(Policy):
    """The first item first, or the last."""

    name = "in-order"

    def __init__(self, catalogue, *, step=1.0):
        super().__init__(catalogue)
        self.step = step

    def _scorer(self, rows, k, rng):
        return FixedScores(-self.step * rows)

    def _explain(self, slate):
        k = len(slate)
        return Explanation(-self.step * slate.items, np.zeros((k, 0)), np.zeros(k), ())
'''


def rows(output: str, name: str) -> list[list[str]]:
    """Return the cells of each row of a policy."""
    lines = [line for line in output.splitlines() if line.startswith(name + " ")]
    return [re.split(r"  +", line.strip())[1:] for line in lines]


def played_in_order(likes: Path, step: int) -> list[float]:
    """Return the recall after one and after two lists of the first four, or last four, items."""
    task = replay_task(load_table(likes))
    rows = list(range(len(task.catalogue)))[::step]
    shares = [
        [len({*rows[: 4 * t]} & {*liked}) / len(liked) for t in (1, 2)] for liked in task.likes
    ]
    return [float(mean) for mean in np.mean(shares, axis=0)]


def test_tables_have_a_row_for_each_policy(likes: Path) -> None:
    output = run("replay", likes, *SHORT, *TWO)

    heads = [line.split()[0] for line in output.splitlines() if "t = 1" in line]
    assert heads == list(MEASURES)
    assert [len(cells) for cells in rows(output, "lmdh")] == [2, 2, 2, 2, 5]
    assert all(
        re.fullmatch(r"\d\.\d{3} ±\d\.\d{3}", cell)
        for cells in rows(output, "logrank")[:4]
        for cell in cells
    )


def test_users_who_like_no_candidate_are_reported(likes: Path) -> None:
    task = replay_task(load_table(likes))

    output = run("replay", likes, *SHORT, *TWO)

    assert task.left_out > 0
    assert output.startswith(
        f"split 1 of 1: {task.left_out} test users like no candidate and are left out\n"
    )


def test_without_policies_those_of_the_paper_are_replayed(likes: Path) -> None:
    found = json.loads(run("replay", likes, *SHORT, "--json"))

    assert tuple(found) == DEFAULT_POLICIES


def test_json_has_every_round_and_nothing_beside(likes: Path) -> None:
    output = run("replay", likes, *SHORT, *TWO, "--splits", 2, "--json")

    found = json.loads(output)
    assert output.count("\n") == 1
    assert list(found) == ["lmdh", "logrank"]
    assert [len(found["lmdh"][measure]["mean"]) for measure in MEASURES] == [3] * 4
    assert [len(found["lmdh"][measure]["standard_error"]) for measure in MEASURES] == [3] * 4
    assert len(found["lmdh"]["users"]) == 2
    assert np.add(found["lmdh"]["users"], found["lmdh"]["left_out"]).tolist() == [10, 10]
    assert 0 < found["lmdh"]["coverage"] <= 1
    assert {"label", "Gini", "novelty", "hits first", "hits last"} <= set(found["lmdh"])


def test_tables_fit_80_columns_and_cut_no_number(likes: Path) -> None:
    long = "lmdh:normaliser=growing,exploration=1.0,search=greedy,ridge=50"

    output = run("replay", likes, "--rounds", 31, "--k", 1, "--policy", "lmdh", "--policy", long)

    assert max(map(len, output.splitlines()[1:])) <= 80
    assert output.count("…") == output.count("\nlmdh:n") == 5
    assert not re.search(r"\d…", output)


def test_no_escape_codes_where_nobody_watches(likes: Path) -> None:
    assert "\x1b" not in run("replay", likes, *SHORT, *TWO)


def test_bars_are_drawn_on_a_terminal(likes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")

    output = run("replay", likes, *SHORT, *TWO)

    assert "Replaying" in output
    assert "\x1b[" in output


def test_policy_that_is_named_twice_is_replayed_once(likes: Path) -> None:
    once = run("replay", likes, *SHORT, "--policy", "lmdh", "--json")

    assert run("replay", likes, *SHORT, *["--policy", "lmdh"] * 2, "--json") == once


def test_more_items_than_are_left_make_shorter_lists(likes: Path) -> None:
    found = json.loads(
        run("replay", likes, "--rounds", 2, "--k", 500, "--workers", 1, *TWO, "--json")
    )

    assert found["lmdh"]["recall"]["mean"] == [1.0, 1.0]
    assert found["lmdh"]["coverage"] == 1.0


def test_fewer_users_can_be_asked_for(likes: Path) -> None:
    found = json.loads(run("replay", likes, *SHORT, *TWO, "--users", 3, "--json"))

    assert found["lmdh"]["users"] == [3]


def test_own_columns_and_ratings_are_read(likes: Path, tmp_path: Path) -> None:
    lines = [line.replace(",", ";") for line in likes.read_text().splitlines()[1:]]
    rated = tmp_path / "rated.csv"
    rated.write_text(
        "uid,sku,stars\n"
        + "".join(f"{line.replace(';', ',')},5\n" for line in lines)
        + "user 0,disliked,1\n"
    )

    words = ("--user", "uid", "--item", "sku", "--rating", "stars", "--threshold", 3)

    assert run("replay", rated, *words, *SHORT, *TWO) == run("replay", likes, *SHORT, *TWO)


@pytest.mark.parametrize("workers", [1, 2])
def test_policy_of_ones_own_is_named_on_the_command_line(
    likes: Path, kept: Path, tmp_path: Path, workers: int
) -> None:
    (tmp_path / "mine.py").write_text(OWN)

    done = in_a_process(
        "replay",
        likes,
        *("--rounds", 2, "--k", 4, "--workers", workers, "--json"),
        *("--policy", "mine:InOrder", "--policy", "mine:InOrder:step=-1", "--policy", "lmdh"),
        PYTHONPATH=str(tmp_path),
        VARIEGATE_CACHE=str(kept / "cache"),
    )

    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert list(found) == ["mine:InOrder", "mine:InOrder:step=-1", "lmdh"]
    assert found["mine:InOrder"]["label"] == "InOrder"
    assert found["mine:InOrder"]["recall"]["mean"] == played_in_order(likes, 1)
    assert found["mine:InOrder:step=-1"]["recall"]["mean"] == played_in_order(likes, -1)


def test_module_is_found_in_the_folder_of_the_user(likes: Path, kept: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)

    done = in_a_process(
        *("replay", likes, "--rounds", 1, "--k", 2, "--workers", 2),
        *("--policy", "mine:InOrder", "--policy", "logrank"),
        cwd=tmp_path,
        VARIEGATE_CACHE=str(kept / "cache"),
        # As for the installed command, which does not look there by itself
        PYTHONSAFEPATH="1",
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert len(rows(done.stdout, "mine:InOrder")) == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "lmhd"], "got 'lmhd': did you mean 'lmdh'?"),
        (["--policy", "lmhd:ridge=1"], "got 'lmhd': did you mean 'lmdh'?"),
        (["--policy", "lmdh:rigde=1"], "got 'rigde': did you mean 'ridge'?"),
        (["--policy", "lmdh:normaliser=growng"], "got 'growng': did you mean 'growing'?"),
        (["--policy", "lmdh:ridge=0"], "`ridge` must be a number greater than 0, got 0"),
        (["--policy", "nowhere:Mine"], "nor a module: No module named 'nowhere'; the policies are"),
        (["--k", "0"], "`k` must be from 1 to 100000 (the most that make sense), got 0"),
        (["--rounds", "0"], "`rounds` must be from 1 to"),
        (["--splits", "0"], "`splits` must be from 1 to"),
        (["--users", "0"], "`users` must be from 1 to"),
        (["--workers", "0"], "`workers` must be from 1 to"),
    ],
)
def test_what_will_not_do_is_one_line(likes: Path, words: list[str], message: str) -> None:
    assert message in fail("replay", likes, *words)


def test_wrong_option_is_reported_before_anything_is_learnt(
    likes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIEGATE_CACHE", str(tmp_path / "cache"))

    fail("replay", likes, "--policy", "lmdh", "--policy", "mmr:trade_off=7")

    assert not (tmp_path / "cache").exists()


def test_data_set_that_is_not_there_is_reported_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIEGATE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    line = fail("replay", "ml-1m")

    assert line.startswith(f"ml-1m is not in {tmp_path}: run `variegate fetch ml-1m`, or download")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("ml-100", "`data` must be one of ml-100k, ml-1m, anime, got 'ml-100': did you mean "),
        ("nothing.csv", "nothing.csv: no such file"),
    ],
)
def test_data_that_nobody_knows_is_reported(data: str, message: str) -> None:
    assert message in fail("replay", data)


def test_nobody_to_play_is_one_line(likes: Path, tmp_path: Path) -> None:  # noqa: ARG001
    loners = tmp_path / "loners.csv"
    loners.write_text("user,item\n" + "".join(f"u{n},i{n}\n" for n in range(5)))

    assert "`dataset` 'loners' must have training and test users who like a candidate" in fail(
        "replay", loners, *SHORT
    )


@pytest.mark.usefixtures("likes")
def test_path_of_a_known_archive_is_read_as_what_it_is(kept: Path) -> None:
    found = json.loads(run("replay", kept / "ml-100k", *SHORT, *TWO, "--json"))

    assert found["lmdh"]["users"][0] + found["lmdh"]["left_out"][0] == 9


def test_movielens_100k_is_replayed(likes: Path) -> None:  # noqa: ARG001
    path = archive("ml-100k.zip")

    found = json.loads(
        run("replay", path, "--users", 12, "--rounds", 10, "--workers", 1, *TWO, "--json")
    )

    # 0.44 and 0.39 for all test users; chance finds 0.07
    assert 0.2 < found["lmdh"]["recall"]["mean"][-1] < 0.7
    assert found["lmdh"]["users"] == [12]


def test_prior_is_fitted_to_the_training_users_of_each_split(likes: Path) -> None:
    texts = ("lmdp:prior=fit", "ease")
    words = [word for text in texts for word in ("--policy", text)]
    short = ("--rounds", 3, "--k", 4, "--splits", 2, "--json")

    alone, shared = (run("replay", likes, *words, *short, "--workers", n) for n in (1, 2))
    expected = evaluate(texts, load_table(likes), rounds=3, k=4, splits=2)

    assert alone == shared
    for text, found in json.loads(alone).items():
        assert found["recall"]["mean"] == expected.interval(text, "recall").mean.tolist()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("lmdh:prior=fit", "it is a prior of items, which only lmdp and ease start from"),
        ("lmdp:prior=prior.npz", "no file suits the items and the embeddings of every split"),
        ("ease:prior=prior.npz", "no file suits the items and the embeddings of every split"),
    ],
)
def test_prior_that_cannot_be_fitted_is_one_line(likes: Path, policy: str, message: str) -> None:
    assert fail("replay", likes, "--policy", policy).endswith(message)
