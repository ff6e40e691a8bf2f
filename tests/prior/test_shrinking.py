"""One step of expectation maximisation, against the users written out one by one."""

import numpy as np
import pytest

from tests.prior.making import population
from variegate.prior.fit import Belief, Moments, Shrinkage


def test_a_step_is_the_mean_over_users_and_pseudo_users() -> None:
    rng = np.random.default_rng(0)
    users, posterior = rng.normal(size=(7, 3)), 0.1 * np.eye(3)
    old, target = Belief(*population(3)), Belief(*population(3, seed=1))
    apart = users - old.mean
    moments = Moments(
        0.0, 7, apart.sum(axis=0), apart.T @ apart + 7 * posterior, residual=5.0, rewards=40.0
    )

    new = Shrinkage(target, of_mean=2.0, of_covariance=3.0, of_noise=10.0).updated(old, moments)

    mean = (users.sum(axis=0) + 2 * target.mean) / 9
    centred, pulled = users - mean, target.mean - mean
    scatter = centred.T @ centred + 7 * posterior + 2 * np.outer(pulled, pulled)
    np.testing.assert_allclose(new.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(
        new.covariance, (scatter + 3 * target.covariance) / 10, rtol=1e-12, atol=1e-14
    )
    assert new.noise == pytest.approx((5.0 + 10 * target.noise) / 50, rel=1e-12)


def test_without_rewards_or_pseudo_rewards_the_noise_stays() -> None:
    belief = Belief(np.zeros(1), np.eye(1), 0.3)
    moments = Moments(0.0, 2, np.ones(1), np.eye(1), residual=0.0, rewards=0.0)

    assert Shrinkage(belief, 1.0, 1.0, of_noise=0.0).updated(belief, moments).noise == 0.3
