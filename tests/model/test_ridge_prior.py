"""Ridge regression from a prior, and that forgets: what it believes, and that it stays proper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from variegate import LMDH, LMDP, Catalogue
from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.model.ridge import SMALL, Ridge
from variegate.prior import Prior

#: Sizes whose solutions are compiled, and whose are LAPACK's.
SIZES = (1, 4, SMALL, SMALL + 1, 60)


def drawn_prior(d: int, m: int = 0, *, seed: int = 0, scale: float = 1.0) -> Prior:
    rng = np.random.default_rng(seed)
    size = d + m
    root = scale * rng.normal(size=(size, size))
    return Prior(
        rng.normal(size=size),
        root @ root.T + 0.1 * scale**2 * np.eye(size),
        0.3,
        tuple(f"feature {i + 1}" for i in range(d)),
        ("cosine", "euclidean", "angular")[:m],
    )


def observed(n: int, size: int, *, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, size)), rng.random(n)


def direct(
    prior: Prior, features: FloatArray, rewards: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mean and Phi^-1 by dense matrices, each row counting `weights`."""
    precision = prior.noise * np.linalg.inv(prior.covariance)
    phi = precision + features.T @ (weights[:, None] * features)
    mean = np.linalg.solve(phi, precision @ prior.mean + features.T @ (weights * rewards))
    return np.asarray(mean, dtype=np.float64), np.linalg.inv(phi).astype(np.float64)


