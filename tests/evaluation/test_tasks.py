"""From a data set to a replay: who is played, and what they may be shown."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.replaying import made_dataset, taste_pairs
from variegate.data.dataset import Dataset
from variegate.data.splits import split_users
from variegate.errors import InputError
from variegate.evaluation.replay import ReplayTask
from variegate.evaluation.tasks import PROTOCOLS, Protocol, rated_task

pytest.importorskip("cornac", reason="cornac is not installed")

SMALL = Protocol(d=3)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return made_dataset(taste_pairs(loners=10))


@pytest.fixture(scope="module")
def task(dataset: Dataset) -> ReplayTask:
    return rated_task(dataset, SMALL, split=0)


def by_hand(dataset: Dataset, split: int) -> tuple[list[set[str]], set[str]]:
    """Return the likes of each test user among what training users like, and the latter."""
    parts = split_users(dataset, rng=split)
    known = {dataset.item_ids[item] for item in parts.train.items}
    likes = [
        {dataset.item_ids[item] for item in parts.test.items[parts.test.users == user]} & known
        for user in range(len(parts.test.user_ids))
    ]
    return likes, known


def ids_of(task: ReplayTask) -> list[set[str]]:
    return [{task.catalogue.ids[row] for row in rows} for rows in task.likes]


def test_likes_are_those_of_test_users_among_the_candidates(
    dataset: Dataset, task: ReplayTask
) -> None:
    likes, known = by_hand(dataset, 0)

    assert set(task.catalogue.ids) == known
    assert ids_of(task) == [liked for liked in likes if liked]
    assert all((np.diff(rows) > 0).all() for rows in task.likes)


def test_users_who_like_no_candidate_are_left_out_and_counted(
    dataset: Dataset, task: ReplayTask
) -> None:
    likes, _ = by_hand(dataset, 0)

    assert task.left_out == sum(not liked for liked in likes) > 0
    assert len(task.likes) + task.left_out == len(likes) == 10


def test_popularity_is_the_training_users(dataset: Dataset, task: ReplayTask) -> None:
    train = split_users(dataset, rng=0).train
    counts = dict(zip(dataset.item_ids, train.popularity, strict=True))

    assert task.training_users == 40
    assert task.popularity is not None
    assert task.popularity.tolist() == [counts[item] for item in task.catalogue.ids]
    assert task.catalogue.attributes["popularity"] == tuple(task.popularity.astype(int))


def test_the_same_split_is_the_same_task_and_another_is_not(
    dataset: Dataset, task: ReplayTask
) -> None:
    again, other = rated_task(dataset, SMALL, split=0), rated_task(dataset, SMALL, split=1)

    assert again.catalogue.features.tobytes() == task.catalogue.features.tobytes()
    assert ids_of(again) == ids_of(task)
    assert ids_of(other) != ids_of(task)


def test_protocol_says_how_many_features_and_which_distances(dataset: Dataset) -> None:
    found = rated_task(dataset, Protocol(d=2, distances=("angular", "euclidean")))

    assert found.catalogue.d == 2
    assert [h.name for h in found.catalogue.distances] == ["angular", "euclidean"]


@pytest.mark.parametrize("users", [1, 4])
def test_fewer_users_are_drawn_from_all_in_their_order(
    dataset: Dataset, task: ReplayTask, users: int
) -> None:
    few = rated_task(dataset, SMALL, split=0, users=users)
    everyone = ids_of(task)
    places = [everyone.index(liked) for liked in ids_of(few)]

    assert len(places) == users
    assert places == sorted(places)
    assert few.left_out == task.left_out


def test_more_users_than_there_are_means_all(dataset: Dataset, task: ReplayTask) -> None:
    assert ids_of(rated_task(dataset, SMALL, split=0, users=1000)) == ids_of(task)


def test_only_the_most_popular_items_are_candidates(dataset: Dataset) -> None:
    task = rated_task(dataset, Protocol(d=3, most_popular=5), split=0)
    train = split_users(dataset, rng=0).train

    assert len(task.catalogue) == 5
    assert task.popularity is not None
    assert sorted(task.popularity) == sorted(train.popularity)[-5:]


def test_only_the_most_active_test_users_are_played(dataset: Dataset, task: ReplayTask) -> None:
    few = rated_task(dataset, Protocol(d=3, most_active=3), split=0)
    test = split_users(dataset, rng=0).test
    most = np.sort(np.bincount(test.users))[-3:]

    assert len(few.likes) + few.left_out == 3
    # The candidates leave out what no training user likes.
    assert all(len(rows) <= most.max() for rows in few.likes)
    assert set(map(frozenset, ids_of(few))) <= set(map(frozenset, ids_of(task)))


def test_embeddings_are_learnt_once_where_there_is_a_cache(
    dataset: Dataset, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []

    for _ in range(2):
        rated_task(
            dataset, SMALL, cache=tmp_path, progress=lambda done, of: told.append((done, of))
        )

    assert told[-1] == (len(told), len(told))
    assert len(list(tmp_path.iterdir())) == 1


def test_known_data_sets_have_the_papers_protocol(dataset: Dataset) -> None:
    assert PROTOCOLS["anime"].most_popular == 1000
    assert PROTOCOLS["anime"].most_active == 10_000

    as_the_paper = rated_task(replace(dataset, name="ml-100k"))

    assert as_the_paper.catalogue.d == PROTOCOLS["ml-100k"].d == 10


def test_nobody_to_play_is_an_error() -> None:
    # Every user likes one item that nobody else does.
    loners = made_dataset([(f"user {n}", f"item {n}") for n in range(5)])

    with pytest.raises(
        InputError,
        match=r"`dataset` 'made' must have a test user who likes a candidate: none of 1 likes",
    ):
        rated_task(loners, SMALL)


def test_no_users_asked_for_are_refused(dataset: Dataset) -> None:
    with pytest.raises(InputError, match=r"`users` must be from 1 to .* got 0"):
        rated_task(dataset, SMALL, users=0)
