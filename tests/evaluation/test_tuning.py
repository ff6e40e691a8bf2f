"""Settings are chosen on training users, and on nobody else."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.running import archive
from tests.evaluation.replaying import drawn_task, made_dataset, ranked_task, taste_pairs
from variegate.data.bpr import fit_bpr
from variegate.data.dataset import Dataset
from variegate.data.movielens import load_movielens_100k
from variegate.data.splits import split_users
from variegate.errors import InputError, VariegateError
from variegate.evaluation.metrics import scores_of
from variegate.evaluation.replay import Protocol, Trace, replay, replay_task
from variegate.evaluation.tuning import (
    MIN_GAIN,
    PENALTY,
    Constraints,
    Coordinate,
    Measures,
    check_comparable,
    coordinate_descent,
    fold_seed,
    training_part,
    tune,
)
from variegate.evaluation.tuning_result import Candidate, LearnerSettings, TuningResult
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


def test_the_best_of_all_that_was_tried_is_chosen(dataset: Dataset, cache: Path) -> None:
    found = chosen({"made": dataset}, cache)

    assert found.settings == found.candidates[0].settings
    assert found.candidates[0].score == max(one.score for one in found.candidates)
    assert LearnerSettings() in [one.settings for one in found.candidates]
    assert {one.settings.values["diversity"] for one in found.candidates} >= {0.1, 0.3, 2.0}


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

    found = chosen(both, cache, folds=2, users=5, constraints=None)
    (first, *_), relative = found.candidates, found.candidates[0].relative

    assert found.users == {"made": 10, "other": 10}
    # The same likes under another name are the same users.
    assert relative["made"] == relative["other"] == pytest.approx(first.objective)
    assert first.penalty == 0.0
    assert first.violations == ()


def test_broken_promises_are_reported_and_take_off_the_score(dataset: Dataset, cache: Path) -> None:
    asked = Constraints(recall={}, f1=10.0, f2=0.0)

    (found,) = chosen({"made": dataset}, cache, space={}, constraints=asked).candidates

    assert [words.partition(" is ")[0] for words in found.violations] == ["made: F1 at 1"]
    short = 1.0 - float(found.violations[0].split()[5].removesuffix("%")) / 1000.0
    assert found.score == pytest.approx(found.objective - PENALTY * short, abs=0.01)


def test_score_is_that_of_a_replay_with_the_fitted_prior(dataset: Dataset, cache: Path) -> None:
    two = Protocol(d=3, distances=("cosine", "euclidean"))

    found = chosen(
        {"made": dataset}, cache, protocol=two, space={"noise": (0.7,)}, constraints=None
    )
    scores = {one.settings: one.score for one in found.candidates}
    task = replay_task(dataset, two, split=fold_seed(0, 0), cache=cache)
    prior = fit_prior(task.catalogue, task.training_likes, noise=0.7)
    ours, lmdh = (
        Measures.of(scores_of(replay(spec, task, rounds=4, k=3), task))
        for spec in (PolicySpec("lmdp", {"prior": prior}), PolicySpec("lmdh"))
    )

    expected = pytest.approx(ours.relative_to(lmdh), rel=1e-12)
    assert scores[LearnerSettings("lmdp", noise=0.7)] == expected
    assert found.distances == ("cosine", "euclidean")


def test_settings_of_ease_are_tuned_too(dataset: Dataset, cache: Path) -> None:
    found = chosen({"made": dataset}, cache, policy="ease", space={"l2": (5.0,)})

    assert found.settings.policy == "ease"
    assert {one.settings for one in found.candidates} == {
        LearnerSettings("ease", l2=5.0),
        LearnerSettings("ease"),
    }
    assert len({one.score for one in found.candidates}) == 2


def test_features_of_a_catalogue_are_taken_as_they_are(dataset: Dataset, cache: Path) -> None:
    from variegate.data.build import rated_catalogue

    items = rated_catalogue(dataset, fit_bpr(dataset, d=2, epochs=5, cache=cache))

    found = chosen({"made": dataset}, cache, catalogues={"made": items}, users=6)

    assert found.users == {"made": 6}
    assert found.distances == ("cosine",)


def test_progress_tells_what_is_done_and_how_much(dataset: Dataset, tmp_path: Path) -> None:
    result: list[tuple[str, int, int]] = []

    chosen(
        {"made": dataset},
        tmp_path,
        space={"noise": (0.4,)},
        progress=lambda *words: result.append(words),
    )

    assert list(dict.fromkeys(doing for doing, _, _ in result)) == [
        "Learning made, fold 1 of 1",
        "Replaying LMDH and LogRank",
        "Trying defaults",
        "Trying noise",
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
        ({"protocol": Protocol(d=3, distances=())}, "at least one, got none"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(
    dataset: Dataset, cache: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(VariegateError, match=message):
        chosen(**{"datasets": {"made": dataset}, "cache": cache, **options})


def test_data_sets_with_other_distances_are_refused(dataset: Dataset, cache: Path) -> None:
    protocols = {"a": Protocol(d=3), "b": Protocol(d=3, distances=("angular",))}

    with pytest.raises(InputError, match="the same distances, at least one, got angular and cos"):
        chosen({"a": dataset, "b": dataset}, cache, protocol=protocols)


@pytest.mark.slow
def test_on_movielens_the_choice_is_ahead_of_lmdh(cache: Path) -> None:
    films = load_movielens_100k(archive("ml-100k.zip"))

    found = tune(
        {"ml-100k": films}, split=0, users=60, space={"diversity": (0.2, 0.3, 0.4)}, cache=cache
    )

    assert found.candidates[0].objective > 1.02
    assert found.users == {"ml-100k": 60}


def flat(recall: float, f1: float, f2: float, *, rounds: int = 30, distances: int = 1) -> Measures:
    return Measures(
        np.full(rounds, recall), np.full((distances, rounds), f1), np.full((distances, rounds), f2)
    )


def test_measures_are_those_of_the_scores_by_every_distance() -> None:
    task = drawn_task()
    scores = scores_of(replay(parse_policy("lmdh"), task, rounds=4, k=3), task)

    found = Measures.of(scores)

    np.testing.assert_array_equal(found.recall, scores.mean_recall)
    np.testing.assert_array_equal(found.f1[0], scores.f_score(1.0))
    np.testing.assert_array_equal(found.f2[0], scores.f_score(2.0))
    assert found.f1.shape == (2, 4)


def test_worth_is_the_mean_over_rounds_and_then_over_distances() -> None:
    ours = Measures(np.zeros(2), np.array([[1.0, 3.0], [2.0, 2.0]]), np.zeros((2, 2)))
    theirs = Measures(np.zeros(2), np.array([[2.0, 2.0], [1.0, 1.0]]), np.zeros((2, 2)))

    assert ours.relative_to(theirs) == pytest.approx((1.0 + 2.0) / 2)


def test_promises_that_are_kept_cost_nothing() -> None:
    short = Constraints().shortfalls(flat(0.5, 1.05, 1.0), flat(0.9, 1.0, 1.0), flat(0.5, 0.0, 0.0))

    assert list(short) == []


def test_each_promise_is_missed_by_its_share() -> None:
    ours, lmdh, logrank = flat(0.35, 0.945, 0.5), flat(0.1, 1.0, 1.0), flat(0.5, 0.1, 0.1)

    found = dict(Constraints(recall={1: 0.7, 5: 1.0}).shortfalls(ours, lmdh, logrank))

    assert found["recall at 5 is 70.0% of LogRank's, not 100%"] == pytest.approx(0.3)
    assert found["F1 at 1 is 94.5% of LMDH's, not 105%"] == pytest.approx(0.1)
    assert found["F2 at 30 is 50.0% of LMDH's, not 100%"] == pytest.approx(0.5)
    assert len(found) == 1 + 4 + 4


def test_rounds_that_were_not_played_promise_nothing() -> None:
    ours, theirs = flat(0.0, 0.0, 0.0, rounds=5), flat(1.0, 1.0, 1.0, rounds=5)

    found = [words for words, _ in Constraints().shortfalls(ours, theirs, theirs)]

    assert {words.split(" is ")[0] for words in found} == {
        *("recall at 1", "recall at 5", "F1 at 1", "F1 at 5", "F2 at 1", "F2 at 5")
    }


def test_every_distance_has_its_promise() -> None:
    ours, theirs = flat(1.0, 0.5, 1.0, distances=2), flat(1.0, 1.0, 1.0, distances=2)

    found = [words for words, _ in Constraints().shortfalls(ours, theirs, theirs)]

    assert len(found) == 8
    assert "F1 at 30, distance 2 is 50.0% of LMDH's, not 105%" in found


def test_folds_are_averaged() -> None:
    found = Measures.mean([flat(0.2, 0.4, 0.6), flat(0.4, 0.6, 1.0)])

    assert found.recall[0] == pytest.approx(0.3)
    assert found.f1[0, 3] == pytest.approx(0.5)
    assert found.f2[0, 3] == pytest.approx(0.8)


def test_nothing_can_be_held_against_lists_that_please_nobody() -> None:
    task = ranked_task([6])
    shown = Trace("made", np.array([[[0, 1]]]), np.zeros((1, 1, 2), dtype=bool))

    with pytest.raises(
        InputError, match=r"`datasets` 'made' .* LMDH's F1 with the distance 'cosine' is not 0"
    ):
        check_comparable("made", Measures.of(scores_of(shown, task)), ["cosine"])


#: Set out from, whatever the defaults are
START = LearnerSettings("lmdp", noise=0.25, diversity=0.8)
SEARCHED = (
    Coordinate("diversity", (0.4, 0.8, 1.2)),
    Coordinate("noise", (0.1, 0.25, 0.5)),
)


def values(settings: LearnerSettings) -> tuple[float, float]:
    return settings.values["diversity"], settings.values["noise"]


class Judge:
    """Scores settings by a function, and remembers what it was asked."""

    def __init__(self, score: Callable[[LearnerSettings], float]) -> None:
        self.score = score
        self.asked: list[tuple[str, list[LearnerSettings]]] = []

    def __call__(self, settings: Sequence[LearnerSettings], doing: str) -> list[Candidate]:
        self.asked.append((doing, list(settings)))
        return [Candidate(one, {"made": self.score(one)}, (), 0.0) for one in settings]


def test_the_best_of_each_setting_is_kept_while_the_next_is_searched() -> None:
    def score(settings: LearnerSettings) -> float:
        diversity, noise = values(settings)
        return -abs(diversity - 1.2) - abs(noise - 0.5) * diversity

    judge = Judge(score)

    found = coordinate_descent(judge, START, SEARCHED, max_passes=3)

    assert values(found[0].settings) == (1.2, 0.5)
    assert judge.asked[0] == ("defaults", [START])
    assert judge.asked[2][0] == "noise"
    assert {values(one)[0] for one in judge.asked[2][1]} == {1.2}


def test_a_later_pass_goes_on_where_settings_depend_on_each_other() -> None:
    # Only with a noise of 0.5 is a diversity of 1.2 any good.
    def score(settings: LearnerSettings) -> float:
        diversity, noise = values(settings)
        return noise + (diversity == 1.2) * (2 * noise - 0.6)

    once = coordinate_descent(Judge(score), START, SEARCHED, max_passes=1)
    twice = coordinate_descent(Judge(score), START, SEARCHED, max_passes=3)

    assert values(once[0].settings) == (0.8, 0.5)
    assert values(twice[0].settings) == (1.2, 0.5)


def test_nothing_is_tried_twice() -> None:
    judge = Judge(lambda s: s.values["diversity"])

    found = coordinate_descent(judge, START, SEARCHED, max_passes=5)
    asked = [one for _, batch in judge.asked for one in batch]

    assert len(asked) == len(set(asked)) == len(found)
    assert {one.settings for one in found} == set(asked)


@pytest.mark.parametrize("gain", [0.0, MIN_GAIN])
def test_settings_stay_where_others_are_hardly_better(gain: float) -> None:
    judge = Judge(lambda s: 1.0 + gain * (s != START))

    found = coordinate_descent(judge, START, SEARCHED, max_passes=3)

    assert found[0].settings == START


def test_of_values_as_good_the_nearest_and_then_the_lower_wins() -> None:
    searched = (Coordinate("diversity", (0.2, 0.4, 0.8, 1.2)),)
    judge = Judge(lambda s: float(s.values["diversity"] != 0.8))

    found = coordinate_descent(judge, START, searched, max_passes=3)

    assert found[0].settings.values["diversity"] == 0.4


def test_nothing_to_search_leaves_the_defaults() -> None:
    (found,) = coordinate_descent(Judge(lambda _: 1.0), START, (), max_passes=3)

    assert found.settings == START
