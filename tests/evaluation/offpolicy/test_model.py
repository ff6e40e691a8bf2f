"""The model part of the doubly robust estimate."""

from typing import Any

import numpy as np
import pytest

from tests.evaluation.offpolicy.making import (
    BASE,
    ITEMS,
    LOGGING,
    TARGET,
    Made,
    cascading,
    made_log,
    true_value,
)
from variegate import Catalogue
from variegate.errors import InputError
from variegate.evaluation.offpolicy import (
    Estimate,
    RewardModel,
    cascade_dr,
    gain_features,
    ridge_model,
    rips,
    slate_log,
    target_of_distributions,
    target_of_lists,
)

CATALOGUE = Catalogue(range(ITEMS), np.column_stack([BASE, BASE**2]), "euclidean")


def fitted(made: Made, **options: Any) -> RewardModel:
    distributions = TARGET.distributions[made.rows]
    return ridge_model(made.log, *gain_features(made.log, CATALOGUE, distributions), **options)


def by_fitted(made: Made) -> Estimate:
    return cascade_dr(made.log, made.target, fitted(made))


def test_a_fitted_model_keeps_the_estimate_unbiased() -> None:
    values = [by_fitted(made_log(cascading, 300, seed)).value for seed in range(25)]

    error = np.std(values, ddof=1) / np.sqrt(len(values))

    assert abs(np.mean(values) - true_value(cascading)) < 4.0 * error


def test_a_fitted_model_makes_the_estimate_steadier() -> None:
    made = made_log(cascading, 3_000, 0)

    with_model, without = by_fitted(made), rips(made.log, made.target)

    # Measured: 0.026 against 0.034.
    assert with_model.standard_error < 0.9 * without.standard_error


def test_a_model_that_knows_all_leaves_no_error() -> None:
    # Every item earns the same, whatever it is: Q is known, and so is the value.
    made = made_log(lambda: np.ones((60, 3)), 50, 0)
    to_go = np.tile([3.0, 2.0, 1.0], (50, 1))

    # r_k + Q_{k+1} - Q_k is 0 everywhere: what is left is Q of the first position.
    found = cascade_dr(made.log, made.target, RewardModel(to_go, to_go))

    assert found.value == pytest.approx(3.0)
    assert found.standard_error == pytest.approx(0.0, abs=1e-12)


def test_a_lists_own_rewards_do_not_reach_its_model() -> None:
    made = made_log(cascading, 40, 1)
    rewards = made.log.rewards.copy()
    rewards[6] = 1.0 - rewards[6]
    changed = Made(slate_log(made.log.items, rewards, made.log.propensities), made.rows)

    before, after = fitted(made), fitted(changed)

    np.testing.assert_array_equal(before.taken[6], after.taken[6])
    assert not np.allclose(before.taken[7], after.taken[7])


def test_features_are_the_papers_gains_and_their_means() -> None:
    log = slate_log([[4, 0]], [[1, 0]], [[0.5, 0.5]])
    certain = np.zeros((1, 2, ITEMS))
    certain[0, 0, 4] = certain[0, 1, 2] = 1.0

    taken, means = gain_features(log, CATALOGUE, certain)

    apart = np.linalg.norm(CATALOGUE.features - CATALOGUE.features[4], axis=1)
    np.testing.assert_allclose(taken[0, 0], [1.0, *CATALOGUE.features[4], 0.0])
    np.testing.assert_allclose(taken[0, 1], [1.0, *CATALOGUE.features[0], apart[0]])
    np.testing.assert_allclose(means[0, 0], taken[0, 0])
    np.testing.assert_allclose(means[0, 1], [1.0, *CATALOGUE.features[2], apart[2]])


def test_chances_of_the_logged_items_come_from_those_of_all() -> None:
    made = made_log(cascading, 30, 2)

    np.testing.assert_array_equal(
        target_of_distributions(made.log, TARGET.distributions[made.rows]), made.target
    )
    np.testing.assert_array_equal(
        target_of_distributions(made.log, LOGGING.distributions[made.rows]), made.log.propensities
    )


def test_a_policy_that_never_draws_is_certain_down_to_the_first_difference() -> None:
    log = slate_log([[0, 1, 2], [1, 0, 2]], np.zeros((2, 3)), np.full((2, 3), 0.5))

    found = target_of_lists(log, [[0, 1, 2], [1, 3, 2]])

    np.testing.assert_array_equal(found, [[1, 1, 1], [1, 0, 0]])


LOG = slate_log([[0, 1], [2, 3]], np.zeros((2, 2)), np.full((2, 2), 0.5))


def test_lists_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"`lists` must have shape \(2, 2\), got \(1, 2\)"):
        target_of_lists(LOG, [[0, 1]])


@pytest.mark.parametrize(
    ("distributions", "message"),
    [
        (np.full((2, 2, 3), 1 / 3), r"a column for each item, at least 4, got \(2, 2, 3\)"),
        (np.full((2, 1, 5), 0.2), r"must have shape \(2, 2\)"),
        (np.full((2, 2, 5), 0.3), "probabilities that add up to 1, got 1.5 in list 0, position 0"),
        (np.full((2, 2, 4), 0.25), "a column for each of 5 items, got 4"),
    ],
)
def test_distributions_that_cannot_be_are_refused(distributions: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gain_features(LOG, CATALOGUE, distributions)


@pytest.mark.parametrize(
    ("features", "means", "options", "message"),
    [
        (np.ones((2, 2, 3)), np.ones((2, 2, 4)), {}, r"`means` must have shape \(2, 2, 3\)"),
        (np.ones((3, 2, 3)), np.ones((3, 2, 3)), {}, r"`features` must have shape \(2, 2, 3\)"),
        (np.ones((2, 2, 3)), np.ones((2, 2, 3)), {"folds": 1}, "`folds` must be at least 2"),
        (np.ones((2, 2, 3)), np.ones((2, 2, 3)), {"folds": 3}, r"`folds` must be from 1 to 2"),
        (np.ones((2, 2, 3)), np.ones((2, 2, 3)), {"ridge": 0.0}, "`ridge` must be a number gr"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    features: Any, means: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ridge_model(LOG, features, means, **options)


def test_halves_of_a_model_must_match() -> None:
    with pytest.raises(InputError, match=r"got shapes \(2, 2\) and \(2, 3\)"):
        RewardModel(np.zeros((2, 2)), np.zeros((2, 3)))
