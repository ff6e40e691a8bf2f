"""The prior of items: against dense formulas, its file, its limits."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.prior.making import made_catalogue, made_likes
from variegate import Catalogue
from variegate.arrays import FloatArray
from variegate.errors import DataError, InputError, StateError
from variegate.kernels.loops.rows import add_rows
from variegate.kernels.rows import best_mean, dense_product
from variegate.prior import ItemPrior, Observations, Prior, PriorFile, default_prior, fit_prior
from variegate.prior import covariance as module
from variegate.prior.conditioning import MAX_FACTORS, N_FIRST

ITEMS = 12


def made_prior(users: int = 40, **options: Any) -> ItemPrior:
    catalogue = made_catalogue(ITEMS, 3)
    return fit_prior(catalogue, made_likes(catalogue, users), **options)


def dense_covariance(prior: ItemPrior) -> FloatArray:
    """Return the weighted covariance of the likes by its definition."""
    likes = np.zeros((prior.users, len(prior.item_ids)))
    for user, rows in enumerate(prior.likes):
        likes[user, rows] = 1.0
    counts = likes.sum(axis=1)
    weights = counts**-prior.activity_weight
    weights *= counts.sum() / (weights @ counts)
    apart = likes - np.average(likes, axis=0, weights=weights)
    return np.asarray((apart * weights[:, None]).T @ apart / prior.users)


def observed(prior: ItemPrior, n: int, seed: int = 0) -> Observations:
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.3, 1.0, n)
    gains = scales[:, None] * rng.uniform(0.0, 1.0, (n, prior.m))
    rewards = scales * rng.integers(0, 2, n)
    return Observations(rng.integers(0, ITEMS, n), scales, gains, rewards)


def test_mean_is_the_share_of_users_who_like_an_item() -> None:
    shop = Catalogue(["tea", "rum", "ale"], np.eye(3), "cosine")

    prior = fit_prior(shop, [[0, 1], [0], [], [0, 2]])

    assert prior.users == 3  # one likes nothing
    assert prior.mean.tolist() == pytest.approx([1.0, 1 / 3, 1 / 3])


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_covariance_is_that_of_the_weighted_likes(weight: float) -> None:
    prior = made_prior(activity_weight=weight)

    found = prior.covariance(np.arange(ITEMS))

    np.testing.assert_allclose(found, dense_covariance(prior), atol=1e-6)


@given(n=st.integers(1, 30), seed=st.integers(0, 1000), noise=st.sampled_from([0.05, 0.2, 1.0]))
@settings(max_examples=30, deadline=None)
def test_posterior_is_the_conditioned_gaussian(n: int, seed: int, noise: float) -> None:
    prior = made_prior(noise=noise, beta_variance=0.1)
    seen = observed(prior, n, seed)
    # Of (relevance of the items, beta), with one row of A per observation.
    covariance = np.zeros((ITEMS + 1, ITEMS + 1))
    covariance[:ITEMS, :ITEMS] = dense_covariance(prior)
    covariance[ITEMS, ITEMS] = 0.1
    mean = np.append(prior.mean, 0.0)
    A = np.zeros((n, ITEMS + 1))
    A[np.arange(n), seen.items] = seen.scales
    A[:, ITEMS:] = seen.gains
    gain = covariance @ A.T @ np.linalg.inv(A @ covariance @ A.T + noise * np.eye(n))
    expected = mean + gain @ (seen.rewards - A @ mean)

    found = prior.posterior(seen)

    np.testing.assert_allclose(np.append(found.relevance, found.beta), expected, atol=1e-5)
    left = covariance - gain @ A @ covariance
    np.testing.assert_allclose(found.beta_covariance, left[ITEMS:, ITEMS:], atol=1e-6)
    deviations = prior.posterior_deviations(seen, np.arange(ITEMS))
    np.testing.assert_allclose(deviations**2, np.diag(left)[:ITEMS], atol=1e-5)


def test_a_liked_item_raises_what_the_same_users_like() -> None:
    shop = Catalogue(["tea", "mate", "rum", "ale"], np.eye(4), "cosine")
    prior = fit_prior(shop, [[0, 1]] * 10 + [[2, 3]] * 10)
    seen = Observations(np.array([0]), np.ones(1), np.zeros((1, 1)), np.ones(1))

    tea, mate, rum, ale = prior.posterior(seen).relevance.tolist()

    assert tea == pytest.approx(mate)
    assert mate > 0.5 > rum
    assert rum == pytest.approx(ale)


def test_rows_are_computed_again_when_the_cache_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    prior = made_prior()
    monkeypatch.setattr(module, "CACHE_BYTES", 4 * ITEMS * 3)  # three rows
    everything = dense_covariance(prior)

    for rows in ([0, 1], [2, 3], [0, 4], [5, 6, 7]):
        found = prior.covariance(np.array(rows))
        np.testing.assert_allclose(found, everything[rows], atol=1e-6)
        assert prior._covariance._kept.filled <= 4


def test_likes_of_more_users_are_added() -> None:
    catalogue = made_catalogue(ITEMS, 3)
    likes = made_likes(catalogue, 60)

    grown = fit_prior(catalogue, likes[:20]).with_likes(likes[20:])
    whole = fit_prior(catalogue, likes)

    rows = np.arange(ITEMS)
    np.testing.assert_array_equal(grown.covariance(rows), whole.covariance(rows))
    wider = whole.with_likes([[ITEMS]], [*catalogue.ids, "new"])
    assert len(wider.item_ids) == ITEMS + 1
    assert wider.mean[-1] == pytest.approx(1 / (whole.users + 1))


def test_order_of_users_does_not_matter() -> None:
    catalogue = made_catalogue(ITEMS, 3)
    likes, rows = made_likes(catalogue, 30), np.arange(ITEMS)

    one, other = fit_prior(catalogue, likes), fit_prior(catalogue, likes[::-1])

    np.testing.assert_allclose(one.covariance(rows), other.covariance(rows))


def test_file_gives_the_prior_back(tmp_path: Path) -> None:
    prior = made_prior(noise=0.3, diversity=0.4, beta_variance=0.02, activity_weight=0.25)

    prior.save(tmp_path / "prior.npz")
    loaded = PriorFile.load(tmp_path / "prior.npz")

    for other in (loaded, pickle.loads(pickle.dumps(prior))):  # noqa: S301 - made here
        assert isinstance(other, ItemPrior)
        assert (other.noise, other.activity_weight) == (0.3, 0.25)
        assert (other.diversity, other.beta_variance.tolist()) == (0.4, [0.02])
        assert other.item_ids == prior.item_ids
        np.testing.assert_array_equal(other.liked, prior.liked)


def test_pickle_leaves_the_cached_rows_out() -> None:
    prior = made_prior()
    before = len(pickle.dumps(prior))
    prior.covariance(np.arange(ITEMS))

    assert len(pickle.dumps(prior)) == before


def test_each_kind_of_prior_is_told_from_the_other(tmp_path: Path) -> None:
    made_prior().save(tmp_path / "items.npz")
    default_prior(made_catalogue(ITEMS, 3)).save(tmp_path / "features.npz")

    with pytest.raises(DataError, match=r"items.npz: a prior of items, not of features"):
        Prior.load(tmp_path / "items.npz")
    with pytest.raises(DataError, match=r"features.npz: a prior of features, not of items"):
        ItemPrior.load(tmp_path / "features.npz")


def test_prior_is_for_its_catalogue_or_one_that_has_grown() -> None:
    prior, catalogue = made_prior(), made_catalogue(ITEMS, 3)
    prior.check(catalogue)
    prior.check(made_catalogue(ITEMS + 3, 3))

    other = Catalogue(range(1, ITEMS + 1), catalogue.features, "cosine")
    with pytest.raises(InputError, match=r"items of .*, with '0' in place of '1' at 0"):
        prior.check(other)
    with pytest.raises(InputError, match=r"the 5 items of .*, with '5' in place of None at 5"):
        prior.check(Catalogue(range(5), catalogue.features[:5], "cosine"))
    with pytest.raises(InputError, match=r"distances of .*, with 'cosine' in place of 'euclidean'"):
        prior.check(Catalogue(range(ITEMS), catalogue.features, "euclidean"))


@pytest.mark.parametrize(
    ("likes", "options", "words"),
    [
        ("tea", {}, "`likes` must hold the rows that each user likes"),
        ([[], []], {}, "at least one user who likes an item"),
        ([[99]], {}, f"`likes` must hold rows from 0 to {ITEMS - 1}, got 99"),
        ([[0]], {"noise": 0.0}, "`noise` must"),
        ([[0]], {"noise": float("nan")}, "`noise` must"),
        ([[0]], {"diversity": -0.1}, "`diversity` must be a number of at least 0, got -0.1"),
        ([[0]], {"beta_variance": [1, 2]}, "`beta_variance` must be a number, or one for each"),
        ([[0]], {"beta_variance": 0.0}, "`beta_variance` must be a number greater than 0"),
        ([[0]], {"activity_weight": 2.0}, "`activity_weight` must"),
    ],
)
def test_what_cannot_be_fitted_is_refused(likes: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit_prior(made_catalogue(ITEMS, 3), likes, **options)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"liked": np.array([0, ITEMS])}, "`liked` must lie from 0 to 11"),
        ({"liked": np.array([0.5])}, "`liked` must be a list of whole numbers"),
        ({"ends": np.array([2, 1])}, "`ends` must"),
        ({"ends": np.array([], dtype=int)}, "`ends` must"),
    ],
)
def test_likes_that_do_not_fit_together_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        replace(made_prior(), **change)


def test_description_names_items_by_their_titles() -> None:
    shop = Catalogue(["a", "b", "c"], np.eye(3), "cosine", titles=["Tea", "Rum", "Ale"])

    lines = fit_prior(shop, [[0], [0, 1], [0, 2]]).describe(shop)

    assert lines[:2] == ("fitted to 3 users", "most users like: Tea, Rum, Ale")
    # Rum and ale are liked by a third each; everybody likes tea.
    assert lines[2] == "users differ most in: Rum, Ale, Tea"
    assert "diversity: beta of cosine 0.00 ± 0.22" in lines


@given(st.lists(st.integers(1, 25), min_size=2, max_size=6), st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_observations_in_steps_give_the_same_bits_as_at_once(steps: list[int], seed: int) -> None:
    stepwise = made_prior()
    seen = observed(stepwise, sum(steps), seed)

    for end in np.cumsum(steps):
        found = stepwise.posterior(first(seen, end))
        expected = made_prior().posterior(first(seen, end))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_users_who_begin_alike_do_not_mix() -> None:
    prior, seen = made_prior(), observed(made_prior(), 60)
    other = seen._replace(rewards=np.append(seen.rewards[:50], np.ones(10)))

    for user in (seen, other, first(seen, 55), seen):
        found = prior.posterior(user).relevance
        np.testing.assert_array_equal(found, made_prior().posterior(user).relevance)
    assert len(prior._conditioning._kept) == 1


def test_factors_of_the_latest_users_are_kept() -> None:
    prior = made_prior()

    for user in range(MAX_FACTORS + 3):
        prior.posterior(observed(prior, N_FIRST, user))

    assert len(prior._conditioning._kept) == MAX_FACTORS


def test_observations_of_items_that_are_not_there_are_refused() -> None:
    seen = Observations(np.array([ITEMS]), np.ones(1), np.zeros((1, 1)), np.ones(1))

    with pytest.raises(StateError, match="item 12 must be one of the 12 of the prior"):
        made_prior().posterior(seen)


def first(seen: Observations, n: int) -> Observations:
    items, scales, gains, rewards = seen
    return Observations(items[:n], scales[:n], gains[:n], rewards[:n])


@given(n=st.integers(0, 20), seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_compiled_sums_are_those_of_numpy(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(9, 5000)).astype(np.float32)
    places, weights, total = rng.integers(0, 9, n), rng.normal(size=n), rng.normal(size=5000)
    expected = total + weights @ matrix[places].astype(np.float64)
    observed = rng.integers(0, 5000, n)

    add_rows(matrix, places, weights, total)

    np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-12)
    left = np.sort(np.delete(total, observed))
    assert best_mean(total, observed, 10) == pytest.approx(left[-10:].mean(), rel=1e-12)
    assert np.isnan(best_mean(total[:30], np.arange(25), 10))


def test_compiled_product_of_sparse_tables_is_that_of_dense_ones() -> None:
    rng = np.random.default_rng(1)
    a, b = (np.maximum(rng.normal(size=shape) - 0.8, 0.0) for shape in ((7, 30), (30, 40)))

    found = dense_product(scipy.sparse.csr_array(a), scipy.sparse.csr_array(b))

    np.testing.assert_allclose(found, a @ b, rtol=1e-12)
