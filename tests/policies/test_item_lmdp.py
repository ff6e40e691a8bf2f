"""LMDP with a prior of items: against its parts, its state, its limits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.policies.making import catalogue_of, item_prior, played
from variegate import EASE, LMDH, LMDP, LMDT, Catalogue, Dial, fit_prior, parse_policy
from variegate.errors import InputError, StateError
from variegate.policies import item_lmdp
from variegate.policies.beliefs import describe_taste, learnt_taste
from variegate.policies.ease import item_weights
from variegate.policies.item_lmdp import ItemLMDP
from variegate.policies.state import State

SHOP = Catalogue(["tea", "mate", "rum", "ale"], np.eye(4), "cosine")
LIKES = [[0, 1]] * 12 + [[2, 3]] * 8


def made(catalogue: Catalogue | None = None, **options: Any) -> ItemLMDP:
    items = catalogue_of(2) if catalogue is None else catalogue
    policy = LMDP(items, prior=item_prior(items), **options)
    assert isinstance(policy, ItemLMDP)
    return policy


def test_prior_of_items_decides_the_class(tmp_path: Path) -> None:
    prior = fit_prior(SHOP, LIKES)
    prior.save(tmp_path / "prior.npz")

    for given in (prior, tmp_path / "prior.npz", str(tmp_path / "prior.npz")):
        assert type(LMDP(SHOP, prior=given)) is ItemLMDP
    assert type(parse_policy(f"lmdp:prior={tmp_path / 'prior.npz'}")(SHOP)) is ItemLMDP
    assert type(LMDP(SHOP)) is LMDP


def test_first_list_is_by_popularity_and_diversity() -> None:
    prior = fit_prior(SHOP, LIKES, diversity=0.0)

    assert LMDP(SHOP, prior=prior).recommend(4).ids == ("tea", "mate", "rum", "ale")
    # The distances are 1 between all items, so a weight of them changes nothing here.
    assert LMDP(SHOP, prior=prior, floor=5.0).recommend(4).ids == ("tea", "mate", "rum", "ale")


def test_click_raises_what_the_same_users_like() -> None:
    policy = LMDP(SHOP, prior=fit_prior(SHOP, LIKES))
    slate = policy.recommend(3)

    policy.update(slate, [0, 0, 1])  # neither tea nor mate, but rum

    assert slate.ids == ("tea", "mate", "rum")
    assert policy.recommend(2).ids == ("rum", "ale")


def test_estimates_that_are_dropped_are_computed_again() -> None:
    # The service drops them after every list. For want of the method nothing was ever cached.
    policy = made()
    played(policy)
    before = policy.recommend(5)

    policy.drop_estimates()

    assert policy.recommend(5).scores.tolist() == before.scores.tolist()


def test_score_is_relevance_plus_weighted_gains() -> None:
    policy = made(floor=0.4)
    played(policy)
    slate = policy.recommend(5)
    beta = np.maximum(policy.posterior().beta, 0.4 / 2)

    expected = policy.posterior().relevance[slate.items] + slate.diversity @ beta

    np.testing.assert_allclose(slate.scores, expected, rtol=1e-12)


def test_floor_follows_the_relevance_of_what_is_left() -> None:
    items = catalogue_of(2, items=40)
    likes = np.random.default_rng(4).random((20, 40)) < 0.3
    policy = LMDP(items, prior=fit_prior(items, likes))
    assert isinstance(policy, ItemLMDP)
    first = policy.diversity_floor
    slate = policy.recommend(8)
    policy.update(slate, np.zeros(8))
    left = np.delete(policy.posterior().relevance, slate.items)

    assert policy.diversity_floor == pytest.approx(
        policy.prior.diversity * np.sort(left)[-10:].mean() / 2
    )
    assert policy.diversity_floor != first
    again = policy.recommend(5)
    explained = policy.explain(again)
    total = explained.relevance + explained.diversity.sum(axis=1)
    np.testing.assert_allclose(again.scores, total, rtol=1e-12)


def test_floor_is_that_of_all_items_where_fewer_are_left_than_a_list_has() -> None:
    policy = made(SHOP)
    policy.update(policy.recommend(3), [1, 1, 0])

    expected = policy.prior.diversity * policy.posterior().relevance.mean()
    assert policy.diversity_floor == pytest.approx(expected)


def test_gain_is_the_mean_distance_to_the_items_above() -> None:
    items = catalogue_of(1)
    slate = made(items).recommend(4)
    distances = items.distances[0].among(slate.items).matrix()

    for place in range(1, 4):
        assert slate.diversity[place, 0] == pytest.approx(distances[place, :place].mean())


@pytest.mark.parametrize("search", ["greedy", "local"])
def test_compiled_list_is_that_of_the_reference(search: str) -> None:
    policy = made(catalogue_of(4, items=40), search=search)
    played(policy, 6)
    free = np.ones(40, dtype=bool)

    slate = policy.recommend(8)
    reference = policy._search_slate(free, 8, None)

    assert slate.ids == reference.ids
    np.testing.assert_allclose(slate.scores, reference.scores, rtol=1e-9)


def test_dial_overrides_the_floor() -> None:
    policy = made(floor=3.0)

    slate = policy.recommend(4, dial=Dial(scale=0.0))

    assert (np.diff(slate.scores) <= 0).all()
    np.testing.assert_array_equal(policy.explain(slate, dial=Dial(scale=0.0)).diversity, 0.0)


def test_desired_diversity_is_learnt() -> None:
    """A user who clicks what differs from the items above, and only that."""
    varied, plain = made(catalogue_of(1, items=60)), made(catalogue_of(1, items=60))
    for _ in range(20):
        for policy, wants in ((varied, True), (plain, False)):
            slate = policy.recommend(6)
            is_far = slate.diversity[:, 0] > np.median(slate.diversity[:, 0])
            policy.update(slate, (is_far == wants).astype(float))

    low, _high = varied.preferences.diversity_interval[:, 0]
    assert low > plain.preferences.diversity[0]


def test_half_attention_counts_half() -> None:
    """A position seen with probability one half tells less than one that is seen."""
    sure, unsure = made(attention=[1.0] * 4), made(attention=[0.5] * 4)
    slate = sure.recommend(4)
    for policy in (sure, unsure):
        policy.update(slate, [1, 0, 0, 0])

    assert unsure.observations.scales.tolist() == [0.5] * 4
    before = sure.prior.mean[slate.items[0]]
    assert before < unsure.posterior().relevance[slate.items[0]]


def test_cascade_learns_nothing_below_the_first_click() -> None:
    policy = made(attention="cascade")
    policy.update(slate := policy.recommend(4), [0, 1, 0, 0])

    assert policy.observations.items.tolist() == slate.items[:2].tolist()


def test_forgetting_discounts_what_is_old() -> None:
    policy = made(forgetting=0.25)
    for _ in range(3):
        policy.update(policy.recommend(2), [1, 0])

    assert policy.observations.scales.tolist() == [0.25, 0.25, 0.5, 0.5, 1.0, 1.0]
    assert policy.observations.rewards.tolist() == [0.25, 0.0, 0.5, 0.0, 1.0, 0.0]


def test_latest_observations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_lmdp, "MAX_OBSERVATIONS", 6)
    policy = made()
    shown = []
    for _ in range(3):
        policy.update(slate := policy.recommend(4), [1, 0, 0, 1])
        shown += slate.items.tolist()

    assert policy.observations.items.tolist() == shown[-6:]
    assert policy.state().arrays["log"].shape == (6, 5)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([99, 1, 0, 0, 1], "rows from 0 to 11, got 99"),
        ([0.5, 1, 0, 0, 1], "rows from 0 to 11, got 0.5"),
        ([0, 2, 0, 0, 1], "numbers from 0 to 1, got 2"),
        ([0, 1, 0, 0, -1], "numbers from 0 to 1, got -1"),
        ([0, 1, 1e9, 0, 1], "got 1e"),
    ],
)
def test_state_that_was_not_learnt_is_refused(row: list[float], words: str) -> None:
    policy = made()
    with pytest.raises(StateError, match=words):
        policy.restore(State("lmdp", {"log": np.array([row])}))
    assert not len(policy.observations.items)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"exploration": 0.5}, "`exploration` must be 0.0 with a prior of items, got 0.5"),
        ({"shortlist": "all"}, "`shortlist` must be None with a prior of items"),
        ({"forgetting": 0.0}, "`forgetting` must be"),
        ({"floor": -1.0}, "`floor` must be"),
    ],
)
def test_options_that_do_not_apply_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        made(**options)


@pytest.mark.parametrize("policy", [LMDH, LMDT])
def test_other_policies_refuse_a_prior_of_items(policy: type[LMDH]) -> None:
    with pytest.raises(InputError, match=r"features' weights, got ItemPrior.*: lmdp and ease"):
        policy(SHOP, prior=fit_prior(SHOP, LIKES))


def test_ease_adds_the_weights_of_what_was_clicked() -> None:
    prior = fit_prior(SHOP, LIKES)
    policy = EASE(SHOP, prior=prior, l2=10.0, diversity=0.0)
    slate = policy.recommend(3)
    policy.update(slate, [0, 0, 1])
    likes = np.zeros((20, 4))
    for user, rows in enumerate(LIKES):
        likes[user, rows] = 1.0
    inverse = np.linalg.inv(likes.T @ likes + 10.0 * np.eye(4))
    expected = -inverse / np.diag(inverse)
    np.fill_diagonal(expected, 0.0)

    np.testing.assert_allclose(item_weights(prior, 10.0), expected, atol=1e-12)
    scores = 0.3 * prior.mean + expected[2]
    np.testing.assert_allclose(policy.recommend(4).scores, np.sort(scores)[::-1], rtol=1e-9)


def test_ease_without_likes_goes_by_diversity_alone() -> None:
    slate = EASE(SHOP, diversity=0.5).recommend(3)

    np.testing.assert_allclose(slate.scores, 0.5 * slate.diversity[:, 0])


def test_examples_of_taste_are_items_that_rose() -> None:
    policy = LMDP(SHOP, prior=fit_prior(SHOP, LIKES, noise=0.01))
    assert learnt_taste(policy).is_empty
    for _ in range(4):
        policy.update(policy.as_slate(np.array([2]), np.zeros(1)), [1])

    taste = learnt_taste(policy)

    assert {weight.name for weight in (*taste.likes, *taste.leans)} == {"rum", "ale"}
    assert "like rum and ale" in describe_taste(taste)


def test_total_of_beta_has_the_interval_of_the_sum() -> None:
    policy = made(catalogue_of(3))
    played(policy, 8)
    wants, covariance = policy.preferences, policy.posterior().beta_covariance

    low, high = wants.total_diversity_interval

    assert wants.total_diversity == pytest.approx(wants.diversity.sum())
    assert high - low == pytest.approx(2 * 1.959964 * np.sqrt(covariance.sum()))
    assert policy.prior_preferences.diversity.tolist() == [0.0] * 3
