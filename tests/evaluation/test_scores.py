"""What a replay was worth, and as a file."""

from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.replaying import drawn_task, ranked_task
from variegate.errors import DataError
from variegate.evaluation import metrics
from variegate.evaluation.replay import ReplayTask, Trace, replay
from variegate.evaluation.scores import Scores, scores_of
from variegate.policies import PolicySpec

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

    np.testing.assert_array_equal(scores.recall, metrics.recall(trace.clicks, task.liked))
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
def test_file_that_was_cut_is_told_with_its_path(scores: Scores, tmp_path: Path, kept: int) -> None:
    path = tmp_path / "scores.npz"
    scores.save(path)
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(DataError, match=r"scores\.npz: not a complete scores file"):
        Scores.load(path)


def test_archive_of_something_else_is_no_scores_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", header=np.zeros(2))

    with pytest.raises(DataError, match=r"other\.npz: not a complete scores file"):
        Scores.load(tmp_path / "other.npz")


def test_missing_file_is_told(tmp_path: Path) -> None:
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
