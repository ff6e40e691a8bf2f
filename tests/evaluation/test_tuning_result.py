"""Settings of a learner, the values that are tried of them, and the result of a search."""

import json
from pathlib import Path

import numpy as np
import pytest

from variegate import Catalogue
from variegate.errors import DataError, InputError, VariegateError
from variegate.evaluation.tuning import SPACE, Coordinate, coordinates
from variegate.evaluation.tuning_result import (
    DEFAULTS,
    Candidate,
    LearnerSettings,
    TuningResult,
)
from variegate.policies import LMDP, parse_policy, policy_options
from variegate.prior import fit_prior

LIKES = [[0, 1], [1, 2], [3], [1]]


def items(distances: int = 1) -> Catalogue:
    features = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 2))
    return Catalogue(list("abcd"), features, ["cosine", "angular", "euclidean"][:distances])


def test_defaults_of_lmdp_are_those_of_fit_prior() -> None:
    found = fit_prior(items(), LIKES, **LearnerSettings().prior_options)
    expected = fit_prior(items(), LIKES)

    assert (found.diversity, found.noise) == (expected.diversity, expected.noise)


def test_defaults_of_ease_are_those_of_the_policy() -> None:
    options = policy_options("ease")

    assert {name: options[name] for name in DEFAULTS["ease"]} == DEFAULTS["ease"]


@pytest.mark.parametrize("policy", SPACE)
def test_every_default_is_among_what_is_tried(policy: str) -> None:
    tried = {one.name: one.values for one in coordinates(policy)}

    assert list(tried) == list(DEFAULTS[policy])
    assert [name for name, value in DEFAULTS[policy].items() if value not in tried[name]] == []


@pytest.mark.parametrize("distances", [1, 3])
def test_diversity_is_shared_by_the_distances(distances: int) -> None:
    options = LearnerSettings("lmdp", diversity=0.6).prior_options
    prior = fit_prior(items(distances), LIKES, **options)
    floor = LMDP(items(distances), prior=prior).diversity_floor

    # Relative to the mean relevance of the best items: here all four, liked by 6/4 of 4 users.
    assert floor == pytest.approx(0.6 * (6 / 4 / 4) / distances)


def test_policy_spec_is_read_back_as_the_policy(tmp_path: Path) -> None:
    fit_prior(items(), LIKES).save(tmp_path / "prior.npz")
    ease = LearnerSettings("ease", diversity=0.125, l2=1000.0).policy_spec(tmp_path / "prior.npz")

    policy = parse_policy(ease)(items())

    assert ease == f"ease:prior={tmp_path}/prior.npz,diversity=0.125,l2=1000"
    assert (policy.diversity, policy.l2) == (0.125, 1000.0)  # type: ignore[attr-defined]
    # The settings of LMDP are part of its prior.
    assert LearnerSettings("lmdp", noise=0.7).policy_spec("prior.npz") == "lmdp:prior=prior.npz"


@pytest.mark.parametrize("path", ["a,b.npz", "a[1].npz"])
def test_path_that_a_line_cannot_hold_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="`prior_path` must have no comma and no bracket"):
        LearnerSettings().policy_spec(path)


