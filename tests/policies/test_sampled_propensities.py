"""Propensities of LMDT, which follows one of several posterior samples."""

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policies.making import catalogue_of, list_probability, played, shown
from variegate import LMDP, LMDT, Catalogue, Dial
from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.evaluation.offpolicy import slate_log
from variegate.model.distances import custom
from variegate.model.shortlist import Shortlist
from variegate.policies import explore_slate, slate_propensities

SIZES = pytest.mark.parametrize("m", [0, 4])


def taught(m: int = 1, *, items: int = 12, **options: Any) -> LMDT:
    """Return a policy that has learnt a little, and draws far apart."""
    options = {"exploration": 2.0, **options}
    policy = LMDT(catalogue_of(m, items=items), **options)
    played(policy, k=min(4, items))
    return policy


class SamePlans(LMDT):
    """Draws the same plans for every list, so that the chances of all lists are known."""

    def _sample_weights(self, k: int, rng: np.random.Generator) -> FloatArray:
        return super()._sample_weights(k, np.random.default_rng(6))


def with_same_plans(items: int = 4, draws: int = 5) -> SamePlans:
    policy = SamePlans(catalogue_of(1, items=items), exploration=3.0, n_samples=draws)
    policy.update(policy.recommend(3, rng=0), [1, 0, 1])
    return policy


def chance_of(policy: LMDT, plans: FloatArray, items: tuple[int, ...], chance: float) -> float:
    """Return how likely a list is, by the definition: the mean of the plans' products."""
    return float(
        np.mean([list_probability(policy._following(eta), items, chance) for eta in plans])
    )


@SIZES
@pytest.mark.parametrize("chance", [0.0, 0.3])
def test_propensities_are_those_of_the_definition(m: int, chance: float) -> None:
    policy = taught(m, items=6)

    drawn = [explore_slate(policy, 4, chance, rng=seed) for seed in range(30)]

    expected = [
        chance_of(
            policy,
            policy._sample_weights(4, np.random.default_rng(seed)),
            tuple(slate.items),
            chance,
        )
        for seed, (slate, _) in enumerate(drawn)
    ]
    found = [propensities.prod() for _, propensities in drawn]
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    assert len({slate.ids for slate, _ in drawn}) > 10


@SIZES
def test_the_chances_of_all_lists_add_up_to_one(m: int) -> None:
    policy = taught(m, items=5)

    total = sum(
        slate_propensities(policy, items, 0.3, [0, 1, 2, 4], rng=9)[0].prod()
        for items in permutations(range(5), 3)
    )

    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_the_chances_of_all_items_in_a_position_add_up_to_one(position: int) -> None:
    policy = with_same_plans(items=6)
    above, _ = explore_slate(policy, 3, 0.5, rng=4)
    lists = [
        [*above.items[:position], row] for row in range(6) if row not in above.items[:position]
    ]
    # Under `growing` the choices do not depend on the length of the list.
    chances = [slate_propensities(policy, items, 0.5)[0] for items in lists]

    assert sum(one[-1] for one in chances) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("chance", [0.0, 0.5])
def test_lists_come_as_often_as_their_propensities_say(chance: float) -> None:
    policy, draws, rng = with_same_plans(), 1_500, np.random.default_rng(8)
    lists = [tuple(one) for one in permutations(range(4), 2)]
    expected = np.array([slate_propensities(policy, items, chance)[0].prod() for items in lists])

    counts = Counter(
        tuple(explore_slate(policy, 2, chance, rng=rng)[0].items.tolist()) for _ in range(draws)
    )

    found, possible = np.array([counts[items] for items in lists]), expected > 0.0
    assert possible.sum() > 2
    assert not found[~possible].any()
    misses = (found - draws * expected)[possible] ** 2 / (draws * expected[possible])
    # 34.5 is what chi-square with 12 - 1 degrees of freedom exceeds once in 3,000 times.
    assert float(misses.sum()) < 34.5


