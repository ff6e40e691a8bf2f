"""Interaction replay, on likes whose outcome can be seen."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.replaying import drawn_task, ranked_task
from variegate import POLICIES, Catalogue
from variegate.errors import InputError
from variegate.evaluation.metrics import recall
from variegate.evaluation.replay import ReplayTask, Trace, replay, replay_user
from variegate.policies import PolicySpec, Popular

IN_ORDER = PolicySpec("popular")


@pytest.fixture(scope="module")
def task() -> ReplayTask:
    return drawn_task(users=6, items=30)


@pytest.fixture(scope="module", params=list(POLICIES))
def trace(request: pytest.FixtureRequest, task: ReplayTask) -> Trace:
    """Six rounds of seven out of thirty items: the fifth list has two, the sixth none."""
    return replay(PolicySpec(request.param), task, rounds=6, k=7)


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
    trace: Trace, task: ReplayTask
) -> None:
    found = recall(trace.clicks, task.liked)

    assert (np.diff(found, axis=1) >= 0).all()
    np.testing.assert_array_equal(found[:, -1], 1.0)


def test_clicks_are_likes_times_recall(trace: Trace, task: ReplayTask) -> None:
    clicks = trace.clicks.sum(axis=2).cumsum(axis=1)

    np.testing.assert_allclose(recall(trace.clicks, task.liked) * task.liked[:, None], clicks)


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


def test_users_and_seeds_have_random_numbers_of_their_own(task: ReplayTask) -> None:
    first, again, other = (
        replay(PolicySpec("uniform"), task, rounds=2, k=5, seed=seed).lists for seed in (0, 0, 1)
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
    assert ranked_task([1], [2, 5, 6]).liked.tolist() == [1, 3]


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
