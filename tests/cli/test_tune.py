"""`variegate tune`, on made likes."""

import json
from pathlib import Path

import pytest

from tests.cli.running import fail, run
from tests.extras import needs
from variegate.evaluation.tuning import load_settings
from variegate.policies import parse_policy

pytestmark = needs("cornac")

SHORT = ("--rounds", 2, "--k", 3, "--users", 4, "--workers", 1)


def test_settings_are_reported_with_how_they_were_chosen(likes: Path) -> None:
    output = run("tune", likes, *SHORT)
    lines = output.splitlines()

    assert lines[0].startswith("tuned by replaying held-out training users: likes 4; folds: 1")
    assert lines[1] == "all users are training users: test on others"
    assert "the defaults" in output
    assert parse_policy(lines[-2]).name == "lmdp"
    assert lines[-1] == "Save it with --out tuned.json"
    assert "\x1b" not in output


def test_all_that_was_tried_is_saved(likes: Path, tmp_path: Path) -> None:
    target = tmp_path / "tuned.json"

    output = run("tune", likes, *SHORT, "--split", 0, "--split", 1, "--out", target)
    saved = json.loads(target.read_text())

    assert "test users are excluded, of splits: 0, 1" in output
    assert saved["splits"] == [0, 1]
    assert load_settings(target).policy_spec("prior.npz") in output
    assert len({str(one["settings"]) for one in saved["candidates"]}) == len(saved["candidates"])
    assert len(saved["candidates"]) >= 10
    assert output.endswith(
        f"\nNext: variegate fit-prior {likes} --settings {target} --out prior.npz\n"
    )


def test_json_is_what_is_saved(likes: Path, tmp_path: Path) -> None:
    target = tmp_path / "tuned.json"

    output = run("tune", likes, *SHORT, "--no-constraints", "--out", target, "--json")
    saved = json.loads(target.read_text())

    assert output.count("\n") == 1
    assert json.loads(output) == {
        name: value for name, value in saved.items() if name not in ("format", "version")
    }
    assert {one["penalty"] for one in saved["candidates"]} == {0.0}


def test_data_sets_at_hand_are_taken_if_none_is_named(movielens: Path) -> None:  # noqa: ARG001
    found = json.loads(
        run("tune", *SHORT, "--distance", "cosine", "--distance", "euclidean", "--json")
    )

    assert found["users"] == {"ml-100k": 4}
    assert found["settings"]["policy"] == "lmdp"


def test_ease_can_be_tuned(likes: Path, tmp_path: Path) -> None:
    target = tmp_path / "tuned.json"

    output = run("tune", likes, *SHORT, "--policy", "ease", "--out", target)
    found = load_settings(target)

    assert found.policy == "ease"
    assert f"\n{found.policy_spec('prior.npz')}\n" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--folds", 0), "`folds` must be from 1 to 1000000 (the most that make sense), got 0"),
        (("--workers", 0), "`workers` must be from 1 to 10000 (the most that make sense), got 0"),
        (("--out", "nowhere/tuned.json"), "there is no folder nowhere"),
        (("--distance", "cosin"), "got 'cosin': did you mean 'cosine'?"),
        (
            ("--policy", "lmdh"),
            "`policy` must be one of lmdp, ease, got 'lmdh': did you mean 'lmdp'?",
        ),
    ],
)
def test_what_will_not_do_is_one_line(likes: Path, words: tuple[object, ...], message: str) -> None:
    assert fail("tune", likes, *SHORT, *words).endswith(message)


def test_distance_by_which_all_items_are_alike_is_one_line(movielens: Path) -> None:  # noqa: ARG001
    line = fail("tune", "ml-100k", *SHORT, "--distance", "genres")

    assert line.endswith("LMDH's F1 is not 0 in all rounds")


def test_data_set_given_twice_is_one_line(likes: Path) -> None:
    assert fail("tune", likes, likes).endswith("must be distinct, got 'likes' twice")


def test_no_data_at_all_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VARIEGATE_DATA", str(tmp_path))

    message = fail("tune")

    assert message.startswith(f"none of ml-100k, ml-1m, anime is in {tmp_path}: run `variegate")
