"""Settings are chosen on training users, and on nobody else."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.running import archive
from tests.evaluation.replaying import made_dataset, taste_pairs
from variegate.data.bpr import fit_bpr
from variegate.data.dataset import Dataset
from variegate.data.movielens import load_movielens_100k
from variegate.data.splits import split_users
from variegate.errors import InputError
from variegate.evaluation.choosing import (
    Chosen,
    Constraints,
    LearnerSettings,
    choose_settings,
    training_part,
)
from variegate.evaluation.choosing.judging import PENALTY
from variegate.evaluation.tasks import Protocol

pytest.importorskip("cornac", reason="cornac is not installed")

SMALL: Mapping[str, Sequence[float]] = {"full": (0.4, 0.8, 2.0), "exploration": (0.0, 0.25)}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embeddings")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return made_dataset(taste_pairs(loners=10))


def chosen(datasets: Mapping[str, Dataset], cache: Path, **options: Any) -> Chosen:
    usual = {"protocol": Protocol(d=3), "rounds": 4, "k": 3, "space": SMALL, "cache": cache}
    return choose_settings(datasets, **{**usual, **options})


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

    assert before.plain() == after.plain()


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
    assert {one.settings.full for one in found.candidates} >= {0.4, 0.8, 2.0}


def test_the_same_seed_chooses_alike_at_any_number_of_workers(
    dataset: Dataset, cache: Path
) -> None:
    alone, shared = (
        chosen({"made": dataset}, cache, workers=workers, space={"full": (0.4, 0.8)})
        for workers in (1, 2)
    )
    other = chosen({"made": dataset}, cache, seed=1, space={"full": (0.4, 0.8)})

    assert alone == shared
    assert other.candidates[0].relative != alone.candidates[0].relative


def test_several_data_sets_have_one_set_of_settings(dataset: Dataset, cache: Path) -> None:
    both = {"made": dataset, "other": made_dataset(taste_pairs(loners=10), name="other")}

    found = chosen(both, cache, folds=2, users=5, promises=None)
    (first, *_), relative = found.candidates, found.candidates[0].relative

    assert found.users == {"made": 10, "other": 10}
    # The same likes under another name are the same users.
    assert relative["made"] == relative["other"] == pytest.approx(first.objective)
    assert first.penalty == 0.0
    assert first.broken == ()


def test_broken_promises_are_told_and_take_off_the_score(dataset: Dataset, cache: Path) -> None:
    asked = Constraints(recall={}, f1=10.0, f2=0.0)

    (found,) = chosen({"made": dataset}, cache, space={}, promises=asked).candidates

    assert [words.partition(" is ")[0] for words in found.broken] == ["made: F1 at 1"]
    short = 1.0 - float(found.broken[0].split()[5].removesuffix("%")) / 1000.0
    assert found.score == pytest.approx(found.objective - PENALTY * short, abs=0.01)


def test_scales_are_searched_where_there_are_several_distances(
    dataset: Dataset, cache: Path
) -> None:
    several = Protocol(d=3, distances=("cosine", "euclidean"))

    found = chosen({"made": dataset}, cache, protocol=several, space={"scale": (1.0, 3.0)})

    assert found.distances == ("cosine", "euclidean")
    assert {one.settings.scales for one in found.candidates} == {(), (3.0,)}


def test_features_of_a_catalogue_are_taken_as_they_are(dataset: Dataset, cache: Path) -> None:
    from variegate.data.build import rated_catalogue

    items = rated_catalogue(dataset, fit_bpr(dataset, d=2, epochs=5, cache=cache))

    found = chosen({"made": dataset}, cache, catalogues={"made": items}, users=6)

    assert found.users == {"made": 6}
    assert found.distances == ("cosine",)


def test_progress_tells_what_is_done_and_how_much(dataset: Dataset, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    chosen(
        {"made": dataset},
        tmp_path,
        space={"full": (0.4,)},
        progress=lambda *words: told.append(words),
    )

    assert list(dict.fromkeys(doing for doing, _, _ in told)) == [
        "Learning made, fold 1 of 1",
        "Playing LMDH",
        "Trying defaults",
        "Trying full",
    ]
    assert all(done <= of for _, done, of in told)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"datasets": {}}, "`datasets` must have at least one data set, got none"),
        ({"folds": 0}, "`folds` must be from 1 to 1000000 .* got 0"),
        ({"users": 0}, "`users` must be from 1 to 1000000 .* got 0"),
        ({"protocol": Protocol(d=3, distances=())}, "at least one, got none"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(
    dataset: Dataset, cache: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        chosen(**{"datasets": {"made": dataset}, "cache": cache, **options})


def test_data_sets_with_other_distances_are_refused(dataset: Dataset, cache: Path) -> None:
    protocols = {"a": Protocol(d=3), "b": Protocol(d=3, distances=("angular",))}

    with pytest.raises(InputError, match="the same distances, at least one, got angular and cos"):
        chosen({"a": dataset, "b": dataset}, cache, protocol=protocols)


@pytest.mark.slow
def test_on_movielens_the_choice_is_ahead_of_lmdh(cache: Path) -> None:
    films = load_movielens_100k(archive("ml-100k.zip"))

    found = choose_settings(
        {"ml-100k": films}, split=0, users=60, space={"full": (0.4, 0.8, 1.0)}, cache=cache
    )

    assert found.candidates[0].objective > 1.02
    assert found.users == {"ml-100k": 60}