def test_the_lists_logged_are_those_of_plain_thompson_sampling() -> None:
    policy, draws, rng = taught(items=4), 1_000, np.random.default_rng(1)

    plain = Counter(policy.recommend(2, rng=rng).ids for _ in range(draws))
    logged = Counter(explore_slate(policy, 2, 0.0, rng=rng)[0].ids for _ in range(draws))

    one, other = (np.array([c[ids] for ids in plain | logged]) for c in (plain, logged))
    # Of two samples; 34.5 is what chi-square with 12 - 1 degrees exceeds once in 3,000 times.
    assert float(((one - other) ** 2 / (one + other)).sum()) < 34.5


def test_the_mean_chance_over_plans_is_how_often_a_list_comes() -> None:
    policy, draws = taught(items=4, n_samples=4), 3_000
    rng = np.random.default_rng(2)
    often = Counter(tuple(policy.recommend(2, rng=rng).items.tolist()) for _ in range(draws))
    items, count = often.most_common(1)[0]

    chances = [slate_propensities(policy, items, 0.0, rng=rng)[0].prod() for _ in range(500)]

    share = count / draws
    error = np.sqrt(np.var(chances) / 500 + share * (1 - share) / draws)
    assert 0.1 < share < 0.9
    assert abs(np.mean(chances) - share) < 4.0 * error


@SIZES
def test_one_plan_without_chance_is_the_plain_list_for_sure(m: int) -> None:
    policy = taught(m, n_samples=1)

    slate, propensities = explore_slate(policy, 5, 0.0, rng=3)

    plain = policy.recommend(5, rng=3)
    assert slate.ids == plain.ids
    np.testing.assert_allclose(slate.scores, plain.scores, rtol=1e-11, atol=1e-13)
    assert propensities.tolist() == [1.0] * 5


def test_draws_of_no_deviation_are_chances_of_lmdp() -> None:
    policy, steady = LMDT(catalogue_of(1), exploration=0), LMDP(catalogue_of(1), exploration=0)
    slate, items = steady.recommend(4), [3, 1, 7, 5]
    for one in (policy, steady):
        one.update(slate, [1, 0, 0, 1])

    chances, choices = slate_propensities(policy, items, 0.4, rng=0)

    expected, same = slate_propensities(steady, items, 0.4)
    np.testing.assert_allclose(chances, expected, rtol=1e-12)
    assert choices.tolist() == same.tolist()


def test_by_chance_alone_every_item_left_is_as_likely() -> None:
    slate, propensities = explore_slate(taught(), 5, 1.0, exclude=[0, 1], rng=3)

    assert len(set(slate.items) - {0, 1}) == 5
    np.testing.assert_allclose(propensities, [1 / 10, 1 / 9, 1 / 8, 1 / 7, 1 / 6], rtol=1e-14)


