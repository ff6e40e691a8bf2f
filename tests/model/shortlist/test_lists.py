"""Lists in two stages: few candidates, then the exact choice among them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.shortlist.making import EFFORT, candidates, clustered, exact, played, shop_of
from variegate import LMDH, Catalogue
from variegate.model.distances import (
    Distance,
    angular,
    cosine,
    custom,
    difference,
    euclidean,
    hamming,
    jaccard,
)
from variegate.model.gains import Normaliser
from variegate.model.shortlist import Shortlist

COLOURS = ["red", "blue", "green", "black", "white"]


def share_of_exact(policy: LMDH) -> float:
    return float(policy.recommend(10).scores.sum() / exact(policy).recommend(10).scores.sum())


def test_candidates_are_few_distinct_and_sorted(shop: Catalogue, shortlist: Shortlist) -> None:
    rows = candidates(shortlist, played(LMDH(shop), 5))

    assert 10 <= len(rows) < len(shop) // 10
    assert (np.diff(rows) > 0).all()


def test_the_list_is_the_exact_one_among_the_candidates(
    shop: Catalogue, shortlist: Shortlist
) -> None:
    policy = played(LMDH(shop, shortlist=shortlist), 5)
    chosen = exact(policy).recommend(10, candidates=candidates(shortlist, policy))

    slate = policy.recommend(10)

    assert slate.ids == chosen.ids
    np.testing.assert_allclose(slate.scores, chosen.scores, rtol=1e-12)
    np.testing.assert_allclose(slate.diversity, chosen.diversity, rtol=1e-12)
    np.testing.assert_array_equal(slate.relevance, chosen.relevance)


# 20 users at each stage; measured: 0.987 at the lowest, after 30 lists under "none".
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("lists", [0, 1, 5, 30])
@pytest.mark.parametrize(("ridge", "normaliser"), [(50.0, "growing"), (1.0, "none")])
def test_its_score_is_nearly_that_of_the_exact_list(
    unit: bool, lists: int, ridge: float, normaliser: Normaliser
) -> None:
    shop = shop_of(clustered(unit=unit))
    shortlist = Shortlist.build(shop, effort=0.1)

    shares = [
        share_of_exact(
            played(LMDH(shop, ridge=ridge, normaliser=normaliser, shortlist=shortlist), lists, seed)
        )
        for seed in range(20)
    ]

    assert np.mean(shares) > 0.98


def test_a_fresh_user_sees_the_longest_vector_first(shop: Catalogue, shortlist: Shortlist) -> None:
    first = LMDH(shop, shortlist=shortlist).recommend(10).items[0]

    assert first == np.argmax(np.linalg.norm(shop.features, axis=1))


def test_items_that_stick_out_are_always_candidates() -> None:
    numbers = np.random.default_rng(5).uniform(0.0, 1.0, 5_000)
    numbers[4_321] = 50.0
    shop = shop_of(clustered(), [difference(numbers, name="number", scale=1.0)])

    assert 4_321 in candidates(Shortlist.build(shop, effort=EFFORT), played(LMDH(shop), 5))


def test_more_effort_finds_more_candidates(shop: Catalogue) -> None:
    found = [
        len(candidates(Shortlist.build(shop, effort=effort), LMDH(shop)))
        for effort in (0.05, 0.1, 0.2)
    ]

    assert found == sorted(set(found))


def test_with_effort_for_all_items_the_list_is_exact(shop: Catalogue) -> None:
    policy = played(LMDH(shop, shortlist=Shortlist.build(shop)), 2)

    assert policy.recommend(10).ids == exact(policy).recommend(10).ids


@pytest.mark.parametrize("k", [1, 2, 150])
def test_lists_may_be_of_any_length(k: int, shop: Catalogue, shortlist: Shortlist) -> None:
    assert len(set(LMDH(shop, shortlist=shortlist).recommend(k).items)) == k


@pytest.mark.parametrize("exploration", [0.0, "theory"])
def test_any_exploration_will_do(exploration: float, shop: Catalogue, shortlist: Shortlist) -> None:
    policy = played(LMDH(shop, exploration=exploration, shortlist=shortlist), 5)

    assert share_of_exact(policy) > 0.95


@pytest.mark.parametrize("search", ["non-oblivious", "local"])
def test_other_searches_choose_among_the_candidates(
    search: str, shop: Catalogue, shortlist: Shortlist
) -> None:
    policy = LMDH(shop, search=search, shortlist=shortlist)

    assert set(policy.recommend(4).items) <= set(candidates(shortlist, policy, 4))


def distances_of_every_kind() -> dict[str, list[str | Distance]]:
    rng = np.random.default_rng(3)
    labels = rng.choice(COLOURS, size=5_000).tolist()
    sets = [set(rng.choice(COLOURS, size=n)) for n in rng.integers(0, 4, size=5_000)]
    table = rng.standard_normal((5_000, 3))
    own = custom(lambda row, rows: np.abs(rows - row).sum(axis=1), table, name="own", largest=40.0)
    return {
        "none": [],
        "angular": ["angular"],
        "euclidean": ["euclidean"],
        "other data": [cosine(table), angular(table), euclidean(table)],
        "hamming": ["cosine", hamming(labels, name="colour")],
        "jaccard": [jaccard(sets, name="colours"), "cosine"],
        "custom": ["cosine", own],
    }


@pytest.mark.parametrize("kind", distances_of_every_kind())
def test_any_distances_will_do(kind: str) -> None:
    shop = shop_of(clustered(), distances_of_every_kind()[kind])
    policy = played(LMDH(shop, shortlist=Shortlist.build(shop, effort=EFFORT)), 5)

    assert share_of_exact(policy) > 0.95


@pytest.mark.parametrize("ridge", [1e-30, 1e30])
def test_beliefs_of_any_size_will_do(ridge: float, shop: Catalogue, shortlist: Shortlist) -> None:
    policy = played(LMDH(shop, ridge=ridge, shortlist=shortlist), 1)

    assert len(set(policy.recommend(10).items)) == 10


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_equal_items_will_do(value: float) -> None:
    shop = shop_of(np.full((2_000, 3), value))
    policy = LMDH(shop, shortlist=Shortlist.build(shop, effort=EFFORT))

    assert len(set(policy.recommend(10).items)) == 10


@given(share=st.floats(0.0, 1.0), seed=st.integers(0, 10**6), k=st.integers(1, 40))
def test_candidates_are_free_and_enough(
    share: float, seed: int, k: int, shop: Catalogue, shortlist: Shortlist
) -> None:
    free = np.random.default_rng(seed).random(len(shop)) < share
    free[: 2 * k] = True

    rows = candidates(shortlist, LMDH(shop), k, free)

    assert free[rows].all()
    assert len(rows) >= k
