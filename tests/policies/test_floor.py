"""The least variety that an operator promises."""

from typing import Any

import numpy as np
import pytest

from variegate import LMDH, LMDP, Catalogue, Dial, fit_prior
from variegate.errors import InputError
from variegate.policies.lmdp import DEFAULT_PRIOR_FLOOR
from variegate.prior import ItemPrior


def items(distances: Any = "cosine") -> Catalogue:
    rng = np.random.default_rng(0)
    return Catalogue(range(30), rng.random((30, 3)), distances)


def disliking(floor: Any, distances: Any = "cosine") -> LMDH:
    """Return what learnt that a user clicks on the first item of a list and on no other."""
    policy = LMDH(items(distances), ridge=1.0, exploration=0.0, floor=floor)
    for _ in range(10):
        policy.update(policy.recommend(4), [1, 0, 0, 0])
    return policy


@pytest.mark.parametrize("option", [True, "much", [0.2], -0.1, float("nan"), float("inf")])
def test_floor_that_is_no_weight_is_refused(option: Any) -> None:
    with pytest.raises(InputError, match=r"`floor` must be a number of at least 0, got"):
        LMDH(items(), floor=option)


def test_automatic_floor_depends_on_the_prior() -> None:
    fitted = LMDP(items(), prior=fit_prior(items(), [[0, 1], [2]], diversity=0.6))

    assert LMDP(items()).floor == LMDP(items(), floor="auto").floor == DEFAULT_PRIOR_FLOOR
    assert isinstance(fitted.prior, ItemPrior)
    best = np.sort(fitted.prior.mean)[-10:].mean()
    assert fitted.diversity_floor == pytest.approx(0.6 * best)
    assert LMDP(items(), floor=None).floor is None


def test_lists_under_a_floor_are_those_of_one_who_cares() -> None:
    plain, floored = disliking(None), disliking(0.7)
    floored.restore(plain.state())
    assert plain.preferences.diversity[0] < 0.0

    without, under = plain.recommend(6), floored.recommend(6)

    assert under.diversity.sum() > without.diversity.sum()
    explained = floored.explain(under)
    np.testing.assert_allclose(explained.diversity, 0.7 * under.diversity)
    np.testing.assert_allclose(explained.relevance + explained.diversity[:, 0], under.scores)


def test_a_floor_does_not_change_what_is_learnt() -> None:
    plain, floored = LMDH(items()), LMDH(items(), floor=2.0)
    slate = plain.recommend(4)

    plain.update(slate, [1, 0, 1, 0])
    floored.update(slate, [1, 0, 1, 0])

    assert plain.state() == floored.state()
    np.testing.assert_array_equal(plain.preferences.diversity, floored.preferences.diversity)


def test_a_floor_below_what_was_learnt_changes_nothing() -> None:
    plain, floored = LMDH(items(), ridge=1.0), LMDH(items(), ridge=1.0, floor=1e-3)
    slate = plain.recommend(4)
    plain.update(slate, [0, 1, 1, 1])
    floored.update(slate, [0, 1, 1, 1])
    assert plain.preferences.diversity[0] > 1e-3

    assert floored.recommend(5).ids == plain.recommend(5).ids


def test_a_floor_is_shared_by_the_distances() -> None:
    policy = disliking(0.9, ["cosine", "euclidean", "angular"])

    weights = policy.explain(slate := policy.recommend(3)).diversity[1] / slate.diversity[1]

    assert policy.preferences.diversity.max() < 0.3
    np.testing.assert_allclose(weights, 0.3)


def test_without_distances_there_is_nothing_to_hold_up() -> None:
    slate = LMDH(items([]), floor=0.5).recommend(3)

    assert slate.ids == LMDH(items([])).recommend(3).ids


def test_a_dial_has_the_last_word() -> None:
    policy = disliking(0.7)

    slate = policy.recommend(3, dial=Dial(scale=0.0))

    np.testing.assert_array_equal(policy.explain(slate, dial=Dial(scale=0.0)).diversity, 0.0)
