"""Whether one method is ahead of another."""

from dataclasses import replace

import numpy as np
import pytest

from tests.evaluation.making import made_scores
from variegate.errors import InputError, NotFoundError
from variegate.evaluation.bootstrap import MEASURES, difference, mean_measure, standard_error
from variegate.evaluation.metrics import Scores, f_score


def drawn_scores(rng: np.random.Generator, lead: float, users: int = 40) -> Scores:
    """Return scores of users who differ, by chance, in how far they are ahead."""
    base = made_scores(0.3, rounds=1, users=users)
    return replace(base, recall=0.3 + lead + 0.1 * rng.standard_normal((users, 1)))


@pytest.mark.parametrize("measure", MEASURES)
def test_a_method_is_not_ahead_of_itself(measure: str) -> None:
    scores = [made_scores(0.3, seed=0), made_scores(0.4, seed=1)]

    found = difference(scores, scores, measure)

    np.testing.assert_array_equal([found.mean, found.low, found.high], 0.0)
    assert found.overall == (0.0, 0.0, 0.0)


def test_a_known_lead_is_found() -> None:
    # Both have the same luck user by user, so that the lead is the same for whomever is drawn.
    ours, theirs = made_scores(0.5, noise=0.2), made_scores(0.4, noise=0.2)

    found = difference([ours], [theirs], "recall")

    np.testing.assert_allclose([found.mean, found.low, found.high], 0.1)
    assert found.overall == pytest.approx((0.1, 0.1, 0.1))


def test_a_lead_turns_round_with_the_methods() -> None:
    rng = np.random.default_rng(3)
    ours, theirs = drawn_scores(rng, 0.05), drawn_scores(rng, 0.0)

    one, other = difference([ours], [theirs], "F1"), difference([theirs], [ours], "F1")

    np.testing.assert_allclose(one.mean, -other.mean)
    np.testing.assert_allclose(one.low, -other.high)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    # 300 times 80 users: the same luck never twice, the true lead always 0.02.
    held = []
    for _ in range(300):
        found = difference([drawn_scores(rng, 0.02, 80)], [drawn_scores(rng, 0.0, 80)], "recall")
        held.append(found.low[0] <= 0.02 <= found.high[0])

    # Three standard errors of a share of 95% in 300 are 0.038; percentiles run a little short.
    assert 0.90 <= np.mean(held) <= 0.99


def test_pairing_users_makes_the_interval_narrower() -> None:
    rng = np.random.default_rng(4)
    luck = 0.2 * rng.standard_normal((40, 1))
    ours, theirs, others = (made_scores(r, rounds=1) for r in (0.5, 0.4, 0.4))
    ours = replace(ours, recall=0.5 + luck + 0.01 * rng.standard_normal((40, 1)))
    theirs = replace(theirs, recall=0.4 + luck)
    shuffled = replace(others, recall=0.4 + rng.permutation(luck))

    paired, unpaired = (difference([ours], [b], "recall") for b in (theirs, shuffled))

    assert paired.high[0] - paired.low[0] < 0.1 * (unpaired.high[0] - unpaired.low[0])


def test_same_scores_give_the_same_interval_every_time() -> None:
    rng = np.random.default_rng(5)
    ours, theirs = drawn_scores(rng, 0.05), drawn_scores(rng, 0.0)

    first = difference([ours], [theirs], "recall")
    # Copies, so that nothing remembered of the first time is used.
    second = difference([replace(ours)], [replace(theirs)], "recall")

    np.testing.assert_array_equal(first.low, second.low)
    assert first.overall == second.overall


def test_standard_error_is_that_of_the_mean() -> None:
    rng = np.random.default_rng(6)
    scores = drawn_scores(rng, 0.0, users=400)

    found = standard_error([scores], "recall")

    expected = scores.recall.std(ddof=1) / np.sqrt(400)
    # 1000 draws leave a relative error of about 1 / sqrt(2000).
    np.testing.assert_allclose(found, expected, rtol=0.1)


def test_two_splits_make_the_standard_error_smaller() -> None:
    rng = np.random.default_rng(7)
    first, second = drawn_scores(rng, 0.0, 400), drawn_scores(rng, 0.0, 400)

    one, both = standard_error([first], "recall"), standard_error([first, second], "recall")

    np.testing.assert_allclose(both, one / np.sqrt(2), rtol=0.15)


def test_f_scores_are_taken_of_the_means_of_users() -> None:
    scores = made_scores([0.2, 0.4], [0.8, 0.6], rounds=2, noise=0.1)

    found = mean_measure([scores], "F2")

    expected = f_score(scores.recall.mean(axis=0), scores.diversity[0].mean(axis=0), 2.0)
    np.testing.assert_allclose(found, expected)


def test_mean_measure_is_the_mean_of_the_splits() -> None:
    splits = [made_scores(0.2, noise=0.0), made_scores(0.4, noise=0.0)]

    np.testing.assert_allclose(mean_measure(splits, "recall"), 0.3)


def test_scores_of_other_users_are_refused() -> None:
    ours, theirs = made_scores(0.2, users=4, rounds=3), made_scores(0.2, users=5, rounds=3)

    with pytest.raises(
        InputError, match=r"`theirs` must have the same users .* got shape \(5, 3\)"
    ):
        difference([ours], [theirs], "recall")


def test_an_unknown_measure_is_refused_with_the_nearest() -> None:
    with pytest.raises(NotFoundError, match=r"`measure` must be one of .*did you mean 'recall'"):
        mean_measure([made_scores(0.2)], "recal")