def assert_near(found: FloatArray, expected: FloatArray) -> None:
    """Fail unless all is the same but for rounding, which is of the largest number's size."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("size", SIZES)
def test_nothing_learnt_is_the_prior(size: int) -> None:
    prior = drawn_prior(size)

    belief = Ridge(size, 50.0, prior).estimate()

    np.testing.assert_allclose(belief.mean, prior.mean, rtol=1e-12)
    covariance = prior.noise * belief.covariance
    np.testing.assert_allclose(covariance, prior.covariance, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", [1, 5, 200])
@pytest.mark.parametrize("size", SIZES)
def test_the_posterior_is_the_direct_one(size: int, n: int) -> None:
    prior, (features, rewards) = drawn_prior(size), observed(n, size)
    learner = Ridge(size, 50.0, prior)
    learner.learn(features, rewards)

    belief = learner.estimate()

    mean, inverse = direct(prior, features, rewards, np.ones(n))
    assert_near(belief.mean, mean)
    assert_near(belief.covariance, inverse)
    np.testing.assert_array_equal(belief.inverse_root, np.tril(belief.inverse_root))


@pytest.mark.parametrize("m", [0, 1, 3])
def test_a_prior_of_any_number_of_distances(m: int) -> None:
    prior, (features, rewards) = drawn_prior(3, m), observed(20, 3 + m)
    learner = Ridge(3 + m, 1.0, prior)
    learner.learn(features, rewards)

    mean, _ = direct(prior, features, rewards, np.ones(20))
    np.testing.assert_allclose(learner.estimate().mean, mean, rtol=1e-9)


def test_a_plain_ridge_is_a_prior_at_zero() -> None:
    features, rewards = observed(30, 5)
    names = tuple(f"feature {i + 1}" for i in range(5))
    plain, prior = Ridge(5, 7.0), Prior(np.zeros(5), np.eye(5), 7.0, names, ())
    same = Ridge(5, 1.0, prior)
    plain.learn(features, rewards)
    same.learn(features, rewards)

    np.testing.assert_allclose(same.estimate().mean, plain.estimate().mean, rtol=1e-12)
    assert plain.deviation == 1.0
    assert same.deviation == pytest.approx(np.sqrt(7.0))


def test_the_sums_do_not_hang_on_the_prior() -> None:
    features, rewards = observed(10, 4)
    first, second = Ridge(4, 1.0, drawn_prior(4)), Ridge(4, 1.0, drawn_prior(4, seed=9))
    first.learn(features, rewards)
    second.set_sums(first.gram, first.response)

    mean, _ = direct(drawn_prior(4, seed=9), features, rewards, np.ones(10))
    np.testing.assert_allclose(second.estimate().mean, mean, rtol=1e-9)


def test_the_determinant_ratio_is_from_the_prior_on() -> None:
    learner = Ridge(3, 1.0, drawn_prior(3))

    assert learner.log_determinant_ratio() == 0.0
    learner.learn(*observed(5, 3))
    assert learner.log_determinant_ratio() > 0.0


@pytest.mark.parametrize("forgetting", [0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("size", [4, SMALL + 1])
def test_a_list_counts_less_the_longer_it_is_ago(size: int, forgetting: float) -> None:
    prior, (features, rewards) = drawn_prior(size), observed(12, size)
    learner = Ridge(size, 1.0, prior, forgetting=forgetting)
    for rows in np.split(np.arange(12), 4):
        learner.learn(features[rows], rewards[rows])

    ago = np.repeat([3, 2, 1, 0], 3)
    mean, inverse = direct(prior, features, rewards, forgetting**ago)
    assert_near(learner.estimate().mean, mean)
    assert_near(learner.estimate().covariance, inverse)


@pytest.mark.parametrize("with_prior", [False, True])
@pytest.mark.parametrize("size", [3, SMALL + 1])
def test_ten_thousand_lists_stay_proper(size: int, with_prior: bool) -> None:
    prior = drawn_prior(size) if with_prior else None
    learner = Ridge(size, 2.0, prior, forgetting=0.9)
    precision = 2.0 * np.eye(size) if prior is None else prior.precision
    # All lists are of two directions: of the others nothing is ever learnt.
    features, rewards = observed(1_000, size)
    features[:, 2:] = 0.0
    for t in range(10_000):
        row = slice(5 * (t % 200), 5 * (t % 200) + 5)
        learner.learn(features[row], rewards[row])

    belief = learner.estimate()

    assert np.isfinite(belief.mean).all()
    excess = np.linalg.eigvalsh(learner.gram)
    assert excess.min() >= -1e-10  # Phi - precision is no less than 0
    assert 1.0 < np.trace(learner.gram) < 1_000.0
    phi = np.linalg.inv(belief.covariance)
    np.testing.assert_allclose(phi, precision + learner.gram, rtol=1e-9, atol=1e-9)
    unseen = 1.0 / np.linalg.inv(precision)[2, 2]
    assert np.square(belief.deviations[2]) <= (1.0 + 1e-9) / unseen


def test_what_was_forgotten_is_as_if_it_never_was() -> None:
    prior, learner = drawn_prior(3), Ridge(3, 1.0, drawn_prior(3), forgetting=0.5)
    learner.learn(*observed(50, 3))
    nothing = np.zeros((1, 3))
    for _ in range(2_000):
        learner.learn(nothing, np.zeros(1))

    np.testing.assert_array_equal(learner.gram, np.zeros((3, 3)))
    np.testing.assert_allclose(learner.estimate().mean, prior.mean, rtol=1e-12)


@pytest.mark.parametrize("size", [2, SMALL + 1])
def test_no_rows_teach_nothing_and_nothing_is_forgotten(size: int) -> None:
    # A list that nobody looked at once faded all that was known.
    learner = Ridge(size, 1.0, forgetting=0.5)
    learner.learn(*observed(5, size))
    gram = learner.gram

    learner.learn(np.empty((0, size)), np.empty(0))

    np.testing.assert_array_equal(learner.gram, gram)


@pytest.mark.parametrize("size", [2, SMALL + 1])
def test_a_failed_update_leaves_all_as_it_was(size: int) -> None:
    learner = Ridge(size, 1.0, drawn_prior(size), forgetting=0.5)
    learner.learn(*observed(5, size))
    gram, response = learner.gram.copy(), learner.response.copy()
    mean = learner.estimate().mean.copy()
    huge = np.zeros((2, size))
    huge[1, 0] = 1e200

    with pytest.raises(InputError, match="the features are too large to learn from: their squ"):
        learner.learn(huge, np.ones(2))

    np.testing.assert_array_equal(learner.gram, gram)
    np.testing.assert_array_equal(learner.response, response)
    np.testing.assert_array_equal(learner.estimate().mean, mean)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 12),
    st.integers(0, 40),
    st.integers(0, 10**6),
    st.floats(0.01, 1.0),
    st.sampled_from([1e-2, 1.0, 1e2]),
)
def test_compiled_loops_find_what_lapack_finds(
    size: int, n: int, seed: int, forgetting: float, scale: float
) -> None:
    prior = drawn_prior(size, seed=seed, scale=scale)
    compiled = Ridge(size, 1.0, prior, forgetting=forgetting)
    with pytest.MonkeyPatch.context() as patch:
        for rows in np.array_split(np.arange(n), 3):
            features, rewards = observed(n, size, seed=seed)
            compiled.learn(features[rows], rewards[rows])
        fast = compiled.estimate()
        patch.setattr("variegate.model.ridge.SMALL", 0)
        plain = Ridge(size, 1.0, prior, forgetting=forgetting)
        for rows in np.array_split(np.arange(n), 3):
            plain.learn(features[rows], rewards[rows])
        slow = plain.estimate()

    np.testing.assert_allclose(compiled.gram, plain.gram, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.mean, slow.mean, rtol=1e-9, atol=1e-11)
    largest = np.abs(slow.inverse_root).max()
    np.testing.assert_allclose(fast.inverse_root, slow.inverse_root, atol=1e-10 * largest)


@pytest.mark.parametrize("forgetting", [0.0, -0.5, 1.01, np.nan, True, "0.9"])
def test_a_share_that_makes_no_sense(forgetting: float) -> None:
    items = Catalogue(range(3), np.eye(3), "cosine")

    with pytest.raises(InputError, match=r"`forgetting` must be a number (greater than|from) 0"):
        LMDH(items, forgetting=forgetting)


@pytest.mark.parametrize("distances", [[], ["cosine"], ["cosine", "angular", "euclidean"]])
def test_a_policy_that_forgets_goes_on_from_its_state(distances: list[str]) -> None:
    rng = np.random.default_rng(3)
    items = Catalogue(range(20), rng.random((20, 4)), distances)
    policy, other = (LMDP(items, forgetting=0.8) for _ in range(2))
    for _ in range(5):
        policy.update(policy.recommend(4), (rng.random(4) < 0.4).astype(float))

    other.restore(policy.state())
    slate, again = policy.recommend(4), other.recommend(4)
    policy.update(slate, [1, 0, 0, 1])
    other.update(again, [1, 0, 0, 1])

    assert slate.ids == again.ids
    assert policy.state() == other.state()


def test_a_policy_that_forgets_nothing_is_the_papers() -> None:
    rng = np.random.default_rng(4)
    items = Catalogue(range(20), rng.random((20, 4)), "cosine")
    paper, other = LMDH(items), LMDH(items, forgetting=1)
    for _ in range(5):
        rewards = (rng.random(4) < 0.4).astype(float)
        paper.update(paper.recommend(4), rewards)
        other.update(other.recommend(4), rewards)

    assert paper.state() == other.state()
