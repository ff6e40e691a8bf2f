"""Theorem 2 and Lemma 2, as corrected: how wide the bounds must be, and what regret they buy."""

from math import e, exp, sqrt
from typing import Any

import numpy as np
import pytest

from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.theory import Confidence, confidence_width, regret_bound
from variegate.policies import LMDH

DELTA = 0.1


def simulated_catalogue(rng: np.random.Generator) -> Catalogue:
    """Twenty items as in the paper's simulation."""
    return Catalogue(range(20), rng.uniform(0.0, 0.5, (20, 10)), "cosine")


@pytest.mark.parametrize(
    ("size", "observations", "ridge", "preference_norm", "feature_norm", "width"),
    [
        # ln(1 + 2 (e - 1) / 2) = 1, so that the root is sqrt(2 * 1 + 2 * 1) = 2
        (2, 2 * (e - 1), 1.0, 0.0, 1.0, 2.0),
        (2, 2 * (e - 1), 1.0, 0.5, 1.0, 2.5),
        # four times the ridge: four times the observations, and twice the norm
        (2, 8 * (e - 1), 4.0, 0.5, 1.0, 3.0),
        # features twice as long say as much as four times the observations
        (2, (e - 1) / 2, 1.0, 0.5, 2.0, 2.5),
        # nothing observed: sqrt(2 ln(1 / delta)) and the prior's share
        (7, 0, 9.0, 1.0, 1.0, sqrt(2) + 3.0),
    ],
)
def test_width_of_lemma_2_is_as_worked_by_hand(
    size: int,
    observations: float,
    ridge: float,
    preference_norm: float,
    feature_norm: float,
    width: float,
) -> None:
    found = confidence_width(
        size,
        observations,
        ridge=ridge,
        delta=exp(-1),
        preference_norm=preference_norm,
        feature_norm=feature_norm,
    )
    assert found == pytest.approx(width, rel=1e-12)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"observations": 100}, {"observations": 101}),
        ({"size": 10}, {"size": 11}),
        ({"delta": 0.1}, {"delta": 0.05}),
        ({"preference_norm": 1.0}, {"preference_norm": 1.1}),
        ({"feature_norm": 1.0}, {"feature_norm": 1.1}),
    ],
    ids=["observations", "size", "delta", "preference_norm", "feature_norm"],
)
def test_width_grows_with_all_that_makes_it_harder(
    less: dict[str, Any], more: dict[str, Any]
) -> None:
    settings: dict[str, Any] = {"size": 11, "observations": 300, "ridge": 50.0, "delta": 0.05}
    assert confidence_width(**{**settings, **less}) < confidence_width(**{**settings, **more})


def test_regret_bound_is_as_worked_by_hand() -> None:
    # d + m = 2, n = 4, K = 3, lambda = 1, delta = 1 / 12: growth 2 ln 7 = 3.8918203,
    # alpha = sqrt(3.8918203 + 2 ln 12) + 1 = 3.9768496, and
    # 2 * 3.9768496 * 3 / 0.25 * sqrt(4 * 3.8918203 / ln 2) + 12 / 12 = 453.3182013.
    assert regret_bound(2, 4, 3, ridge=1.0) == pytest.approx(453.3182013, abs=5e-8)


def test_regret_bound_falls_fourfold_for_a_perfect_search() -> None:
    quarter = regret_bound(2, 4, 3, ridge=1.0, gamma=0.25) - 1.0
    whole = regret_bound(2, 4, 3, ridge=1.0, gamma=1.0) - 1.0
    assert quarter == pytest.approx(4.0 * whole)


def test_regret_bound_of_longer_features_is_that_of_a_smaller_ridge() -> None:
    # Features twice as long with four times the ridge are the same regression in other units:
    # growth and shrinkage stay, and alpha keeps its first term.
    plain = regret_bound(5, 20, 4, ridge=2.0, preference_norm=0.0)
    scaled = regret_bound(5, 20, 4, ridge=8.0, preference_norm=0.0, feature_norm=2.0)
    assert scaled == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("ridge", [1.0, 50.0])
