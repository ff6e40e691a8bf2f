"""Settings of LMDP, and the values that are tried of them."""

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from variegate import Catalogue
from variegate.errors import DataError, InputError, NotFoundError
from variegate.evaluation.tuning import SPACE, Coordinate, coordinates
from variegate.evaluation.tuning_result import Candidate, LearnerSettings, TuningResult
from variegate.policies import parse_policy
from variegate.policies.lmdp import LMDP
from variegate.prior import fit_prior

LIKES = [[0, 1], [1, 2], [3], [1]]


def items(distances: int = 1) -> Catalogue:
    features = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 2))
    return Catalogue(list("abcd"), features, ["cosine", "angular", "euclidean"][:distances])


def test_defaults_are_those_of_the_policy() -> None:
    settings, policy = LearnerSettings(), LMDP(items(), prior=fit_prior(items(), LIKES))

    assert policy.exploration == settings.exploration
    assert policy.floor is not None
    assert [policy.floor.opening, policy.floor.full, policy.floor.half] == settings.floor


@pytest.mark.parametrize("distances", [0, 1, 3])
def test_defaults_are_those_of_fit_prior(distances: int) -> None:
    catalogue = items(distances)
    found = fit_prior(catalogue, LIKES, **LearnerSettings().prior_options(distances))
    expected = fit_prior(catalogue, LIKES)

    np.testing.assert_allclose(found.mean, expected.mean)
    np.testing.assert_array_equal(found.covariance, expected.covariance)
    assert found.noise == expected.noise


def test_every_default_is_among_what_is_tried() -> None:
    settings = LearnerSettings()

    assert [c.name for c in coordinates(None, 2) if c.value(settings) not in c.values] == []
    assert {f.name for f in fields(settings)} - {"scales"} == set(SPACE) - {"scale"}


@pytest.mark.parametrize("distances", [1, 3])
def test_applied_to_a_plain_fit_they_are_what_fit_prior_makes_of_them(distances: int) -> None:
    settings = LearnerSettings(noise_factor=3.0, beta_variance=0.1, opening=0.6, scales=(2.0,))
    catalogue = items(distances)

    found = settings.apply(fit_prior(catalogue, LIKES, noise_factor=1.0))
    expected = fit_prior(catalogue, LIKES, **settings.prior_options(distances))

    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-12)
    assert found.noise == pytest.approx(expected.noise, rel=1e-12)


@pytest.mark.parametrize(
    ("scales", "distances", "beta"),
    [
        ((), 0, ()),
        ((), 1, (0.4,)),
        ((3.0,), 1, (0.4,)),
        ((), 2, (0.2, 0.2)),
        ((3.0,), 2, (0.1, 0.3)),
        ((2.0,), 3, (0.1, 0.2, 0.1)),
    ],
)
def test_opening_is_shared_out_by_the_scales(
    scales: tuple[float, ...], distances: int, beta: tuple[float, ...]
) -> None:
    found = LearnerSettings(opening=0.4, scales=scales).beta(distances)

    assert found == pytest.approx(beta)


def test_policy_spec_is_read_back_as_the_policy() -> None:
    line = LearnerSettings(0.1, 0.35, 1.0, 15.0).policy_spec("kept/prior.npz")
    spec = parse_policy(line)

    assert line == "lmdp:prior=kept/prior.npz,exploration=0.1,floor=[0.35,1,15]"
    assert spec.name == "lmdp"
    assert spec.options == {
        "prior": "kept/prior.npz",
        "exploration": 0.1,
        "floor": [0.35, 1, 15],
    }


