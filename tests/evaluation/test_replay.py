"""Interaction replay, on likes whose outcome can be seen."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.replaying import drawn_task, made_dataset, ranked_task, taste_pairs
from variegate import POLICIES, Catalogue
from variegate.data.dataset import Dataset
from variegate.data.splits import split_users
from variegate.errors import InputError, NotFoundError
from variegate.evaluation.metrics import recall
from variegate.evaluation.replay import (
    PROTOCOLS,
    FittedPolicy,
    Protocol,
    ReplayTask,
    Trace,
    replay,
    replay_task,
    replay_user,
)
from variegate.policies import LMDP, PolicySpec, Popular
from variegate.prior import fit_prior

IN_ORDER = PolicySpec("popular")


@pytest.fixture(scope="module")
def drawn() -> ReplayTask:
    return drawn_task(users=6, items=30)


@pytest.fixture(scope="module", params=[*POLICIES, "lmdp:prior=fit"])
def trace(request: pytest.FixtureRequest, drawn: ReplayTask) -> Trace:
    """Six rounds of seven out of thirty items: the fifth list has two, the sixth none."""
    return replay(FittedPolicy.parse(request.param), drawn, rounds=6, k=7)


def test_items_are_shown_in_the_policys_order_and_liked_ones_are_clicked() -> None:
    trace = replay(IN_ORDER, ranked_task([0, 4], [5]), rounds=2, k=3)

    assert trace.label == "Popular"
    np.testing.assert_array_equal(trace.lists, [[[0, 1, 2], [3, 4, 5]]] * 2)
    np.testing.assert_array_equal(
        trace.clicks,
        [[[True, False, False], [False, True, False]], [[False] * 3, [False, False, True]]],
    )


def test_lists_are_shorter_when_fewer_are_left_and_empty_when_none_are() -> None:
    trace = replay(IN_ORDER, ranked_task([6]), rounds=4, k=3)

    np.testing.assert_array_equal(trace.lists, [[[0, 1, 2], [3, 4, 5], [6, -1, -1], [-1, -1, -1]]])
    np.testing.assert_array_equal(trace.clicks.sum(axis=2), [[0, 0, 1, 0]])


def test_k_larger_than_the_catalogue_shows_all_of_it_at_once() -> None:
    trace = replay(IN_ORDER, ranked_task([2, 3]), rounds=2, k=50)

    assert trace.lists.shape == (1, 2, 50)
    assert trace.lists[0, 0, :8].tolist() == [0, 1, 2, 3, 4, 5, 6, -1]
    assert (trace.lists[0, 1] == -1).all()
    assert trace.clicks.sum() == 2


def test_nobody_is_shown_an_item_twice(trace: Trace) -> None:
    for shown in trace.lists:
        rows = shown[shown >= 0]
        assert len(rows) == len(set(rows)) == 30


def test_recall_never_falls_and_ends_at_1_when_all_was_shown(
    trace: Trace, drawn: ReplayTask
) -> None:
    found = recall(trace.clicks, drawn.n_likes)

    assert (np.diff(found, axis=1) >= 0).all()
    np.testing.assert_array_equal(found[:, -1], 1.0)


def test_clicks_are_likes_times_recall(trace: Trace, drawn: ReplayTask) -> None:
    clicks = trace.clicks.sum(axis=2).cumsum(axis=1)

    np.testing.assert_allclose(recall(trace.clicks, drawn.n_likes) * drawn.n_likes[:, None], clicks)


def test_lists_have_the_length_that_is_left(trace: Trace) -> None:
    lengths = (trace.lists >= 0).sum(axis=2)

    np.testing.assert_array_equal(lengths, np.tile([7, 7, 7, 7, 2, 0], (6, 1)))


def test_a_policy_learns_from_the_clicks_of_its_own_user_only() -> None:
    # Two pairs of like items: who clicks the first of a pair wants the other one next.
    features = [[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]]
    catalogue = Catalogue(range(4), features, "cosine")
    task = ReplayTask("pairs", catalogue, (np.array([0, 2]), np.array([1, 3])))

    trace = replay(PolicySpec("lmdh", {"ridge": 0.01, "exploration": 0}), task, rounds=3, k=1)

    assert trace.lists[0].ravel().tolist()[:2] == [0, 2]
    assert trace.lists[1].ravel().tolist() == [0, 1, 3]


@given(users=st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True))
def test_who_else_is_played_changes_nothing(users: list[int]) -> None:
    task = drawn_task(users=6, items=30)
    everyone = replay(PolicySpec("uniform"), task, rounds=2, k=3, seed=4)

    some = replay(PolicySpec("uniform"), task, users=users, rounds=2, k=3, seed=4)

    np.testing.assert_array_equal(some.lists, everyone.lists[users])
    np.testing.assert_array_equal(some.clicks, everyone.clicks[users])


def test_users_and_seeds_have_random_numbers_of_their_own(drawn: ReplayTask) -> None:
    first, again, other = (
        replay(PolicySpec("uniform"), drawn, rounds=2, k=5, seed=seed).lists for seed in (0, 0, 1)
    )

    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len({shown.tobytes() for shown in first}) == len(first)


def test_likes_of_one_user_can_be_played_alone() -> None:
    task = ranked_task([1])

    lists, clicks = replay_user(
        Popular(task.catalogue), task.likes[0], rounds=1, k=2, rng=np.random.default_rng(0)
    )

    assert lists.tolist() == [[0, 1]]
    assert clicks.tolist() == [[False, True]]


def test_user_without_likes_is_refused_by_number() -> None:
    with pytest.raises(InputError, match=r"`likes` must not be empty, got none for user 1"):
        ranked_task([1], [])


def test_likes_are_counted() -> None:
    assert ranked_task([1], [2, 5, 6]).n_likes.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rounds": 0}, r"`rounds` must be from 1 to"),
        ({"k": 0}, r"`k` must be from 1 to"),
        ({"k": 2.5}, r"`k` must be a whole number, got 2.5"),
    ],
)
def test_no_rounds_or_no_items_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        replay(IN_ORDER, ranked_task([1]), **settings)


def test_prior_is_fitted_to_the_training_users_of_the_task(drawn: ReplayTask) -> None:
    prior = fit_prior(drawn.catalogue, drawn.training_likes)

    found = replay(FittedPolicy.parse("lmdp:prior=fit,floor=0.5"), drawn, rounds=3, k=4)
    direct = replay(lambda items: LMDP(items, prior=prior, floor=0.5), drawn, rounds=3, k=4)

    np.testing.assert_array_equal(found.lists, direct.lists)
    np.testing.assert_array_equal(found.clicks, direct.clicks)
    assert found.label == "LMDP"


def test_policies_of_a_task_share_one_prior_and_other_options_have_another(
    drawn: ReplayTask,
) -> None:
    # A list as an option was once an error: it cannot be hashed.
    both: dict[str, Any] = {"noise": 0.4, "beta_variance": [0.1, 0.2]}
    first, again = (
        FittedPolicy(PolicySpec(name), both).for_task(drawn) for name in ("lmdp", "ease")
    )

    assert first.options["prior"] is again.options["prior"]
    assert first.options["prior"].beta_variance.tolist() == [0.1, 0.2]
    assert drawn.fit_prior(noise=0.4).beta_variance.tolist() == [0.05, 0.05]
    assert drawn.fit_prior(noise=0.1).noise == 0.1


def test_text_without_a_prior_to_fit_is_the_plain_policy() -> None:
    assert FittedPolicy.parse("lmdh:ridge=2") == PolicySpec("lmdh", {"ridge": 2})
    assert FittedPolicy.parse("lmdp:prior=mine.npz") == PolicySpec("lmdp", {"prior": "mine.npz"})
    assert FittedPolicy.parse("ease:prior=mine.npz") == PolicySpec("ease", {"prior": "mine.npz"})


@pytest.mark.parametrize("text", ["ease:l2=9,prior=fit", "ease:l2=9"])
def test_prior_of_ease_is_fitted_unless_it_is_given(text: str) -> None:
    assert FittedPolicy.parse(text) == FittedPolicy(PolicySpec("ease", {"l2": 9}))


def test_prior_of_items_is_refused_where_a_policy_takes_none() -> None:
    with pytest.raises(
        InputError,
        match=r"`prior` must not be fit in 'lmdh:prior=fit': .* only lmdp and ease start from",
    ):
        FittedPolicy.parse("lmdh:prior=fit")
    with pytest.raises(NotFoundError, match=r"`option of mmr` must be one of .*, got 'prior'"):
        FittedPolicy.parse("mmr:prior=fit")


def test_prior_cannot_be_fitted_without_training_users() -> None:
    with pytest.raises(InputError, match=r"`task` must have training users, got 'ranked' without"):
        replay(FittedPolicy.parse("lmdp:prior=fit"), ranked_task([1]))


SMALL = Protocol(d=3)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    pytest.importorskip("cornac", reason="cornac is not installed")
    return made_dataset(taste_pairs(loners=10))


@pytest.fixture(scope="module")
def task(dataset: Dataset) -> ReplayTask:
    return replay_task(dataset, SMALL, split=0)


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
    again, other = replay_task(dataset, SMALL, split=0), replay_task(dataset, SMALL, split=1)

    assert again.catalogue.features.tobytes() == task.catalogue.features.tobytes()
    assert ids_of(again) == ids_of(task)
    assert ids_of(other) != ids_of(task)


def test_protocol_says_how_many_features_and_which_distances(dataset: Dataset) -> None:
    found = replay_task(dataset, Protocol(d=2, distances=("angular", "euclidean")))

    assert found.catalogue.d == 2
    assert [h.name for h in found.catalogue.distances] == ["angular", "euclidean"]


@pytest.mark.parametrize("users", [1, 4])
def test_fewer_users_are_drawn_from_all_in_their_order(
    dataset: Dataset, task: ReplayTask, users: int
) -> None:
    few = replay_task(dataset, SMALL, split=0, users=users)
    everyone = ids_of(task)
    places = [everyone.index(liked) for liked in ids_of(few)]

    assert len(places) == users
    assert places == sorted(places)
    assert few.left_out == task.left_out


def test_more_users_than_there_are_means_all(dataset: Dataset, task: ReplayTask) -> None:
    assert ids_of(replay_task(dataset, SMALL, split=0, users=1000)) == ids_of(task)


def test_only_the_most_popular_items_are_candidates(dataset: Dataset) -> None:
    task = replay_task(dataset, Protocol(d=3, most_popular=5), split=0)
    train = split_users(dataset, rng=0).train

    assert len(task.catalogue) == 5
    assert task.popularity is not None
    assert sorted(task.popularity) == sorted(train.popularity)[-5:]


def test_only_the_most_active_test_users_are_played(dataset: Dataset, task: ReplayTask) -> None:
    few = replay_task(dataset, Protocol(d=3, most_active=3), split=0)
    test = split_users(dataset, rng=0).test
    most = np.sort(np.bincount(test.users))[-3:]

    assert len(few.likes) + few.left_out == 3
    # The candidates leave out what no training user likes.
    assert all(len(rows) <= most.max() for rows in few.likes)
    assert set(map(frozenset, ids_of(few))) <= set(map(frozenset, ids_of(task)))


def test_embeddings_are_learnt_once_where_there_is_a_cache(
    dataset: Dataset, tmp_path: Path
) -> None:
    result: list[tuple[int, int]] = []

    for _ in range(2):
        replay_task(
            dataset, SMALL, cache=tmp_path, progress=lambda done, of: result.append((done, of))
        )

    assert result[-1] == (len(result), len(result))
    assert len(list(tmp_path.iterdir())) == 1


def test_known_data_sets_have_the_papers_protocol(dataset: Dataset) -> None:
    assert PROTOCOLS["anime"].most_popular == 1000
    assert PROTOCOLS["anime"].most_active == 10_000

    as_the_paper = replay_task(replace(dataset, name="ml-100k"))

    assert as_the_paper.catalogue.d == PROTOCOLS["ml-100k"].d == 10


def test_nobody_to_play_is_an_error() -> None:
    # Every user likes one item that nobody else does.
    loners = made_dataset([(f"user {n}", f"item {n}") for n in range(5)])

    with pytest.raises(
        InputError,
        match=r"'made' must have training and test users who like a candidate, got 4 and 0",
    ):
        replay_task(loners, SMALL)


def test_no_users_asked_for_are_refused(dataset: Dataset) -> None:
    with pytest.raises(InputError, match=r"`users` must be from 1 to .* got 0"):
        replay_task(dataset, SMALL, users=0)