@pytest.mark.parametrize(
    ("policy", "values", "message"),
    [
        ("lmdp", {"diversity": -1.0}, "`diversity` must be a number of at least 0"),
        ("lmdp", {"noise": 0.0}, "`noise` must be a number greater than 0"),
        ("ease", {"l2": 0.0}, "`l2` must be a number greater than 0"),
        ("ease", {"noise": 0.1}, "`setting of ease` must be one of diversity, l2, got 'noise'"),
        ("mmr", {}, "`policy` must be one of lmdp, ease, got 'mmr'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    policy: str, values: dict[str, float], message: str
) -> None:
    with pytest.raises(VariegateError, match=message):
        LearnerSettings(policy, **values)


@pytest.mark.parametrize(
    ("tried", "found"),
    [
        ((0.4, 0.6, 0.8, 1.0, 1.3), [0.6, 1.0, 0.4, 1.3]),
        # A value outside the grid is between its neighbours.
        ((0.4, 1.0, 1.3), [0.4, 1.0, 1.3]),
    ],
)
def test_other_values_come_nearest_first_and_of_two_the_lower(
    tried: tuple[float, ...], found: list[float]
) -> None:
    others = Coordinate("noise", tried).alternatives(LearnerSettings("lmdp", noise=0.8))

    assert [one.values["noise"] for one in others] == found
    assert {one.values["diversity"] for one in others} == {DEFAULTS["lmdp"]["diversity"]}


def test_settings_are_searched_in_the_order_of_the_learner() -> None:
    space = {"noise": [1], "diversity": [2, 3]}

    assert coordinates("lmdp", space) == (
        Coordinate("diversity", (2.0, 3.0)),
        Coordinate("noise", (1.0,)),
    )


def test_space_of_unknown_settings_or_without_values_is_refused() -> None:
    with pytest.raises(VariegateError, match=r"got 'nois': did you mean 'noise'\?"):
        coordinates("lmdp", {"nois": [1.0]})
    with pytest.raises(InputError, match=r"`space\['l2'\]` must have at least one value"):
        coordinates("ease", {"l2": []})


BEST = LearnerSettings("lmdp", diversity=0.4, noise=0.05)


def result(**changes: object) -> TuningResult:
    usual: dict[str, object] = {
        "settings": BEST,
        "candidates": (
            Candidate(BEST, {"a": 1.2, "b": 1.1}, ("a: recall at 5 is 99.0%",), 0.05),
            Candidate(LearnerSettings(), {"a": 1.0, "b": 1.1}, (), 0.0),
            Candidate(LearnerSettings("lmdp", noise=0.8), {"a": 1.1, "b": 1.1}, (), 0.0),
        ),
        "users": {"a": 150, "b": 200},
        "splits": (0, 1),
        "distances": ("cosine", "genres"),
        "folds": 2,
        "rounds": 30,
        "k": 10,
        "seed": 7,
    }
    return TuningResult(**{**usual, **changes})  # type: ignore[arg-type]


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    result().save(tmp_path / "chosen.json")

    assert TuningResult.load(tmp_path / "chosen.json") == result()


def test_file_is_json_with_the_score_of_all_that_was_tried(tmp_path: Path) -> None:
    result().save(tmp_path / "chosen.json")

    found = json.loads((tmp_path / "chosen.json").read_text())

    assert found["settings"] == {
        "policy": "lmdp",
        "values": {"diversity": 0.4, "noise": 0.05},
    }
    assert [one["score"] for one in found["candidates"]] == pytest.approx([1.1, 1.05, 1.1])
    assert found["candidates"][0]["objective"] == pytest.approx(1.15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "not a complete file of tuned settings: 'format'"),
        ("[1]", "not a complete file of tuned settings"),
        ("nonsense", "not a complete file of tuned settings"),
        (
            '{"format": "variegate tuned settings", "version": 1}',
            "not a file of tuned settings of this version",
        ),
        (
            '{"format": "variegate tuned settings", "version": 2, "candidates": [], '
            '"settings": {"policy": "lmdp", "values": {"noise": -1}}}',
            "`noise` must be a number greater than 0",
        ),
    ],
)
def test_other_files_are_reported_to_be_none(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "chosen.json").write_text(text)

    with pytest.raises(DataError, match=message) as error:
        TuningResult.load(tmp_path / "chosen.json")
    assert str(error.value).startswith(str(tmp_path))


def test_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no tuned settings at"):
        TuningResult.load(tmp_path / "chosen.json")


def test_words_say_how_it_was_chosen() -> None:
    lines = result().describe()

    assert lines[0].endswith(
        "held-out training users: a 150, b 200; 2 folds, 30 rounds of 10 items"
    )
    assert lines[1] == "test users of splits 0, 1 are excluded"
    assert lines[2] == "mean F1 over rounds, relative to LMDH: 1.150 (a 1.200, b 1.100)"
    assert lines[3] == "a: recall at 5 is 99.0%"
    assert result(splits=()).describe()[1] == "all users are training users: test on others"


def test_table_has_the_chosen_first_and_always_the_defaults() -> None:
    rows = [line.split() for line in result().describe(max_rows=1)[5:]]

    assert rows[0] == ["score", "F1/LMDH", "penalty", "settings"]
    assert rows[1] == ["1.100", "1.150", "0.050", "diversity=0.4,noise=0.05"]
    assert rows[2][-2:] == ["the", "defaults"]
    assert rows[3] == ["and", "1", "more"]


def test_kept_promises_are_stated() -> None:
    best = Candidate(BEST, {"a": 1.2}, (), 0.0)

    assert "all constraints are met" in result(candidates=(best,)).describe()


@pytest.mark.parametrize(("users", "is_reported"), [(49, True), (50, False)])
def test_few_users_are_stated_to_be_few(users: int, is_reported: bool) -> None:
    text = "\n".join(result(users={"a": 500, "b": users}).describe())

    assert ("mostly noise" in text) is is_reported
