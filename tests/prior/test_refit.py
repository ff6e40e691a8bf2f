"""A prior refitted to the sums of users' policies."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tests.prior.making import (
    drawn_users,
    plain_prior,
    population,
)
from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.model.ridge import packed
from variegate.prior import Prior, fit_prior_from_sums
from variegate.prior.refit import BATCH_USERS, em_step


def test_a_known_population_is_found_again() -> None:
    truth, users = population(4), 3000

    found = fit_prior_from_sums(plain_prior(3, noise=truth.noise), drawn_users(truth, users))

    variances = np.diag(truth.covariance) + truth.noise / 15
    assert (np.abs(found.mean - truth.mean) < 4 * np.sqrt(variances / users)).all()
    # Twenty pseudo-users of the plain prior are 20 in 3,020 of the covariance.
    error = 4 * np.sqrt(2 * np.outer(variances, variances) / users) + 20 / users
    assert (np.abs(found.covariance - truth.covariance) < error).all()
    assert (found.users, found.distances) == (users, ("cosine",))


def test_users_with_a_reward_or_two_still_tell_the_population() -> None:
    truth = population(3)

    found = fit_prior_from_sums(
        plain_prior(2, noise=truth.noise),
        drawn_users(truth, 4000, rewards=2),
        shrinkage=1.0,
        max_iterations=300,
    )

    assert np.abs(found.mean - truth.mean).max() < 0.06
    assert np.abs(found.covariance - truth.covariance).max() < 0.08


@pytest.mark.parametrize("users", [50, BATCH_USERS + 50])
def test_the_order_of_users_changes_nothing(users: int) -> None:
    sums = list(drawn_users(population(3), users, rewards=6))
    order = np.random.default_rng(0).permutation(users)

    one = fit_prior_from_sums(plain_prior(2), sums)
    other = fit_prior_from_sums(plain_prior(2), [sums[u] for u in order])

    np.testing.assert_allclose(other.mean, one.mean, rtol=1e-9)
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-9, atol=1e-12)


def test_many_users_of_one_mind_leave_a_sound_prior() -> None:
    one = next(drawn_users(population(3), 1))

    prior = fit_prior_from_sums(plain_prior(2), [one] * 500)

    assert np.linalg.eigvalsh(prior.covariance).min() > 0
    assert np.diag(prior.covariance).max() < 0.1


def test_a_weight_that_no_user_taught_keeps_its_belief() -> None:
    truth = population(3)
    blind = np.diag([1.0, 1.0, 0.0])
    users = [(blind @ g @ blind, blind @ r) for g, r in drawn_users(truth, 100)]

    found = fit_prior_from_sums(replace(plain_prior(2), mean=np.array([0.0, 0.0, 0.4])), users)

    assert found.mean[2] == pytest.approx(0.4, abs=1e-12)
    assert found.covariance[2, 2] == pytest.approx(0.5, rel=1e-9)


def test_more_pseudo_users_hold_the_prior_closer() -> None:
    users, prior = list(drawn_users(population(3), 60)), plain_prior(2)

    moved = [
        np.linalg.norm(fit_prior_from_sums(prior, users, shrinkage=s).mean)
        for s in (1.0, 100.0, 1e6)
    ]

    assert moved[0] > moved[1] > moved[2]
    assert moved[2] < 1e-2


def test_users_without_a_reward_do_not_count() -> None:
    users = list(drawn_users(population(3), 50))
    idle = (np.zeros((3, 3)), np.zeros(3))

    found = fit_prior_from_sums(plain_prior(2), [idle, *users, idle])

    assert found.users == 50
    assert np.array_equal(found.mean, fit_prior_from_sums(plain_prior(2), users).mean)
    with pytest.raises(InputError, match=r"at least 50 users with a reward, .*, got 49"):
        fit_prior_from_sums(plain_prior(2), [*users[:49], idle])


GRAM, RESPONSE = np.eye(3), np.zeros(3)


@pytest.mark.parametrize(
    ("sums", "options", "words"),
    [
        ([], {}, "at least 50 users with a reward, so that no individual can be inferred, got 0"),
        ([(GRAM, RESPONSE)] * 3, {"min_users": 4}, "at least 4 users .*, got 3"),
        ([GRAM], {}, "`sums` must hold .* of each user, got ndarray for user 0"),
        ([(GRAM,)], {}, "`sums` must hold .* of each user, got tuple for user 0"),
        ([(np.eye(2), RESPONSE)], {}, r"`sums\[0\].gram` must have shape \(3, 3\), got \(2, 2\)"),
        ([(GRAM, np.zeros(4))], {}, r"`sums\[0\].response` must have shape \(3,\), got \(4,\)"),
        ([(np.nan * GRAM, RESPONSE)], {}, r"`sums\[0\].gram` must be finite"),
        ([], {"shrinkage": 0.0}, "`shrinkage` must be a number greater than 0"),
        ([], {"min_users": 0}, "`min_users` must be from 1"),
        ([], {"max_iterations": 0}, "`max_iterations` must be from 1"),
    ],
)
def test_what_cannot_be_fitted_is_refused(sums: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit_prior_from_sums(plain_prior(2), sums, **options)


def log_likelihood(users: list[tuple[FloatArray, FloatArray]], now: Prior) -> float:
    """Return the log density of users' rewards, each with the weights integrated out."""
    return sum(
        float(
            multivariate_normal(
                x @ now.mean, x @ now.covariance @ x.T + now.noise * np.eye(len(x))
            ).logpdf(w)
        )
        for x, w in users
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 20), st.integers(1, 8))
def test_step_raises_the_likelihood_of_the_rewards(seed: int, users: int, rewards: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = [(rng.normal(size=(rewards, 3)), rng.normal(size=rewards)) for _ in range(users)]
    sums = [(packed(x.T @ x), w @ x) for x, w in drawn]
    now = target = population(3)

    for _ in range(3):
        before, now = now, em_step(sums, now, target, 1e-9)
        gain = log_likelihood(drawn, now) - log_likelihood(drawn, before)
        assert gain > -1e-6 * users


def test_step_is_the_mean_over_users_and_pseudo_users() -> None:
    """With very many rewards each user's weights are known."""
    rng, target = np.random.default_rng(0), population(3, seed=1)
    weights = rng.normal(size=(7, 3))
    users = [(packed(1e9 * np.eye(3)), 1e9 * own) for own in weights]

    found = em_step(users, population(3), target, 2.0)

    mean = (weights.sum(axis=0) + 2 * target.mean) / 9
    centred, pulled = weights - mean, target.mean - mean
    scatter = centred.T @ centred + 2 * (target.covariance + np.outer(pulled, pulled))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, scatter / 9, rtol=1e-5, atol=1e-7)