@SIZES
def test_the_slate_is_made_as_the_policy_makes_its_own(m: int) -> None:
    policy, dial = taught(m), Dial(0.5)
    slate, _ = explore_slate(policy, 5, 0.6, rng=1, dial=dial)

    parts = policy.explain(slate, dial=dial)

    total = parts.relevance + parts.diversity.sum(axis=1) + parts.exploration
    np.testing.assert_allclose(total, slate.scores, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(slate.relevance, policy.catalogue.features[slate.items])
    policy.update(slate, [1, 0, 0, 1, 0])


def test_the_dial_is_that_of_recommend() -> None:
    policy, dial = taught(4, n_samples=1), Dial(floor=5.0)

    slate, _ = explore_slate(policy, 5, 0.0, rng=2, dial=dial)

    assert slate.ids == policy.recommend(5, rng=2, dial=dial).ids
    assert slate.ids != policy.recommend(5, rng=2).ids


def test_a_mixed_list_is_seeded() -> None:
    policy = taught()
    one, other = (explore_slate(policy, 5, 0.2, rng=4) for _ in range(2))

    assert shown(one[0]) == shown(other[0])
    assert one[1].tolist() == other[1].tolist()


def test_choices_are_of_plans_that_fit_the_items_above() -> None:
    # By two plans: one likes the first feature alone, the other the second alone.
    class Two(LMDT):
        def _sample_weights(self, k: int, rng: np.random.Generator) -> FloatArray:
            return np.eye(2)

    policy = Two(Catalogue(range(4), [[9, 0], [8, 0], [0, 9], [0, 8]], []))

    found = [slate_propensities(policy, [0, 1], 0.0, rng=seed) for seed in range(20)]

    assert [chances.tolist() for chances, _ in found] == [[0.5, 1.0]] * 20
    assert {tuple(choices.tolist()) for _, choices in found} == {(0, 1), (2, 1)}


def test_what_is_no_candidate_has_no_chance_and_what_is_below_it_may_have() -> None:
    chances, choices = slate_propensities(taught(), [3, 0, 7], 1.0, exclude=[0], rng=1)

    np.testing.assert_allclose(chances, [1 / 11, 0.0, 1 / 10])
    assert 0 not in choices


@given(chance=st.floats(0.0, 1.0), seed=st.integers(0, 2**32), k=st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_propensities_are_chances_that_a_log_takes(chance: float, seed: int, k: int) -> None:
    slate, propensities = explore_slate(taught(items=6), k, chance, rng=seed)

    log = slate_log([slate.items], np.zeros((1, k)), [propensities])

    assert len(set(log.items[0])) == k
    if k == 6:
        assert propensities[-1] == pytest.approx(1.0, abs=1e-12)


def test_custom_distances_are_walked_too() -> None:
    own = custom(lambda _point, points: np.ones(len(points)), name="own", largest=1.0)
    policy = LMDT(Catalogue(range(6), np.eye(6), own), exploration=3.0)

    slate, propensities = explore_slate(policy, 3, 0.5, rng=0)

    plans = policy._sample_weights(3, np.random.default_rng(0))
    expected = chance_of(policy, plans, tuple(slate.items), 0.5)
    np.testing.assert_allclose(propensities.prod(), expected, rtol=1e-11)


def two_stages() -> LMDT:
    rng = np.random.default_rng(2)
    catalogue = Catalogue(range(3_000), rng.normal(size=(3_000, 4)), "cosine")
    shortlist = Shortlist.build(catalogue, cells=50, effort=0.01)
    return LMDT(catalogue, shortlist=shortlist, n_samples=4)


def test_behind_a_shortlist_chance_still_takes_any_item() -> None:
    policy, free = two_stages(), np.ones(3_000, dtype=bool)
    plans = policy._sample_weights(5, np.random.default_rng(1))
    found = policy._candidates_of(plans, free, 5)

    slate, propensities = explore_slate(policy, 5, 1.0, rng=1)

    assert len(found) < 3_000
    assert set(slate.items.tolist()) - set(found.tolist())
    np.testing.assert_allclose(propensities, 1.0 / (3_000 - np.arange(5)))
    assert np.isfinite(slate.scores).all()


def test_behind_a_shortlist_the_plans_choose_from_what_it_finds_for_them() -> None:
    policy, free = two_stages(), np.ones(3_000, dtype=bool)

    slate, propensities = explore_slate(policy, 5, 0.0, rng=1)

    plans = policy._sample_weights(5, np.random.default_rng(1))
    assert set(slate.items) <= set(policy._candidates_of(plans, free, 5))
    np.testing.assert_allclose(
        slate_propensities(policy, slate.items, 0.0, rng=1)[0], propensities, rtol=1e-12
    )


@pytest.mark.parametrize("search", ["non-oblivious", "local", "exhaustive"])
def test_a_search_that_is_not_item_by_item(search: str) -> None:
    policy = LMDT(catalogue_of(1), search=search)

    with pytest.raises(InputError, match=rf"must search greedily, got lmdt with {search} search"):
        explore_slate(policy, 3, 0.1)


def test_an_rng_that_is_none() -> None:
    with pytest.raises(InputError, match=r"`rng` must be a numpy Generator or a seed, got 'dice'"):
        slate_propensities(taught(), [0], 0.1, rng="dice")
