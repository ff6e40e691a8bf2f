"""Settings are chosen on training users, and on nobody else."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.running import archive
from tests.evaluation.replaying import drawn_task, made_dataset, taste_pairs
from variegate import EASE, Catalogue
from variegate.arrays import FloatArray
from variegate.data.bpr import fit_bpr
from variegate.data.dataset import Dataset
from variegate.data.movielens import load_movielens_100k
from variegate.data.splits import split_users
from variegate.errors import DataError, InputError, VariegateError
from variegate.evaluation.metrics import scores_of
from variegate.evaluation.replay import Protocol, replay, replay_task
from variegate.evaluation.tuning import (
    BOUNDS,
    DEFAULTS,
    PENALTY,
    SPACE,
    Candidate,
    LearnerSettings,
    TuningResult,
    fold_seed,
    load_settings,
    measures_of,
    settings_to_try,
    shortfalls,
    training_part,
    tune,
)
from variegate.policies import PolicySpec, parse_policy
from variegate.prior import fit_prior

SMALL: Mapping[str, Sequence[float]] = {"diversity": (0.1, 0.3, 2.0), "noise": (0.2, 0.8)}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("cornac", reason="cornac is not installed")
    return tmp_path_factory.mktemp("embeddings")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return made_dataset(taste_pairs(loners=10))


def chosen(datasets: Mapping[str, Dataset], cache: Path, **options: Any) -> TuningResult:
    usual = {"protocol": Protocol(d=3), "rounds": 4, "k": 3, "space": SMALL, "cache": cache}
    return tune(datasets, **{**usual, **options})


def with_other_likes_of_test_users(dataset: Dataset, split: int) -> Dataset:
    """Return the data with each like of a test user moved to another item."""
    testing = set(split_users(dataset, rng=split).test.user_ids)
    moved = np.array([dataset.user_ids[user] in testing for user in dataset.users])
    assert moved.any()
    shifted = (dataset.items + 1) % len(dataset.item_ids)
    return replace(dataset, items=np.where(moved, shifted, dataset.items))


def test_what_test_users_like_changes_nothing(dataset: Dataset, cache: Path) -> None:
    other = with_other_likes_of_test_users(dataset, 3)

    before, after = (chosen({"made": one}, cache, split=3) for one in (dataset, other))

    assert before.as_json() == after.as_json()


def test_without_a_split_all_users_count(dataset: Dataset, cache: Path) -> None:
    other = with_other_likes_of_test_users(dataset, 3)

    before, after = (chosen({"made": one}, cache) for one in (dataset, other))

    assert before.candidates != after.candidates


def test_training_users_of_several_splits_are_those_of_each(dataset: Dataset) -> None:
    one, both = training_part(dataset, [0]), training_part(dataset, [0, 1])
    parts = [split_users(dataset, rng=split).train for split in (0, 1)]

    assert one.user_ids == parts[0].user_ids
    assert one.items.tolist() == parts[0].items.tolist()
    assert set(both.user_ids) == set(parts[0].user_ids) & set(parts[1].user_ids)
    assert training_part(dataset, []).user_ids == dataset.user_ids


def test_the_best_of_all_combinations_is_chosen(dataset: Dataset, cache: Path) -> None:
    found = chosen({"made": dataset}, cache)
    scores = [one.score for one in found.candidates]

    assert found.settings == found.candidates[0].settings
    assert scores == sorted(scores, reverse=True)
    tried = [
        (one.settings.values["diversity"], one.settings.values["noise"]) for one in found.candidates
    ]
    both = [(diversity, noise) for diversity in SMALL["diversity"] for noise in SMALL["noise"]]
    assert sorted(tried) == sorted({*both, tuple(DEFAULTS["lmdp"].values())})


def test_defaults_are_kept_without_a_gain(dataset: Dataset, cache: Path) -> None:
    # So near that no list changes.
    near = {"noise": (DEFAULTS["lmdp"]["noise"] * (1 + 1e-12),)}

    found = chosen({"made": dataset}, cache, space=near)

    assert found.settings == LearnerSettings()
    assert len(found.candidates) == 2


def test_the_same_seed_chooses_alike_at_any_number_of_workers(
    dataset: Dataset, cache: Path
) -> None:
    alone, shared = (
        chosen({"made": dataset}, cache, workers=workers, space={"noise": (0.2, 0.8)})
        for workers in (1, 2)
    )
    other = chosen({"made": dataset}, cache, seed=1, space={"noise": (0.2, 0.8)})

    assert alone == shared
    assert other.candidates[0].relative != alone.candidates[0].relative


def test_several_data_sets_have_one_set_of_settings(dataset: Dataset, cache: Path) -> None:
    both = {"made": dataset, "other": made_dataset(taste_pairs(loners=10), name="other")}

    found = chosen(both, cache, folds=2, users=5, constrained=False)
    (first, *_), relative = found.candidates, found.candidates[0].relative

    assert found.users == {"made": 10, "other": 10}
    # The same likes under another name are the same users.
    assert relative["made"] == relative["other"] == pytest.approx(first.objective)
    assert first.penalty == 0.0
    assert first.violations == ()


def test_broken_promises_are_reported_and_take_off_the_score(
    dataset: Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {1: {"recall": 0.0, "F1": 10.0, "F2": 0.0}}
    monkeypatch.setattr("variegate.evaluation.tuning.BOUNDS", asked)

    (found,) = chosen({"made": dataset}, cache, space={}).candidates

    assert [words.partition(" is ")[0] for words in found.violations] == ["made: F1 at 1"]
    short = 1.0 - float(found.violations[0].split()[5].removesuffix("%")) / 1000.0
    assert found.score == pytest.approx(found.objective - PENALTY * short, abs=0.01)


def test_score_is_that_of_a_replay_with_the_fitted_prior(dataset: Dataset, cache: Path) -> None:
    two = Protocol(d=3, distances=("cosine", "euclidean"))

    found = chosen(
        {"made": dataset}, cache, protocol=two, space={"noise": (0.7,)}, constrained=False
    )
    scores = {str(one.settings): one.score for one in found.candidates}
    task = replay_task(dataset, two, split=fold_seed(0, 0), cache=cache)
    prior = fit_prior(task.catalogue, task.training_likes, noise=0.7)
    ours, lmdh = (
        measures_of([scores_of(replay(spec, task, rounds=4, k=3), task)])["F1"]
        for spec in (PolicySpec("lmdp", {"prior": prior}), PolicySpec("lmdh"))
    )

    assert scores["diversity=0.9,noise=0.7"] == pytest.approx(ours.mean() / lmdh.mean())


def test_settings_of_ease_are_tuned_too(dataset: Dataset, cache: Path) -> None:
    found = chosen({"made": dataset}, cache, policy="ease", space={"l2": (5.0,)})

    assert found.settings.policy == "ease"
    assert {one.settings.values["l2"] for one in found.candidates} == {5.0, DEFAULTS["ease"]["l2"]}
    assert len({one.score for one in found.candidates}) == 2


def test_features_of_a_catalogue_are_taken_as_they_are(dataset: Dataset, cache: Path) -> None:
    from variegate.data.build import rated_catalogue

    items = rated_catalogue(dataset, fit_bpr(dataset, d=2, epochs=5, cache=cache))

    found = chosen({"made": dataset}, cache, catalogues={"made": items}, users=6)

    assert found.users == {"made": 6}


def test_progress_tells_what_is_done_and_how_much(dataset: Dataset, tmp_path: Path) -> None:
    result: list[tuple[str, int, int]] = []

    chosen(
        {"made": dataset},
        tmp_path,
        space={"noise": (0.4,)},
        progress=lambda *words: result.append(words),
    )

    assert list(dict.fromkeys(doing for doing, _, _ in result)) == [
        "Learning made",
        "Replaying",
    ]
    assert all(done <= of for _, done, of in result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"datasets": {}}, "`datasets` must have at least one data set, got none"),
        ({"folds": 0}, "`folds` must be from 1 to 1000000 .* got 0"),
        ({"users": 0}, "`users` must be from 1 to 1000000 .* got 0"),
        ({"policy": "eas"}, "`policy` must be one of lmdp, ease, got 'eas': did you mean 'ease'"),
        ({"policy": "ease"}, "`space` must be one of diversity, l2, got 'noise'"),
        ({"protocol": Protocol(d=3, distances=())}, "at least one distance, got none"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(
    dataset: Dataset, cache: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(VariegateError, match=message):
        chosen(**{"datasets": {"made": dataset}, "cache": cache, **options})


@pytest.mark.slow
def test_on_movielens_the_choice_is_ahead_of_lmdh(cache: Path) -> None:
    films = load_movielens_100k(archive("ml-100k.zip"))

    found = tune(
        {"ml-100k": films}, split=0, users=60, space={"diversity": (0.2, 0.3, 0.4)}, cache=cache
    )

    assert found.candidates[0].objective > 1.02
    assert found.users == {"ml-100k": 60}


def flat(recall: float, f1: float, f2: float, *, rounds: int = 30) -> dict[str, FloatArray]:
    return {
        name: np.full(rounds, value) for name, value in (("recall", recall), ("F1", f1), ("F2", f2))
    }


def test_measures_are_those_of_the_scores_with_the_mean_of_the_distances() -> None:
    task = drawn_task()
    scores = scores_of(replay(parse_policy("lmdh"), task, rounds=4, k=3), task)

    found = measures_of([scores])

    np.testing.assert_array_equal(found["recall"], scores.mean_recall)
    assert len(scores.diversity) == 2
    diversity = scores.diversity.mean(axis=0).mean(axis=0)
    np.testing.assert_allclose(found["F1"], 2 / (1 / diversity + 1 / scores.mean_recall))
    one = measures_of([replace(scores, diversity=scores.diversity[:1])])
    np.testing.assert_allclose(one["F2"], scores.f_score(2.0))


def test_promises_that_are_kept_cost_nothing() -> None:
    baselines = {"LMDH": flat(0.9, 1.0, 1.0), "LogRank": flat(0.5, 0.0, 0.0)}

    assert list(shortfalls(flat(0.5, 1.05, 1.0), baselines)) == []


def test_each_promise_is_missed_by_its_share() -> None:
    baselines = {"LMDH": flat(0.1, 1.0, 1.0), "LogRank": flat(0.5, 0.1, 0.1)}

    found = dict(shortfalls(flat(0.35, 0.945, 0.5), baselines))

    assert found["recall at 5 is 70.0% of LogRank's, not 100%"] == pytest.approx(0.3)
    assert found["F1 at 1 is 94.5% of LMDH's, not 105%"] == pytest.approx(0.1)
    assert found["F2 at 30 is 50.0% of LMDH's, not 100%"] == pytest.approx(0.5)
    assert len(found) == 3 + 4 + 4


def test_rounds_that_were_not_played_promise_nothing() -> None:
    theirs = flat(1.0, 1.0, 1.0, rounds=5)

    missed = shortfalls(flat(0.0, 0.0, 0.0, rounds=5), {"LMDH": theirs, "LogRank": theirs})

    assert {words.split(" is ")[0] for words, _ in missed} == {
        *("recall at 1", "recall at 5", "F1 at 1", "F1 at 5", "F2 at 1", "F2 at 5")
    }


def test_bounds_are_those_of_the_help() -> None:
    assert {t: bounds["recall"] for t, bounds in BOUNDS.items()} == {1: 0.7, 5: 1, 10: 1, 30: 1}
    assert {(bounds["F1"], bounds["F2"]) for bounds in BOUNDS.values()} == {(1.05, 1.0)}


@pytest.mark.parametrize("policy", ["lmdp", "ease"])
def test_defaults_come_first_and_are_among_the_values_to_try(policy: str) -> None:
    tried = settings_to_try(policy)

    assert tried[0] == LearnerSettings(policy)
    assert len(tried) == np.prod([len(values) for values in SPACE[policy].values()])
    assert len(set(map(str, tried))) == len(tried)


def test_defaults_are_those_of_the_package() -> None:
    items = Catalogue(range(3), np.eye(3), "cosine")
    prior, ease = fit_prior(items, [[0, 1]]), EASE(items)

    assert DEFAULTS["lmdp"] == {"diversity": prior.diversity, "noise": prior.noise}
    assert DEFAULTS["ease"] == {"diversity": ease.diversity, "l2": ease.l2}


def test_space_of_unknown_settings_or_without_values_is_refused() -> None:
    with pytest.raises(VariegateError, match=r"got 'nois': did you mean 'noise'\?"):
        settings_to_try("lmdp", {"nois": [1.0]})
    with pytest.raises(InputError, match=r"`space\['l2'\]` must have at least one value"):
        settings_to_try("ease", {"l2": []})


def test_policy_spec_is_read_back_as_the_policy(tmp_path: Path) -> None:
    items = Catalogue(range(3), np.eye(3), "cosine")
    fit_prior(items, [[0, 1], [2]]).save(tmp_path / "prior.npz")
    settings = LearnerSettings("ease", {"diversity": 0.125, "l2": 1000.0})

    ease = parse_policy(settings.policy_spec(tmp_path / "prior.npz"))(items)

    assert isinstance(ease, EASE)
    assert (ease.diversity, ease.l2) == (0.125, 1000.0)
    with pytest.raises(InputError, match="no comma and no bracket"):
        settings.policy_spec("a,b.npz")


@pytest.mark.parametrize(
    ("policy", "values", "message"),
    [
        ("lmdh", {}, "`policy` must be one of lmdp, ease, got 'lmdh'"),
        ("lmdp", {"nois": 1.0}, "`setting of lmdp` must be one of diversity, noise, got 'nois'"),
        ("lmdp", {"noise": 0.0}, "`noise` must be a number greater than 0"),
        ("ease", {"diversity": -1.0}, "`diversity` must be a number of at least 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    policy: str, values: dict[str, float], message: str
) -> None:
    with pytest.raises(VariegateError, match=message):
        LearnerSettings(policy, values)


BEST = LearnerSettings("lmdp", {"diversity": 0.4, "noise": 0.05})


def result(**changes: Any) -> TuningResult:
    candidates = (
        Candidate(BEST, {"a": 1.2, "b": 1.1}, ("a: recall at 5 is 99.0%",), 0.05),
        Candidate(LearnerSettings(), {"a": 1.0, "b": 1.1}, (), 0.0),
    )
    return replace(
        TuningResult(BEST, candidates, {"a": 150, "b": 200}, (0, 1), 2, 30, 10, 7), **changes
    )


def test_settings_come_back_from_the_file(tmp_path: Path) -> None:
    result().save(tmp_path / "tuned.json")

    found = json.loads((tmp_path / "tuned.json").read_text())

    assert load_settings(tmp_path / "tuned.json") == BEST
    assert [one["score"] for one in found["candidates"]] == pytest.approx([1.1, 1.05])
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
            '{"format": "variegate tuned settings", "version": 3, '
            '"settings": {"policy": "lmdp", "values": {"noise": -1}}}',
            "`noise` must be a number greater than 0",
        ),
        (None, "no such file"),
    ],
)
def test_other_files_are_reported_to_be_none(
    text: str | None, message: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "tuned.json").write_text(text)

    with pytest.raises(DataError, match=message) as error:
        load_settings(tmp_path / "tuned.json")
    assert str(tmp_path) in str(error.value)


def test_words_say_how_it_was_chosen() -> None:
    lines = result().describe()

    assert lines[0].endswith("users: a 150, b 200; folds: 2, rounds: 30 of 10 items")
    assert lines[1] == "test users are excluded, of splits: 0, 1"
    assert lines[2] == "mean F1 over rounds, relative to LMDH: 1.150 (a 1.200, b 1.100)"
    assert lines[3] == "a: recall at 5 is 99.0%"
    assert [line.split() for line in lines[5:]] == [
        ["score", "F1/LMDH", "penalty", "settings"],
        ["1.100", "1.150", "0.050", "diversity=0.4,noise=0.05"],
        ["1.050", "1.050", "0.000", "diversity=0.9,noise=0.2", "the", "defaults"],
    ]
    assert result(splits=()).describe()[1] == "all users are training users: test on others"
    assert "all constraints are met" in result(candidates=result().candidates[1:]).describe()


@pytest.mark.parametrize(("users", "is_reported"), [(49, True), (50, False)])
def test_few_users_are_stated_to_be_few(users: int, is_reported: bool) -> None:
    text = "\n".join(result(users={"a": 500, "b": users}).describe())

    assert ("mostly noise" in text) is is_reported
