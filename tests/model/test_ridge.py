"""Ridge regression from its sums: exact, steady, and whole after an error."""

import numpy as np
import pytest

from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.model.ridge import Ridge, packed, unpacked


def observed(n: int, size: int, *, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, size)), rng.random(n)


def taught(features: FloatArray, rewards: FloatArray, ridge: float) -> Ridge:
    learner = Ridge(features.shape[1], ridge)
    learner.learn(features, rewards)
    return learner


def exact(features: FloatArray, rewards: FloatArray, ridge: float) -> FloatArray:
    """Return the ridge solution by least squares on the rows: no squares are ever taken."""
    size = features.shape[1]
    rows = np.vstack([features, np.sqrt(ridge) * np.eye(size)])
    solution = np.linalg.lstsq(rows, np.append(rewards, np.zeros(size)), rcond=None)
    return np.asarray(solution[0], dtype=np.float64)


@pytest.mark.parametrize("ridge", [1e-6, 0.1, 1.0, 50.0, 1e6])
def test_the_estimate_is_the_direct_solution(ridge: float) -> None:
    features, rewards = observed(40, 6)
    phi = features.T @ features + ridge * np.eye(6)

    belief = taught(features, rewards, ridge).estimate()

    np.testing.assert_allclose(belief.mean, exact(features, rewards, ridge), rtol=1e-10)
    np.testing.assert_allclose(belief.covariance @ phi, np.eye(6), atol=1e-10)
    np.testing.assert_array_equal(belief.inverse_root, np.tril(belief.inverse_root))
    np.testing.assert_allclose(belief.deviations**2, np.diag(np.linalg.inv(phi)), rtol=1e-10)


@pytest.mark.parametrize("ridge", [1e-6, 1.0, 1e6])
def test_nothing_learnt_is_the_prior(ridge: float) -> None:
    belief = Ridge(3, ridge).estimate()

    assert belief.mean.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(belief.covariance, np.eye(3) / ridge, rtol=1e-15)


@pytest.mark.parametrize("ridge", [1e-6, 1.0, 1e6])
def test_the_determinant_ratio_tells_how_much_was_learnt(ridge: float) -> None:
    learner = Ridge(2, ridge)
    learner.learn(np.array([[1.0, 0.0], [0.0, 2.0]]), np.ones(2))

    expected = np.log1p(1.0 / ridge) + np.log1p(4.0 / ridge)
    assert learner.log_determinant_ratio() == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("ridge", [0.3, 1.0, 50.0])
