"""LMDH at the edges: any ridge, equal items, zeros, whole lists, none or many distances."""

from dataclasses import replace

import numpy as np
import pytest

from variegate import LMDH, Catalogue
from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.model.distances import cosine
from variegate.policies.lmdh import constant_direction

NAMES = ["cosine", "angular", "euclidean"]


def joint_estimate(seen: FloatArray, rewards: FloatArray, ridge: float) -> FloatArray:
    """Return the ridge solution from the observations themselves."""
    size = seen.shape[1]
    rows = np.vstack([seen, np.sqrt(ridge) * np.eye(size)])
    return np.asarray(np.linalg.lstsq(rows, np.append(rewards, np.zeros(size)), rcond=None)[0])


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1.0, 50.0, 1e6])
@pytest.mark.parametrize("m", [0, 1, 3])
def test_any_ridge_gives_the_least_squares_solution(ridge: float, m: int) -> None:
    rng = np.random.default_rng(2)
    catalogue = Catalogue(range(15), rng.uniform(0.0, 1.0, (15, 4)), NAMES[:m])
    policy = LMDH(catalogue, ridge=ridge)
    seen, rewards = [], []
    for _ in range(25):
        slate = policy.recommend(5, candidates=rng.permutation(15)[:8])
        clicks = rng.integers(0, 2, 5)
        policy.update(slate, clicks)
        seen.append(np.hstack([slate.relevance, slate.diversity]))
        rewards.append(clicks)

    wants = policy.preferences

    expected = joint_estimate(np.vstack(seen), np.concatenate(rewards), ridge)
    found = np.append(wants.relevance, wants.diversity)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("ridge", [1e-6, 1e6])
@pytest.mark.parametrize("m", [0, 1, 3])
def test_twins_and_zeros_keep_everything_finite(ridge: float, m: int) -> None:
    features = np.vstack([np.tile([0.5, 0.5], (4, 1)), np.zeros((3, 2))])
    policy = LMDH(Catalogue(range(7), features, NAMES[:m]), ridge=ridge)
    for _ in range(200):
        policy.update(policy.recommend(7), [1, 0, 1, 0, 1, 0, 1])

    slate, wants = policy.recommend(7), policy.preferences

    assert sorted(slate.items.tolist()) == list(range(7))
    assert np.isfinite(slate.scores).all()
    assert np.isfinite(wants.relevance_interval).all()
    assert np.isfinite(wants.diversity_interval).all()
    assert np.abs(wants.relevance).max() < 10.0


def test_four_distances_have_a_weight_each() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(10, 3))
    four = [cosine(np.roll(vectors, shift, axis=0), name=f"h{shift}") for shift in range(4)]
    policy = LMDH(Catalogue(range(10), vectors, four), ridge=1.0)
    policy.update(policy.recommend(10), rng.integers(0, 2, 10))

    assert policy.preferences.diversity.shape == (4,)
    assert policy.explain(policy.recommend(10)).diversity_names == ("h0", "h1", "h2", "h3")


def test_one_item_is_recommended_again_and_again() -> None:
    policy = LMDH(Catalogue(["only"], [[1.0]], "cosine"), ridge=1.0, exploration=0.0)
    for _ in range(99):
        policy.update(policy.recommend(1), [1])

    assert policy.recommend(1).scores[0] == pytest.approx(0.99)


def test_features_too_large_to_learn_from_change_nothing() -> None:
    items = Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], [])
    policy = LMDH(items)
    slate = policy.recommend(2)
    policy.update(slate, [1, 0])
    before = policy.state()

    with pytest.raises(InputError, match=r"the features are too large to learn from"):
        policy.update(replace(slate, relevance=1e160 * slate.relevance), [1, 1])

    assert policy.state() == before


def test_features_too_large_to_square_are_refused_at_the_door() -> None:
    with pytest.raises(
        InputError, match=r"`features` must be at most 1e\+100 in size, got 1e\+160"
    ):
        Catalogue(["a"], [[1e160]], [])


def test_exploration_by_theory_widens_with_what_was_seen() -> None:
    policy = LMDH(Catalogue(range(6), np.eye(6), NAMES), exploration="theory", ridge=1.0)
    first = policy.width(3)
    for _ in range(20):
        policy.update(policy.recommend(3), [1, 0, 0])

    assert policy.width(3) > first > 1.0


def test_zero_vectors_have_a_width_by_theory_too() -> None:
    policy = LMDH(Catalogue(["a", "b"], np.zeros((2, 2)), "cosine"), exploration="theory")

    assert np.isfinite(policy.recommend(2).scores).all()


def test_the_constant_direction_gives_every_item_the_same_relevance() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(5), 300)

    for scale in (1e-100, 1.0, 1e90):
        items = Catalogue(range(300), scale * shares, "cosine")
        found = items.features @ constant_direction(items)
        np.testing.assert_allclose(found, 1.0, atol=0.05)  # it is shrunk a little towards 0


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-100, 1e90])
def test_features_of_any_size_leave_the_evidence_about_variety_finite(scale: float) -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(5), 30)
    policy = LMDH(Catalogue(range(30), scale * shares, [cosine(shares)]))
    assert policy.total_diversity_likelihood() == (0.0, np.inf)

    policy.update(policy.recommend(10), [0, 1] * 5)

    mean, deviation = policy.total_diversity_likelihood()
    assert np.isfinite(mean)
    assert deviation > 0.0
