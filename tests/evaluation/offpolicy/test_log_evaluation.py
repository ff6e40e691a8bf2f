"""Limits of an estimate are reported where they apply, and nowhere else."""

from typing import Any

import numpy as np
import pytest

from variegate import Catalogue
from variegate.arrays import IndexArray
from variegate.evaluation.offpolicy import (
    Estimate,
    LogEvaluation,
    LogSource,
    SlateTerms,
    evaluate_log,
    slate_log,
    user_logs,
)
from variegate.evaluation.offpolicy.log_evaluation import is_near_one

ITEMS = Catalogue(range(4), np.diag([0.4, 0.3, 0.2, 0.1]) + 0.1, "cosine")
#: Shows items 3, 2, 1, 0
BACKWARDS = "popular:popularity=[1,2,3,4]"


def uniform_lists(n: int, seed: int = 0) -> IndexArray:
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(4)[:2] for _ in range(n)])


def evaluation(
    lists: IndexArray, propensities: tuple[float, float] = (0.25, 1 / 3), **options: Any
) -> LogEvaluation:
    """Return what `BACKWARDS` is worth by lists of which half of the positions were liked."""
    rewards = np.random.default_rng(1).integers(0, 2, lists.shape)
    users = [f"u{number % 30}" for number in range(len(lists))]
    chances = np.tile(propensities, (len(lists), 1))
    log = slate_log(lists, rewards, chances, users=users)
    source = LogSource("here", lambda: iter(user_logs(log, ITEMS)))
    return evaluate_log(source, [BACKWARDS], **options)


@pytest.mark.parametrize(
    ("mean", "error", "is_near"),
    [
        (1.0, 0.0, True),
        (1.0 + 1e-7, 0.0, True),  # rounding
        (0.96, 0.0, True),
        (1.04, 1e-6, True),
        (0.94, 0.001, False),
        (1.06, 0.001, False),
        (0.7, 0.08, True),  # within what chance does
        (0.7, 0.07, False),
        (0.0, 0.0, False),
    ],
)
def test_a_mean_weight_is_near_1_as_far_as_can_be_reported(
    mean: float, error: float, is_near: bool
) -> None:
    assert is_near_one(Estimate(mean, error, (mean, mean), 100.0)) is is_near


@pytest.mark.parametrize("estimator", ["rips", "sips", "dr", "pi"])
def test_an_estimate_without_trouble_has_no_warnings(estimator: str) -> None:
    found = evaluation(uniform_lists(1_500), estimator=estimator)

    (value,) = found.values
    assert value.warnings == ()
    assert value.is_covered
    assert abs(value.mean_weight - 1.0) < 0.3
    assert value.effective_sample_size is not None
    assert value.effective_sample_size > 50


def test_weights_that_are_1_but_for_rounding_are_no_warning() -> None:
    lists = np.tile([3, 2], (100, 1))

    (value,) = evaluation(lists, (1.0, 1.0 - 1e-7), mix=0.0).values

    assert value.warnings == ()
    assert value.effective_sample_size == pytest.approx(100)


def test_a_policy_that_the_log_hardly_has_shows_no_effective_sample_size() -> None:
    # All weights are the same and near 0, so that Kish's formula gives the length of the log.
    lists = np.tile([0, 1], (100, 1))

    found = evaluation(lists, (0.5, 0.5), mix=0.1)

    (value,) = found.values
    assert value.estimate is not None
    assert value.estimate.effective_sample_size == pytest.approx(100)
    assert value.effective_sample_size is None
    assert (
        found.as_json()["policies"]["popular:popularity=[1, 2, 3, 4]"]["effective_sample_size"]
        is None
    )
    assert value.warnings == (
        "mean importance weight 0.00 (should be near 1): the log has too few of the lists that it "
        "shows",
    )


def test_a_policy_that_the_log_does_not_have_has_no_estimate() -> None:
    (value,) = evaluation(np.tile([0, 1], (100, 1)), (0.5, 0.5), mix=0.0).values

    assert (value.estimate, value.effective_sample_size) == (None, None)
    assert value.warnings == ("the log has no list that it would show: no estimate",)


def test_few_lists_are_stated() -> None:
    (value,) = evaluation(uniform_lists(120), mix=0.0).values

    assert value.warnings == ("effective sample size: 10 lists, too few (at least 50)",)


def test_each_list_has_its_own_candidates() -> None:
    # Where only 0 and 1 could be shown, the policy shows 1, 0.
    lists = np.array([[1, 0], [0, 1]] * 200)
    free = SlateTerms(np.array([True, True, False, False]), mix=1.0)
    log = slate_log(lists, lists == 1, [[0.5, 1.0]] * len(lists), terms=[free] * len(lists))
    source = LogSource("here", lambda: iter(user_logs(log, ITEMS)))

    found = evaluate_log(source, [BACKWARDS], mix=0.0)

    (value,) = found.values
    assert value.mean_weight == pytest.approx(1.0)
    assert value.estimate is not None
    assert value.estimate.value == pytest.approx(1.0)
    assert found.mixes == (1.0,)
    assert not any("candidates" in note for note in found.notes)
