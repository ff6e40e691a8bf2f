"""The measures, against cases worked by hand and against other implementations."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.metrics import fbeta_score

from tests.evaluation.replaying import drawn_task, ranked_task
from variegate import Catalogue
from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import DataError, InputError
from variegate.evaluation import metrics
from variegate.evaluation.metrics import (
    Scores,
    coverage,
    diversity,
    f_score,
    gini,
    hit_rate,
    list_diversity,
    novelty,
    recall,
    scores_of,
)
from variegate.evaluation.replay import ReplayTask, Trace, replay
from variegate.policies import PolicySpec

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
    with pytest.raises(InputError, match="`n_likes` must be at least 1, got 0 for user 1"):
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


ARRAYS = ("recall", "diversity", "coverage", "novelty", "hits")


@pytest.fixture(scope="module")
def task() -> ReplayTask:
    return drawn_task(users=5, items=20)


@pytest.fixture(scope="module")
def trace(task: ReplayTask) -> Trace:
    return replay(PolicySpec("uniform"), task, rounds=4, k=6)


@pytest.fixture(scope="module")
def scores(task: ReplayTask, trace: Trace) -> Scores:
    return scores_of(trace, task, {"policy": "uniform", "split": 3})


def test_measures_are_those_of_the_lists(task: ReplayTask, trace: Trace, scores: Scores) -> None:
    lists = trace.lists
    angle, length = task.catalogue.distances
    assert task.popularity is not None

    np.testing.assert_array_equal(scores.recall, metrics.recall(trace.clicks, task.n_likes))
    np.testing.assert_array_equal(scores.diversity[0], metrics.diversity(lists, angle))
    np.testing.assert_array_equal(scores.diversity[1], metrics.diversity(lists, length))
    np.testing.assert_array_equal(scores.coverage, metrics.coverage(lists, 20))
    np.testing.assert_array_equal(scores.novelty, metrics.novelty(lists, task.popularity, 9))
    np.testing.assert_array_equal(scores.hits, metrics.hit_rate(lists, trace.clicks))
    assert scores.gini == metrics.gini(lists, 20)
    assert scores.distances == ("cosine", "euclidean")
    assert scores.label == "Uniform"


def test_means_are_over_users_and_f_is_of_the_means(scores: Scores) -> None:
    recall, diversity = scores.recall.mean(axis=0), scores.diversity[0].mean(axis=0)

    np.testing.assert_allclose(scores.mean_recall, recall)
    np.testing.assert_allclose(scores.mean_diversity, diversity)
    np.testing.assert_allclose(scores.f_score(), 2 * recall * diversity / (recall + diversity))
    np.testing.assert_allclose(
        scores.f_score(2.0), 5 * recall * diversity / (4 * diversity + recall)
    )


def test_novelty_is_not_a_number_where_popularity_is_not_known() -> None:
    task = ranked_task([1, 2], [3])

    found = scores_of(replay(PolicySpec("popular"), task, rounds=2, k=2), task)

    assert np.isnan(found.novelty).all()
    assert found.novelty.shape == (2, 2)


def test_file_gives_back_every_bit(scores: Scores, tmp_path: Path) -> None:
    scores.save(tmp_path / "scores.npz")

    found = Scores.load(tmp_path / "scores.npz")

    assert [getattr(found, name).tobytes() for name in ARRAYS] == [
        getattr(scores, name).tobytes() for name in ARRAYS
    ]
    assert found.settings == {"policy": "uniform", "split": 3}
    assert (found.label, found.gini, found.distances) == (
        scores.label,
        scores.gini,
        scores.distances,
    )


@pytest.mark.parametrize("kept", [0, 100, -10], ids=["empty", "start", "all but the end"])
def test_file_that_was_cut_is_reported_with_its_path(
    scores: Scores, tmp_path: Path, kept: int
) -> None:
    path = tmp_path / "scores.npz"
    scores.save(path)
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(DataError, match=r"scores\.npz: not a complete scores file"):
        Scores.load(path)


def test_archive_of_something_else_is_no_scores_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", header=np.zeros(2))

    with pytest.raises(DataError, match=r"other\.npz: not a complete scores file"):
        Scores.load(tmp_path / "other.npz")


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no scores at "):
        Scores.load(tmp_path / "nothing.npz")


def test_longer_lists_and_larger_catalogues_are_measured_alike(
    task: ReplayTask, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = metrics.list_diversity(trace.lists, task.catalogue.distances[0])
    monkeypatch.setattr(metrics, "MAX_ITEMS_IN_MEMORY", 10)

    one_by_one = metrics.list_diversity(trace.lists, task.catalogue.distances[0])

    np.testing.assert_allclose(one_by_one, at_once, atol=1e-12)
    assert (trace.lists == -1).any()