def test_regret_bound_grows_ever_more_slowly(ridge: float) -> None:
    rounds = [10, 100, 1_000, 10_000, 100_000]
    bounds = [regret_bound(11, n, 5, ridge=ridge) for n in rounds]
    assert (np.diff(bounds) > 0).all()
    assert (np.diff(np.array(bounds) / rounds) < 0).all()


@pytest.mark.parametrize(
    ("normaliser", "largest_x"), [("none", 8.0), ("fixed", 0.8), ("growing", 2.0)]
)
def test_theory_gives_lmdh_the_width_of_lemma_2(normaliser: Normaliser, largest_x: float) -> None:
    # Cosine distances reach 2; above the fifth item stand four, scaled by 1, 1/10 or, at the
    # second item, by 1. The longest z is (3, 4).
    features = [[3.0, 4.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 1.0]]
    catalogue = Catalogue(range(5), features, "cosine")
    policy = LMDH(catalogue, ridge=4.0, exploration="theory", normaliser=normaliser)
    policy.update(policy.recommend(5), [1, 0, 0, 1, 0])

    expected = confidence_width(
        3, 5, ridge=4.0, delta=0.05, preference_norm=1.0, feature_norm=sqrt(25.0 + largest_x**2)
    )
    assert policy.width(5) == pytest.approx(expected, rel=1e-12)
    by_hand = LMDH(catalogue, ridge=4.0, exploration=expected, normaliser=normaliser)
    by_hand.restore(policy.state())
    np.testing.assert_allclose(policy.recommend(5).scores, by_hand.recommend(5).scores)


def test_width_of_theory_grows_with_what_was_observed() -> None:
    rng = np.random.default_rng(0)
    policy = LMDH(simulated_catalogue(rng), exploration="theory")
    widths = [policy.width(5)]
    for _ in range(8):
        policy.update(policy.recommend(5), rng.integers(0, 2, 5))
        widths.append(policy.width(5))
    assert (np.diff(widths) > 0).all()


def test_width_for_a_known_number_of_observations_stays() -> None:
    rng = np.random.default_rng(0)
    policy = LMDH(simulated_catalogue(rng), exploration=Confidence(observations=150))
    before = policy.width(5)
    policy.update(policy.recommend(5), rng.integers(0, 2, 5))
    assert policy.width(5) == before


def has_a_miss(exploration: float | None, seed: int) -> bool:
    """Whether some shown item's true mean ever lies outside its bounds; None is Lemma 2's."""
    rng = np.random.default_rng(seed)
    catalogue = simulated_catalogue(rng)
    theta, beta = rng.uniform(0.0, 0.2, 10), rng.uniform(0.0, 0.2, 1)
    norm = float(np.linalg.norm([*theta, *beta]))
    exact = Confidence(delta=DELTA, preference_norm=norm)
    policy = LMDH(
        catalogue,
        ridge=0.1,
        exploration=exact if exploration is None else exploration,
        normaliser="none",
    )
    missed = False
    for _ in range(40):
        slate = policy.recommend(5)
        true = slate.relevance @ theta + slate.diversity @ beta
        parts = policy.explain(slate)
        believed = parts.relevance + parts.diversity.sum(axis=1)
        missed |= bool((np.abs(true - believed) > parts.exploration).any())
        policy.update(slate, (rng.random(5) < true).astype(float))
    return missed


def test_true_means_lie_within_the_bounds_as_often_as_promised() -> None:
    misses = [has_a_miss(None, seed) for seed in range(40)]
    assert np.mean(misses) <= DELTA


def test_bounds_of_one_deviation_do_not_hold_the_true_means() -> None:
    misses = [has_a_miss(1.0, seed) for seed in range(40)]
    assert np.mean(misses) > DELTA
