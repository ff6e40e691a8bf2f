"""What the methods that the paper compares with promise of themselves."""

from math import e, log, pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from variegate.arrays import FloatArray, unit_rows
from variegate.model.catalogue import Catalogue
from variegate.model.search import greedy
from variegate.policies import C2UCB, POLICIES
from variegate.policies.dpp import Determinant, similarity_root
from variegate.policies.logistic import Posterior, evidence_bound, update_posterior
from variegate.policies.lsb import coverage_gains

seeds = st.integers(0, 2**32 - 1)
deviations = st.floats(0.3, 3.0)


def entropy(z: FloatArray, noise_deviation: float, prior_variance: float) -> float:
    """h of the ratings Z u + noise, from their covariance: the direct formula."""
    covariance = prior_variance * z @ z.T + noise_deviation**2 * np.eye(len(z))
    return 0.5 * (len(z) * log(2 * pi * e) + float(np.linalg.slogdet(covariance)[1]))


@given(seed=seeds, noise_deviation=deviations, prior_variance=deviations, k=st.integers(1, 12))
def test_entropy_gains_telescope_to_the_entropy_of_the_list(
    seed: int, noise_deviation: float, prior_variance: float, k: int
) -> None:
    features = np.random.default_rng(seed).normal(size=(12, 4))
    policy = C2UCB(
        Catalogue(range(12), features, "cosine"),
        entropy_weight=0.7,
        noise_deviation=noise_deviation,
        prior_variance=prior_variance,
    )

    slate = policy.recommend(k)
    gained = policy.explain(slate).diversity.sum()

    whole = entropy(slate.relevance, noise_deviation, prior_variance)
    assert gained == pytest.approx(0.7 * whole, abs=1e-9)


@given(seed=seeds)
def test_entropy_given_the_history_is_what_the_list_adds_to_it(seed: int) -> None:
    features = np.random.default_rng(seed).normal(size=(12, 4))
    policy = C2UCB(
        Catalogue(range(12), features, "cosine"), entropy_weight=1.0, condition_on_history=True
    )
    shown = policy.recommend(3)
    policy.update(shown, np.ones(3))

    slate = policy.recommend(3, exclude=shown.items)
    gained = policy.explain(slate).diversity.sum()

    both = np.vstack([shown.relevance, slate.relevance])
    added = entropy(both, 1.0, 1.0) - entropy(shown.relevance, 1.0, 1.0)
    assert gained == pytest.approx(added, abs=1e-9)


@given(
    seed=seeds,
    size=st.integers(1, 5),
    n=st.integers(1, 8),
    scale=st.sampled_from([0.3, 1.0, 5.0]),
    prior_length=st.sampled_from([0.0, 1.0, 4.0]),
)
def test_no_iteration_lowers_the_evidence_bound(
    seed: int, size: int, n: int, scale: float, prior_length: float
) -> None:
    rng = np.random.default_rng(seed)
    features, clicks = scale * rng.normal(size=(n, size)), rng.integers(0, 2, n).astype(float)
    half = rng.normal(size=(size, size))
    precision = half @ half.T + 0.2 * np.eye(size)
    before = Posterior(precision, precision @ (prior_length * rng.normal(size=size)))

    rounds = [
        update_posterior(before, features, clicks, max_iterations=most, tolerance=0.0)
        for most in range(1, 16)
    ]
    bounds = np.array([evidence_bound(before, after, xi) for after, xi in rounds])

    assert (np.diff(bounds) >= -1e-10 * (1.0 + np.abs(bounds).max())).all()


def test_evidence_bound_lies_below_the_evidence() -> None:
    # One click on one weight with prior N(0, 1): by symmetry the evidence is a half.
    start = Posterior(np.eye(1), np.zeros(1))
    after, xi = update_posterior(start, np.ones((1, 1)), np.ones(1))
    assert log(0.5) - 0.02 < evidence_bound(start, after, xi) < log(0.5)


@given(coverage=arrays(np.float64, (6, 4), elements=st.floats(0.0, 1.0)))
def test_coverage_gains_telescope_to_the_coverage_of_the_list(coverage: FloatArray) -> None:
    gains = coverage_gains(coverage)
    for k in range(1, 7):
        covered = 1.0 - np.prod(1.0 - coverage[:k], axis=0)
        np.testing.assert_allclose(gains[:k].sum(axis=0), covered, rtol=0, atol=1e-12)
    assert gains.min() >= 0.0
    assert gains.max() <= 1.0


def brute_force_greedy(log_quality: FloatArray, similarity: FloatArray, k: int) -> list[int]:
    """Take, k times, the item that makes the determinant of L = Diag(q) Sim Diag(q) largest."""
    q = np.exp(log_quality)
    kernel = q[:, None] * similarity * q
    taken: list[int] = []
    for _ in range(k):
        free = [a for a in range(len(q)) if a not in taken]
        sets = [[*taken, a] for a in free]
        taken.append(
            free[int(np.argmax([np.linalg.slogdet(kernel[np.ix_(s, s)])[1] for s in sets]))]
        )
    return taken


@given(seed=seeds, shifted=st.booleans(), k=st.integers(1, 5))
def test_greedy_determinant_is_that_of_brute_force(seed: int, shifted: bool, k: int) -> None:
    rng = np.random.default_rng(seed)
    units, log_quality = unit_rows(rng.normal(size=(12, 6))), rng.normal(size=12)
    cosines = units @ units.T
    similarity = (1.0 + cosines) / 2.0 if shifted else cosines

    places, scores = greedy(Determinant(log_quality, similarity_root(units, shifted=shifted)), k)

    assert places.tolist() == brute_force_greedy(log_quality, similarity, k)
    q = np.exp(log_quality[places])
    kernel = q[:, None] * similarity[np.ix_(places, places)] * q
    assert scores.sum() == pytest.approx(np.linalg.slogdet(kernel)[1], abs=1e-8)


@given(seed=seeds, shifted=st.booleans())
def test_beyond_its_rank_the_determinant_goes_by_quality(seed: int, shifted: bool) -> None:
    rng = np.random.default_rng(seed)
    units, log_quality = unit_rows(rng.normal(size=(12, 3))), rng.normal(size=12)
    rank = 4 if shifted else 3

    places, _ = greedy(Determinant(log_quality, similarity_root(units, shifted=shifted)), 12)

    assert places[:rank].tolist() == brute_force_greedy(
        log_quality, (1.0 + units @ units.T) / 2.0 if shifted else units @ units.T, rank
    )
    assert (np.diff(log_quality[places[rank:]]) <= 0).all()


@pytest.mark.parametrize("name", list(POLICIES))
def test_nothing_is_shown_twice_when_what_was_shown_is_excluded(name: str) -> None:
    rng = np.random.default_rng(1)
    catalogue = Catalogue(range(30), rng.uniform(0, 0.5, (30, 4)), "cosine")
    policy, shown = POLICIES[name](catalogue), np.zeros(30, dtype=bool)
    for _ in range(6):
        slate = policy.recommend(5, exclude=shown, rng=rng)
        assert not shown[slate.items].any()
        shown[slate.items] = True
        policy.update(slate, rng.integers(0, 2, 5))
    assert shown.all()  # six lists of five without a repeat are all thirty
