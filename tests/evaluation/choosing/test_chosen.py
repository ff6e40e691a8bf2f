"""What was chosen, kept and told."""

import json
from pathlib import Path

import pytest

from variegate.errors import DataError
from variegate.evaluation.choosing import Candidate, Chosen, LearnerSettings

BEST = LearnerSettings(0.3, 0.35, 1.0, 50.0, 2.0, 0.02, (2.0,))


def made(**changes: object) -> Chosen:
    usual: dict[str, object] = {
        "settings": BEST,
        "candidates": (
            Candidate(BEST, {"a": 1.2, "b": 1.1}, ("a: recall at 5 is 99.0%",), 0.05),
            Candidate(LearnerSettings(), {"a": 1.0, "b": 1.1}, (), 0.0),
            Candidate(LearnerSettings(full=2.0), {"a": 1.1, "b": 1.1}, (), 0.0),
        ),
        "users": {"a": 150, "b": 200},
        "splits": (0, 1),
        "distances": ("cosine", "genres"),
        "folds": 2,
        "rounds": 30,
        "k": 10,
        "seed": 7,
    }
    return Chosen(**{**usual, **changes})  # type: ignore[arg-type]


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    made().save(tmp_path / "chosen.json")

    assert Chosen.load(tmp_path / "chosen.json") == made()


def test_file_is_json_with_the_score_of_all_that_was_tried(tmp_path: Path) -> None:
    made().save(tmp_path / "chosen.json")

    found = json.loads((tmp_path / "chosen.json").read_text())

    assert found["settings"]["full"] == 1.0
    assert [one["score"] for one in found["candidates"]] == pytest.approx([1.1, 1.05, 1.1])
    assert found["candidates"][0]["objective"] == pytest.approx(1.15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "not a complete file of chosen settings: 'format'"),
        ("[1]", "not a complete file of chosen settings"),
        ("nonsense", "not a complete file of chosen settings"),
        ('{"format": "other", "version": 1}', "not settings that this variegate chose"),
        (
            '{"format": "variegate chosen settings", "version": 1, "candidates": [], '
            '"settings": {"half": -1}}',
            "`half` must be a number greater than 0",
        ),
    ],
)
def test_other_files_are_told_to_be_none(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "chosen.json").write_text(text)

    with pytest.raises(DataError, match=message) as error:
        Chosen.load(tmp_path / "chosen.json")
    assert str(error.value).startswith(str(tmp_path))


def test_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no chosen settings at"):
        Chosen.load(tmp_path / "chosen.json")


def test_policy_line_has_the_chosen_settings() -> None:
    assert made().policy_line("p.npz") == "lmdp:prior=p.npz,exploration=0.3,floor=[0.35,1,50]"


def test_words_say_how_it_was_chosen() -> None:
    lines = made().describe()

    assert lines[0].endswith("who were held out: a 150, b 200; 2 folds, 30 rounds of 10 items")
    assert lines[1] == "test users of splits 0, 1 had no part in it"
    assert lines[2] == "mean F1 over rounds, LMDH's = 1: 1.150 (a 1.200, b 1.100)"
    assert lines[3] == "a: recall at 5 is 99.0%"
    assert made(splits=()).describe()[1] == "all users are training users: test on others"


def test_table_has_the_chosen_first_and_always_the_defaults() -> None:
    rows = [line.split() for line in made().describe(most=1)[5:]]

    assert rows[1] == ["1.100", "1.150", "0.050", "0.3", "[0.35,1,50]", "2", "0.02", "1:2"]
    assert rows[2][-3:] == ["1:1", "the", "defaults"]
    assert rows[3] == ["and", "1", "more"]


def test_table_of_one_distance_has_no_scales() -> None:
    assert "scales" not in "\n".join(made(distances=("cosine",)).describe())


def test_kept_promises_are_said() -> None:
    best = Candidate(BEST, {"a": 1.2}, (), 0.0)

    assert "all promises are kept" in made(candidates=(best,)).describe()


@pytest.mark.parametrize(("users", "is_said"), [(49, True), (50, False)])
def test_few_users_are_said_to_be_few(users: int, is_said: bool) -> None:
    told = "\n".join(made(users={"a": 500, "b": users}).describe())

    assert ("luck as much as choice" in told) is is_said