@pytest.mark.parametrize("rows", [0, 3, 40])
def test_a_widened_prior_gives_the_direct_solution(ridge: float, rows: int) -> None:
    features, rewards = observed(rows, 4)
    direction = np.array([0.5, -1.0, 0.0, 2.0])

    mean, covariance = taught(features, rewards, ridge).widened(direction, 0.7)

    prior = np.eye(4) / ridge + 0.7 * np.outer(direction, direction)
    expected = np.linalg.inv(np.linalg.inv(prior) + features.T @ features)
    np.testing.assert_allclose(covariance, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(mean, expected @ (rewards @ features), rtol=1e-8, atol=1e-12)


def test_learning_row_by_row_is_learning_all_at_once() -> None:
    features, rewards = observed(30, 4)
    learner = Ridge(4, 1.0)
    for row, reward in zip(features, rewards, strict=True):
        learner.learn(row[None], np.array([reward]))

    together = taught(features, rewards, 1.0)

    np.testing.assert_allclose(learner.gram, together.gram, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(learner.response, together.response, rtol=1e-13, atol=1e-14)


def test_no_rows_teach_nothing() -> None:
    learner = taught(*observed(5, 3), 1.0)
    before = learner.estimate().mean

    learner.learn(np.empty((0, 3)), np.empty(0))

    np.testing.assert_array_equal(learner.estimate().mean, before)


@pytest.fixture(scope="module")
def long_taught() -> Ridge:
    """A learner after a million updates: 1,000 rounds of the same 1,000 observations."""
    features, rewards = observed(1_000, 11, seed=3)
    rows = [(features[i : i + 1], rewards[i : i + 1]) for i in range(1_000)]
    learner = Ridge(11, 50.0)
    for _ in range(1_000):
        for row, reward in rows:
            learner.learn(row, reward)
    return learner


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [1e-6, 1.0, 50.0, 1e6])
def test_a_million_updates_do_not_drift(long_taught: Ridge, ridge: float) -> None:
    features, rewards = observed(1_000, 11, seed=3)
    learner = Ridge(11, ridge)
    learner.set_sums(long_taught.gram, long_taught.response)

    # A fresh solve over all rows: each came 1,000 times, which least squares takes as a weight.
    weight = np.sqrt(1_000.0)
    fresh = exact(weight * features, weight * rewards, ridge)
    np.testing.assert_allclose(learner.estimate().mean, fresh, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("size", [1e5, 1e6, 1e10, 1e100])
def test_huge_features_of_low_rank_and_a_tiny_ridge(size: float) -> None:
    # Phi is indefinite by rounding here. Dividing by lambda where its eigenvalue came out
    # below it once blew the estimate up to a thousand times the rewards and more.
    rng = np.random.default_rng(1)
    features = size * rng.normal(size=(20, 2)) @ rng.normal(size=(2, 5))
    rewards = rng.random(20)
    learner = taught(features, rewards, 1e-6)

    belief = learner.estimate()

    shortest = np.linalg.lstsq(features / size, rewards, rcond=1e-12)[0] / size
    np.testing.assert_allclose(features @ belief.mean, features @ shortest, rtol=1e-9)
    np.testing.assert_allclose(belief.mean, shortest, rtol=1e-6)
    assert (belief.variances(features) < 1.0 + 1e-9).all()
    assert np.isfinite(belief.covariance).all()
    assert np.isfinite(belief.sample(np.random.default_rng(0))).all()


def test_a_direction_that_was_never_seen_keeps_a_large_variance() -> None:
    seen = np.tile([1e8, 1e8, 0.0], (10, 1))
    belief = taught(seen, np.ones(10), 1e-6).estimate()

    along, across = belief.variances(np.array([[1e8, 1e8, 0.0], [1e8, -1e8, 0.0]]))

    assert along == pytest.approx(0.1, rel=0.3)  # 1 / n, the rounding of Phi aside
    assert across > 1e9


@pytest.mark.parametrize("wrong", [1e200, 1e308])
def test_squares_that_overflow_are_refused_and_leave_the_sums(wrong: float) -> None:
    learner = taught(*observed(5, 2), 1.0)
    gram, response, mean = learner.gram, learner.response, learner.estimate().mean

    with pytest.raises(InputError, match=r"the features are too large to learn from: their squ"):
        learner.learn(np.array([[0.0, 1.0], [wrong, 0.0]]), np.ones(2))

    np.testing.assert_array_equal(learner.gram, gram)
    np.testing.assert_array_equal(learner.response, response)
    np.testing.assert_array_equal(learner.estimate().mean, mean)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_samples_have_the_mean_and_covariance_believed_in(scale: float) -> None:
    belief = taught(*observed(12, 3), 0.5).estimate()
    rng = np.random.default_rng(8)

    drawn = np.array([belief.sample(rng, scale) for _ in range(20_000)])

    # Standard errors here are near 0.7% of a deviation and 1% of a variance.
    deviations = scale * belief.deviations
    np.testing.assert_allclose(drawn.mean(axis=0), belief.mean, atol=4e-2 * deviations.max())
    found = np.cov(drawn.T) / np.outer(deviations, deviations)
    correlations = belief.covariance / np.outer(belief.deviations, belief.deviations)
    np.testing.assert_allclose(found, correlations, atol=0.05)


def test_samples_by_eigenvalues_have_the_covariance_too() -> None:
    rng = np.random.default_rng(9)
    rows = np.tile([1e8, 1e8], (10, 1))
    belief = taught(rows, np.ones(10), 1e-6).estimate()

    drawn = np.array([belief.sample(rng) for _ in range(20_000)])

    np.testing.assert_allclose(np.cov(drawn.T) / belief.covariance, np.ones((2, 2)), atol=0.05)


def test_variances_are_never_below_zero() -> None:
    belief = taught(np.tile([1e6, 1.0], (50, 1)), np.ones(50), 1e-6).estimate()
    rng = np.random.default_rng(2)

    assert (belief.variances(rng.normal(size=(200, 2))) >= 0.0).all()


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_packed_triangle_unpacks_to_the_matrix(size: int) -> None:
    root = np.random.default_rng(size).normal(size=(size, size))
    symmetric = root @ root.T

    triangle = packed(symmetric)

    assert triangle.shape == (size * (size + 1) // 2,)
    np.testing.assert_array_equal(unpacked(triangle, size), symmetric)
