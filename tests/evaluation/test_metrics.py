"""The measures, against cases worked by hand and against other implementations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.metrics import fbeta_score  # type: ignore[import-untyped]

from variegate import Catalogue
from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.evaluation.metrics import (
    coverage,
    diversity,
    f_score,
    gini,
    hit_rate,
    list_diversity,
    novelty,
    recall,
)

#: Three directions of the plane: 0 and 1 at a right angle, 2 opposite to 0.
COMPASS = Catalogue(range(3), [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], "cosine")


@pytest.fixture
def played() -> tuple[IndexArray, MaskArray, list[set[int]]]:
    """Eight users, six rounds of four out of forty items, none shown twice, with their likes."""
    rng = np.random.default_rng(8)
    lists = np.array([rng.permutation(40)[:24].reshape(6, 4) for _ in range(8)])
    likes = [set(rng.choice(40, size=rng.integers(3, 12), replace=False)) for _ in range(8)]
    clicks = np.array([np.isin(lists[user], list(likes[user])) for user in range(8)])
    return lists, clicks, likes


@pytest.fixture
def catalogue() -> Catalogue:
    features = np.random.default_rng(9).uniform(-1.0, 1.0, (40, 5))
    return Catalogue(range(40), features, "cosine")


def test_recall_adds_up_over_the_rounds() -> None:
    clicks = np.array([[[True, False], [True, True]], [[False, False], [False, True]]])

    found = recall(clicks, np.array([4, 1]))

    np.testing.assert_array_equal(found, [[0.25, 0.75], [0.0, 1.0]])


def test_recall_is_that_of_sets(played: tuple[IndexArray, MaskArray, list[set[int]]]) -> None:
    lists, clicks, likes = played

    found = recall(clicks, np.array([len(liked) for liked in likes]))

    by_sets = [
        [len(set(lists[user, : t + 1].ravel()) & likes[user]) / len(likes[user]) for t in range(6)]
        for user in range(8)
    ]
    np.testing.assert_allclose(found, by_sets)


def test_recall_of_a_user_who_likes_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="`liked` must be at least 1, got 0 for user 1"):
        recall(np.zeros((2, 1, 1), dtype=bool), np.array([3, 0]))


def test_diversity_is_the_mean_over_lists_of_the_mean_over_pairs() -> None:
    lists = np.array([[[0, 1], [0, 2]]])

    (h,) = COMPASS.distances

    np.testing.assert_allclose(list_diversity(lists, h), [[1.0, 2.0]])
    np.testing.assert_allclose(diversity(lists, h), [[1.0, 1.5]])


def test_diversity_of_three_items_has_three_pairs() -> None:
    (h,) = COMPASS.distances

    np.testing.assert_allclose(list_diversity(np.array([[[0, 1, 2]]]), h), [[4.0 / 3.0]])


def test_list_diversity_is_scipys_mean_distance(
    played: tuple[IndexArray, MaskArray, list[set[int]]], catalogue: Catalogue
) -> None:
    lists = played[0]

    found = list_diversity(lists, catalogue.distances[0])

    by_scipy = [
        [pdist(catalogue.features[shown], "cosine").mean() for shown in user] for user in lists
    ]
    np.testing.assert_allclose(found, by_scipy)


def test_shorter_lists_count_the_pairs_that_they_have() -> None:
    (h,) = COMPASS.distances
    lists = np.array([[[0, 2, -1], [1, -1, -1], [-1, -1, -1]]])

    np.testing.assert_allclose(list_diversity(lists, h), [[2.0, 0.0, 0.0]])


def test_empty_lists_leave_the_mean_diversity_as_it_was() -> None:
    (h,) = COMPASS.distances
    lists = np.array([[[0, 2], [-1, -1]]])

    np.testing.assert_allclose(diversity(lists, h), [[2.0, 2.0]])


@pytest.mark.parametrize(
    ("beta", "expected"), [(1.0, 2 * 0.2 / 0.9), (2.0, 5 * 0.2 / (4 * 0.4 + 0.5))]
)
def test_f_score_is_as_worked_by_hand(beta: float, expected: float) -> None:
    assert f_score(np.array([0.5]), np.array([0.4]), beta) == pytest.approx([expected])


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_f_score_is_scikit_learns_with_diversity_for_precision(beta: float) -> None:
    # Of 5 found 4 are right (precision 0.8), and 4 of 10 were found (recall 0.4).
    truth, found = [1] * 10 + [0], [1] * 4 + [0] * 6 + [1]

    ours = f_score(np.array([0.4]), np.array([0.8]), beta)

    assert ours == pytest.approx([fbeta_score(truth, found, beta=beta)])


@given(
    shares=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 2)), min_size=1, max_size=5),
    beta=st.sampled_from([0.5, 1.0, 2.0]),
)
@settings(deadline=None)
def test_f_score_lies_between_recall_and_diversity(
    shares: list[tuple[float, float]], beta: float
) -> None:
    both: FloatArray = np.array(shares)

    found = f_score(both[:, 0], both[:, 1], beta)

    assert (found >= both.min(axis=1) - 1e-9).all()
    assert (found <= both.max(axis=1) + 1e-9).all()


def test_coverage_counts_items_shown_to_anyone() -> None:
    lists = np.array([[[0, 1], [2, -1]], [[0, 3], [1, 0]]])

    np.testing.assert_array_equal(coverage(lists, items=8), [3 / 8, 4 / 8])


def test_coverage_is_that_of_sets(played: tuple[IndexArray, MaskArray, list[set[int]]]) -> None:
    lists = played[0]

    by_sets = [len(set(lists[:, : t + 1].ravel())) / 40 for t in range(6)]

    np.testing.assert_allclose(coverage(lists, items=40), by_sets)


@pytest.mark.parametrize(
    ("lists", "items", "expected"),
    [
        ([[[0, 1, 2, 3]]], 4, 0.0),
        ([[[0, 0, 0, 0]]], 4, 0.75),
        ([[[0, 0, 0, 1]]], 2, 0.25),
        ([[[-1, -1]]], 4, 0.0),
    ],
)
def test_gini_is_as_worked_by_hand(
    lists: list[list[list[int]]], items: int, expected: float
) -> None:
    assert gini(np.array(lists), items) == pytest.approx(expected)


def test_gini_is_half_the_relative_mean_difference(
    played: tuple[IndexArray, MaskArray, list[set[int]]],
) -> None:
    shown = np.bincount(played[0].ravel(), minlength=40).astype(float)

    apart = np.abs(shown[:, None] - shown[None, :]).mean()

    assert gini(played[0], 40) == pytest.approx(apart / (2 * shown.mean()))


def test_novelty_is_the_mean_surprise_of_what_was_shown() -> None:
    # Liked by 8, 2 and nobody of 8 training users: surprises 0, 2 and 3 (as if liked by one).
    popularity = np.array([8.0, 2.0, 0.0])
    lists = np.array([[[0, 1], [2, -1]]])

    np.testing.assert_allclose(novelty(lists, popularity, users=8), [[1.0, 5.0 / 3.0]])


def test_hit_rate_is_the_share_of_clicks_among_those_shown_there() -> None:
    lists = np.array([[[0, 1], [2, -1]], [[0, 3], [1, 2]]])
    clicks = np.array([[[True, False], [False, False]], [[True, True], [False, False]]])

    np.testing.assert_allclose(hit_rate(lists, clicks), [2 / 4, 1 / 3])


def test_clicks_add_up_to_what_recall_says(
    played: tuple[IndexArray, MaskArray, list[set[int]]],
) -> None:
    lists, clicks, likes = played
    liked = np.array([len(one) for one in likes])

    shown = hit_rate(lists, clicks).sum() * 8 * 6

    assert shown == pytest.approx((recall(clicks, liked)[:, -1] * liked).sum())
