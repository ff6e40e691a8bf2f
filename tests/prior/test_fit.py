"""A prior fitted to likes: against direct formulas, and sound whatever the likes are."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tests.prior.making import made_catalogue, made_likes, population
from variegate import Catalogue
from variegate.arrays import FloatArray, IndexArray
from variegate.errors import InputError
from variegate.model.distances import cosine, difference
from variegate.prior import Prior, default_prior, fit_prior
from variegate.prior.fit import Moments, Population, Shrinkage, fit_population, like_sums


def is_sound(prior: Prior) -> bool:
    least = float(np.linalg.eigvalsh(prior.covariance).min())
    numbers = [prior.mean.sum(), prior.precision.sum(), prior.noise]
    return least > 0 and bool(np.isfinite(numbers).all())


def linear_likes(
    features: FloatArray, mean: FloatArray, covariance: FloatArray, users: int
) -> list[IndexArray]:
    """Return likes whose chances are z . theta, theta drawn for each user."""
    rng = np.random.default_rng(11)
    chances = rng.multivariate_normal(mean, covariance, size=users) @ features.T
    assert np.mean((chances < 0) | (chances > 1)) < 1e-3
    return [np.flatnonzero(rng.random(len(features)) < row) for row in chances]


def test_a_known_population_is_found_again() -> None:
    rng = np.random.default_rng(5)
    features = np.column_stack([np.ones(300), rng.uniform(-1, 1, (300, 2))])
    mean = np.array([0.5, 0.1, -0.05])
    covariance = np.array([[0.004, 0.001, 0.0], [0.001, 0.006, -0.002], [0.0, -0.002, 0.005]])
    users = 3000

    found = fit_prior(
        Catalogue(range(300), features, []),
        linear_likes(features, mean, covariance, users),
        noise_factor=1.0,
    )

    # A user's theta is seen through the noise of 300 likes, so means have this error.
    seen = covariance + 0.25 * np.linalg.inv(features.T @ features)
    assert (np.abs(found.mean - mean) < 4 * np.sqrt(np.diag(seen) / users)).all()
    variances = np.diag(seen)
    error = np.sqrt((np.outer(variances, variances) + seen**2) / users)
    assert (np.abs(found.covariance - covariance) < 4 * error).all()
    assert found.noise == pytest.approx(0.25 - 0.01 / 3 - 0.0025 / 3 - 0.004 - 0.011 / 3, rel=0.02)
    assert found.users == users


def test_the_evidence_is_the_density_of_the_likes() -> None:
    features = np.random.default_rng(1).normal(size=(5, 2))
    likes = [[0, 1], [4], [0, 2, 3]]
    belief = Population(np.array([0.3, -0.2]), np.array([[0.5, 0.1], [0.1, 0.2]]), 0.3)
    rewards = np.array([[float(item in liked) for item in range(5)] for liked in likes])

    evidence = like_sums(features, likes).moments(belief).evidence

    spread = features @ belief.covariance @ features.T + 0.3 * np.eye(5)
    density = multivariate_normal(features @ belief.mean, spread).logpdf(rewards).sum()
    assert evidence == pytest.approx(density, rel=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 30), st.floats(1e-3, 50.0))
def test_no_step_lowers_the_evidence(seed: int, users: int, shrinkage: float) -> None:
    catalogue = made_catalogue(30, 3, seed=seed)
    likes = made_likes(catalogue, users, seed=seed)
    likes[0] = np.arange(2)

    history = fit_population(like_sums(catalogue.features, likes), shrinkage=shrinkage).evidence

    steps = np.diff(history)
    assert (steps >= -1e-9 * np.abs(history).max()).all()


def test_the_fit_ends_where_no_step_gains() -> None:
    catalogue = made_catalogue()
    sums = like_sums(catalogue.features, made_likes(catalogue, 60))
    ended, longer = (fit_population(sums, shrinkage=3.0, max_iterations=n) for n in (500, 2000))

    assert 3 < len(ended.evidence) < 500
    np.testing.assert_array_equal(ended.population.mean, longer.population.mean)


def test_the_likes_are_likelier_than_under_a_neighbouring_belief() -> None:
    catalogue = made_catalogue()
    sums = like_sums(catalogue.features, made_likes(catalogue, 200))
    best = fit_population(sums, shrinkage=1e-6).population
    evidence = sums.moments(best).evidence
    others = [
        best._replace(noise=1.02 * best.noise),
        best._replace(covariance=1.1 * best.covariance),
        best._replace(covariance=0.9 * best.covariance),
        best._replace(mean=best.mean + 0.02),
    ]

    assert all(sums.moments(other).evidence < evidence for other in others)


def test_the_order_of_users_changes_nothing() -> None:
    catalogue = made_catalogue()
    likes = made_likes(catalogue, 50)
    order = np.random.default_rng(0).permutation(50)

    one, other = fit_prior(catalogue, likes), fit_prior(catalogue, [likes[u] for u in order])

    np.testing.assert_allclose(other.mean, one.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-9, atol=1e-12)


def test_units_of_the_features_change_nothing_but_units() -> None:
    catalogue = made_catalogue(d=3)
    likes, units = made_likes(catalogue, 40), np.array([1e-3, 1.0, 1e4])
    other = Catalogue(catalogue.ids, catalogue.features * units, "cosine")

    one, scaled = fit_prior(catalogue, likes), fit_prior(other, likes)

    np.testing.assert_allclose(scaled.mean[:3] * units, one.mean[:3], rtol=1e-8, atol=1e-12)
    theta = scaled.covariance[:3, :3] * np.outer(units, units)
    np.testing.assert_allclose(theta, one.covariance[:3, :3], rtol=1e-8, atol=1e-12)


def test_likes_are_the_same_as_rows_masks_and_twice() -> None:
    catalogue = made_catalogue(10)
    mask = np.isin(np.arange(10), [1, 4])

    priors = [fit_prior(catalogue, [rows]) for rows in ([1, 4], mask, [4, 1, 1])]

    assert all(np.array_equal(prior.mean, priors[0].mean) for prior in priors)


def test_users_without_likes_are_left_out() -> None:
    catalogue = made_catalogue(10)

    with_idle, without = (
        fit_prior(catalogue, [[1], [], [2, 3]]),
        fit_prior(catalogue, [[1], [2, 3]]),
    )

    assert np.array_equal(with_idle.mean, without.mean)
    assert with_idle.users == 2


def test_few_users_are_drawn_to_small_independent_tastes() -> None:
    catalogue = made_catalogue()
    likes = made_likes(catalogue, 400)
    all_of_them = fit_prior(catalogue, likes)

    def apart(users: int) -> float:
        return float(np.linalg.norm(fit_prior(catalogue, likes[:users]).mean - all_of_them.mean))

    assert np.linalg.norm(fit_prior(catalogue, likes[:1]).mean[:4]) < 2 * np.linalg.norm(
        all_of_them.mean[:4]
    )
    assert apart(200) < apart(20) < apart(1)


ODD_FEATURES = {
    "constant": np.column_stack([np.ones(20), np.linspace(-1, 1, 20)]),
    "zero": np.column_stack([np.zeros(20), np.linspace(-1, 1, 20)]),
    "all zero": np.zeros((20, 2)),
    "equal": np.column_stack([np.linspace(-1, 1, 20)] * 2),
    "rare": np.column_stack([np.eye(20)[3], np.linspace(-1, 1, 20)]),
    "tiny": np.column_stack([np.full(20, 1e-90), np.linspace(-1, 1, 20)]),
    "huge": np.column_stack([np.full(20, 1e90), np.linspace(-1, 1, 20)]),
    "more than items": np.random.default_rng(0).normal(size=(20, 40)),
}
FEW_LIKES = {
    "one like": [[3]],
    "one user": [[0, 5, 9]],
    "two alike": [[0, 5], [0, 5]],
    "everything": [list(range(20))] * 3,
    "many": [[user % 20, (3 * user + 1) % 20] for user in range(200)],
}


@pytest.mark.parametrize("features", ODD_FEATURES.values(), ids=ODD_FEATURES.keys())
@pytest.mark.parametrize("likes", FEW_LIKES.values(), ids=FEW_LIKES.keys())
@pytest.mark.parametrize("shrinkage", [0.1, 3.0])
def test_the_prior_is_sound_whatever_there_is_to_fit(
    features: FloatArray, likes: list[list[int]], shrinkage: float
) -> None:
    prior = fit_prior(Catalogue(range(20), features, []), likes, shrinkage=shrinkage)

    assert is_sound(prior)


def test_a_feature_that_no_item_has_keeps_the_spread_of_the_pseudo_users() -> None:
    features = np.column_stack([np.zeros(40), made_catalogue(40, 3).features])
    likes = made_likes(made_catalogue(40, 3), 100)

    prior = fit_prior(Catalogue(range(40), features, []), likes)

    assert prior.mean[0] == 0.0
    assert not prior.covariance[0, 1:].any()
    assert 0.01 < prior.covariance[0, 0] / np.diag(prior.covariance)[1:].mean() < 1.0


def test_beta_is_what_it_is_stated_to_be() -> None:
    features = made_catalogue(12, 2).features
    distances = [cosine(), difference(range(12), name="years")]
    catalogue = Catalogue(range(12), features, distances)

    prior = fit_prior(catalogue, [[1], [2, 3]], beta=[0.4, 0.1], beta_variance=[0.02, 0.5])

    assert prior.distances == ("cosine", "years")
    assert prior.mean[2:].tolist() == [0.4, 0.1]
    assert np.array_equal(prior.covariance[2:, 2:], np.diag([0.02, 0.5]))
    assert is_sound(prior)
    prior.check(catalogue)


def test_the_noise_is_multiplied_at_the_end() -> None:
    catalogue = made_catalogue(20)

    one, three = (fit_prior(catalogue, [[1], [2, 3]], noise_factor=f) for f in (1.0, 3.0))

    assert three.noise == pytest.approx(3 * one.noise, rel=1e-15)
    assert np.array_equal(three.covariance, one.covariance)


@pytest.mark.parametrize(
    ("likes", "options", "words"),
    [
        ([], {}, "`likes` must hold at least one user who likes an item, got none"),
        ([[], []], {}, "`likes` must hold at least one user who likes an item, got none"),
        ("likes", {}, "`likes` must hold the rows that each user likes, got 'likes'"),
        (3, {}, "`likes` must hold the rows that each user likes, got 3"),
        ([1, 2], {}, "`likes` must be a list of row numbers or a mask"),
        ([[80]], {}, "`likes` must hold rows from 0 to 79, got 80"),
        ([["a"]], {}, "`likes` must be a list of row numbers or a mask"),
        ([[1]], {"shrinkage": 0}, "`shrinkage` must be a number greater than 0, got 0"),
        ([[1]], {"noise_factor": -1}, "`noise_factor` must be a number greater than 0, got -1"),
        ([[1]], {"beta": [1, 2]}, "`beta` must be a number, or one for each of 1 distances"),
        ([[1]], {"beta_variance": 0}, "`beta_variance` must be a number greater than 0"),
    ],
)
def test_what_cannot_be_fitted_is_refused(likes: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit_prior(made_catalogue(), likes, **options)


def test_a_vague_prior_likes_popularity_a_bit() -> None:
    catalogue = made_catalogue(5, 2).with_features({"popularity": np.ones(5)})

    prior = default_prior(catalogue, variance=0.03, noise=0.2, beta=0.4, beta_variance=0.01)

    assert prior.mean.tolist() == [0.0, 0.0, 0.1, 0.4]
    assert np.array_equal(prior.covariance, np.diag([0.03, 0.03, 0.03, 0.01]))
    assert (prior.noise, prior.users) == (0.2, 0)
    prior.check(catalogue)


@pytest.mark.parametrize("name", ["variance", "noise"])
def test_a_vague_prior_asks_for_variances(name: str) -> None:
    options: dict[str, Any] = {name: 0.0}
    with pytest.raises(InputError, match=f"`{name}` must be a number greater than 0"):
        default_prior(made_catalogue(), **options)


def test_a_step_is_the_mean_over_users_and_pseudo_users() -> None:
    rng = np.random.default_rng(0)
    users, posterior = rng.normal(size=(7, 3)), 0.1 * np.eye(3)
    old, target = Population(*population(3)), Population(*population(3, seed=1))
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
    belief = Population(np.zeros(1), np.eye(1), 0.3)
    moments = Moments(0.0, 2, np.ones(1), np.eye(1), residual=0.0, rewards=0.0)

    assert Shrinkage(belief, 1.0, 1.0, of_noise=0.0).updated(belief, moments).noise == 0.3
