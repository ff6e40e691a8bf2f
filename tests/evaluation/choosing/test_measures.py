"""What settings are worth, where it can be worked out by hand."""

import numpy as np
import pytest

from tests.evaluation.replaying import drawn_task, ranked_task
from variegate.errors import InputError
from variegate.evaluation.choosing import Constraints
from variegate.evaluation.choosing.measures import (
    Measures,
    averaged,
    check_comparable,
    measures_of,
)
from variegate.evaluation.replay import Trace, replay
from variegate.evaluation.scores import scores_of
from variegate.policies import parse_policy


def flat(recall: float, f1: float, f2: float, *, rounds: int = 30, distances: int = 1) -> Measures:
    return Measures(
        np.full(rounds, recall), np.full((distances, rounds), f1), np.full((distances, rounds), f2)
    )


def test_measures_are_those_of_the_scores_by_every_distance() -> None:
    task = drawn_task()
    scores = scores_of(replay(parse_policy("lmdh"), task, rounds=4, k=3), task)

    found = measures_of(scores)

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
    found = averaged([flat(0.2, 0.4, 0.6), flat(0.4, 0.6, 1.0)])

    assert found.recall[0] == pytest.approx(0.3)
    assert found.f1[0, 3] == pytest.approx(0.5)
    assert found.f2[0, 3] == pytest.approx(0.8)


def test_nothing_can_be_held_against_lists_that_please_nobody() -> None:
    task = ranked_task([6])
    shown = Trace("made", np.array([[[0, 1]]]), np.zeros((1, 1, 2), dtype=bool))

    with pytest.raises(
        InputError, match=r"`datasets` 'made' .* the distance 'cosine': its F1 is 0"
    ):
        check_comparable("made", measures_of(scores_of(shown, task)), ["cosine"])