@pytest.mark.parametrize("path", ["a,b.npz", "a[1].npz"])
def test_path_that_a_line_cannot_hold_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="`prior_path` must have no comma and no bracket"):
        LearnerSettings().policy_spec(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"exploration": -1.0}, "`exploration` must be a number of at least 0"),
        ({"half": 0.0}, "`half` must be a number greater than 0"),
        ({"scales": (1.0, 0.0)}, "`scales` must be a number greater than 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LearnerSettings(**change)  # type: ignore[arg-type]


def test_other_values_come_nearest_first_and_of_two_the_lower() -> None:
    coordinate = Coordinate("full", (0.4, 0.6, 0.8, 1.0, 1.3))

    found = coordinate.alternatives(LearnerSettings(full=0.8))

    assert [one.full for one in found] == [0.6, 1.0, 0.4, 1.3]


def test_value_outside_the_grid_stands_between_its_neighbours() -> None:
    found = Coordinate("full", (0.4, 1.0, 1.3)).alternatives(LearnerSettings(full=0.9))

    assert [one.full for one in found] == [0.4, 1.0, 1.3]


def test_scale_of_a_later_distance_leaves_the_others() -> None:
    coordinate = Coordinate("scale", (0.5, 1.0), place=1)

    (found,) = coordinate.alternatives(LearnerSettings())

    assert found.scales == (1.0, 0.5)
    assert coordinate.value(found) == 0.5


def test_scales_that_mean_the_same_are_the_same() -> None:
    assert LearnerSettings(scales=(2.0, 1.0, 1.0)) == LearnerSettings(scales=(2.0,))
    assert LearnerSettings(scales=(1.0,)) == LearnerSettings()


def test_each_distance_after_the_first_has_a_scale_to_search() -> None:
    assert [(c.name, c.place) for c in coordinates({"scale": [1, 2], "half": [9]}, 3)] == [
        ("half", 0),
        ("scale", 0),
        ("scale", 1),
    ]
    assert coordinates({"scale": [1, 2]}, 1) == ()


def test_space_of_unknown_settings_or_without_values_is_refused() -> None:
    with pytest.raises(NotFoundError, match=r"got 'explore': did you mean 'exploration'\?"):
        coordinates({"explore": [1.0]}, 1)
    with pytest.raises(InputError, match=r"`space\['half'\]` must have at least one value"):
        coordinates({"half": []}, 1)


BEST = LearnerSettings(0.3, 0.35, 1.0, 50.0, 2.0, 0.02, (2.0,))


def result(**changes: object) -> TuningResult:
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
    return TuningResult(**{**usual, **changes})  # type: ignore[arg-type]


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    result().save(tmp_path / "chosen.json")

    assert TuningResult.load(tmp_path / "chosen.json") == result()


def test_file_is_json_with_the_score_of_all_that_was_tried(tmp_path: Path) -> None:
    result().save(tmp_path / "chosen.json")

    found = json.loads((tmp_path / "chosen.json").read_text())

    assert found["settings"]["full"] == 1.0
    assert [one["score"] for one in found["candidates"]] == pytest.approx([1.1, 1.05, 1.1])
    assert found["candidates"][0]["objective"] == pytest.approx(1.15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "not a complete file of tuned settings: 'format'"),
        ("[1]", "not a complete file of tuned settings"),
        ("nonsense", "not a complete file of tuned settings"),
        ('{"format": "other", "version": 1}', "not a file of tuned settings of this version"),
        (
            '{"format": "variegate tuned settings", "version": 1, "candidates": [], '
            '"settings": {"half": -1}}',
            "`half` must be a number greater than 0",
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


def test_policy_spec_has_the_chosen_settings() -> None:
    assert (
        result().settings.policy_spec("p.npz")
        == "lmdp:prior=p.npz,exploration=0.3,floor=[0.35,1,50]"
    )


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

    assert rows[1] == ["1.100", "1.150", "0.050", "0.3", "[0.35,1,50]", "2", "0.02", "1:2"]
    assert rows[2][-3:] == ["1:1", "the", "defaults"]
    assert rows[3] == ["and", "1", "more"]


def test_table_of_one_distance_has_no_scales() -> None:
    assert "scales" not in "\n".join(result(distances=("cosine",)).describe())


def test_kept_promises_are_stated() -> None:
    best = Candidate(BEST, {"a": 1.2}, (), 0.0)

    assert "all constraints are met" in result(candidates=(best,)).describe()


@pytest.mark.parametrize(("users", "is_reported"), [(49, True), (50, False)])
def test_few_users_are_stated_to_be_few(users: int, is_reported: bool) -> None:
    text = "\n".join(result(users={"a": 500, "b": users}).describe())

    assert ("mostly noise" in text) is is_reported
