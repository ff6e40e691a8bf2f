"""Slates with random exploration: their propensities, and those of any list."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policies.making import NAMES, catalogue_of, list_probability, make_named, played, shown
from variegate import LMDH, POLICIES, Catalogue, Dial, Policy, make_policy
from variegate.errors import InputError
from variegate.model.distances import custom
from variegate.model.shortlist import Shortlist
from variegate.policies import explore_slate, slate_propensities
from variegate.policies.propensities import GreedyPath

STEADY = [name for name in NAMES if not make_named(name, catalogue_of(1)).is_stochastic]
each_steady = pytest.mark.parametrize("name", STEADY)


def taught(name: str, catalogue: Catalogue) -> Policy:
    return played(make_named(name, catalogue), k=2)


@each_steady
def test_without_chance_it_is_the_plain_list_for_sure(name: str) -> None:
    policy = played(make_named(name, catalogue_of(4)))

    slate, propensities = explore_slate(policy, 5, 0.0, rng=3)

    assert shown(slate) == shown(policy.recommend(5))
    assert propensities.tolist() == [1.0] * 5


@each_steady
def test_by_chance_alone_every_item_left_is_as_likely(name: str) -> None:
    policy = played(make_named(name, catalogue_of(4)))

    slate, propensities = explore_slate(policy, 5, 1.0, exclude=[0, 1], rng=3)

    assert len(set(slate.items) - {0, 1}) == 5
    np.testing.assert_allclose(propensities, [1 / 10, 1 / 9, 1 / 8, 1 / 7, 1 / 6], rtol=1e-15)


@each_steady
def test_the_chances_of_all_lists_add_up_to_one(name: str) -> None:
    policy = taught(name, catalogue_of(4, items=4))

    total = sum(list_probability(policy, items, 0.3) for items in permutations(range(4), 3))

    assert total == pytest.approx(1.0, abs=1e-12)


@each_steady
@pytest.mark.parametrize("m", [0, 4])
def test_propensities_are_those_of_the_definition(name: str, m: int) -> None:
    policy = taught(name, catalogue_of(m, items=6))

    drawn = [explore_slate(policy, 4, 0.4, rng=seed) for seed in range(30)]

    found = [propensities.prod() for _, propensities in drawn]
    expected = [list_probability(policy, tuple(slate.items.tolist()), 0.4) for slate, _ in drawn]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len({slate.ids for slate, _ in drawn}) > 10


@pytest.mark.parametrize("name", ["lmdp", "mmr"])
def test_lists_come_as_often_as_their_propensities_say(name: str) -> None:
    policy, draws = taught(name, catalogue_of(4, items=4)), 2_000
    lists = list(permutations(range(4), 2))
    expected = draws * np.array([list_probability(policy, items, 0.5) for items in lists])
    rng = np.random.default_rng(8)

    counts = Counter(
        tuple(explore_slate(policy, 2, 0.5, rng=rng)[0].items.tolist()) for _ in range(draws)
    )

    found = np.array([counts[items] for items in lists])
    # 34.5 is what chi-square with 12 - 1 degrees of freedom exceeds once in 3,000 times.
    assert float(((found - expected) ** 2 / expected).sum()) < 34.5


@each_steady
@pytest.mark.parametrize("m", [0, 4])
def test_the_slate_is_made_as_the_policy_makes_its_own(name: str, m: int) -> None:
    policy = played(make_named(name, catalogue_of(m)))
    slate, _ = explore_slate(policy, 5, 1.0, rng=1)
    alone = policy.recommend(5, candidates=slate.items)
    parts = policy.explain(slate)

    total = parts.relevance + parts.diversity.sum(axis=1) + parts.exploration
    np.testing.assert_allclose(total, slate.scores, rtol=1e-11, atol=1e-12)
    assert slate.coverage.shape == alone.coverage.shape
    np.testing.assert_array_equal(slate.relevance, policy.catalogue.features[slate.items])
    policy.update(slate, [1, 0, 0, 1, 0])


def test_a_list_with_chance_in_it_is_seeded() -> None:
    policy = played(LMDH(catalogue_of(1)))

    one, other = (explore_slate(policy, 5, 0.6, rng=4)[0] for _ in range(2))

    assert shown(one) == shown(other)
    assert len({explore_slate(policy, 5, 0.6, rng=seed)[0].ids for seed in range(20)}) > 5


def test_the_policys_choice_is_that_below_the_items_shown() -> None:
    # Copies of the best item lose their worth once it is shown, however it came there.
    equal_items = Catalogue(range(4), [[1.0, 0.0], [1.0, 0.0], [0.0, 0.9], [0.0, 0.8]], "cosine")
    policy = LMDH(equal_items, ridge=1.0, exploration=0.0)
    policy.update(policy.recommend(4), [1, 1, 1, 1])
    dial = Dial(floor=1.0)

    seconds = {
        int(slate.items[0]): int(slate.items[1])
        for slate, chances in (
            explore_slate(policy, 2, 0.5, rng=seed, dial=dial) for seed in range(80)
        )
        if chances[1] > 0.5
    }

    assert seconds == {0: 2, 1: 2, 2: 0, 3: 0}


def test_the_dial_is_that_of_recommend() -> None:
    policy, dial = played(LMDH(catalogue_of(4), ridge=1.0)), Dial(floor=2.0)

    slate, _ = explore_slate(policy, 5, 0.0, dial=dial)

    assert shown(slate) == shown(policy.recommend(5, dial=dial))
    assert shown(slate) != shown(policy.recommend(5))


def test_custom_distances_are_walked_too() -> None:
    own = custom(lambda _point, points: np.ones(len(points)), name="own", largest=1.0)
    policy = LMDH(Catalogue(range(6), np.eye(6), own))

    slate, propensities = explore_slate(policy, 3, 0.9, rng=0)

    assert len(set(slate.ids)) == 3
    np.testing.assert_allclose(
        propensities.prod(), list_probability(policy, tuple(slate.items.tolist()), 0.9)
    )


@given(chance=st.floats(0.0, 1.0), seed=st.integers(0, 2**32), k=st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_propensities_are_chances(chance: float, seed: int, k: int) -> None:
    policy = LMDH(catalogue_of(1, items=6))

    slate, propensities = explore_slate(policy, k, chance, rng=seed)

    assert len(set(slate.items)) == k
    assert ((propensities > 0.0) & (propensities <= 1.0)).all()
    if k == 6:
        assert propensities[-1] == pytest.approx(1.0, abs=1e-15)


def two_stages() -> LMDH:
    rng = np.random.default_rng(2)
    catalogue = Catalogue(range(3_000), rng.normal(size=(3_000, 4)), "cosine")
    shortlist = Shortlist.build(catalogue, cells=50, effort=0.01)
    return LMDH(catalogue, ridge=1.0, exploration=0.2, shortlist=shortlist)


def test_behind_a_shortlist_chance_still_takes_any_item() -> None:
    policy = two_stages()
    choices = set(policy._candidates(np.ones(3_000, dtype=bool), 5).tolist())

    slate, propensities = explore_slate(policy, 5, 1.0, rng=1)

    assert set(slate.items.tolist()) - choices
    np.testing.assert_allclose(propensities, 1.0 / (3_000 - np.arange(5)))
    assert np.isfinite(slate.scores).all()


def test_behind_a_shortlist_the_choice_depends_on_the_items_above_alone() -> None:
    policy, free = two_stages(), np.ones(3_000, dtype=bool)
    plain = policy.recommend(5)
    choices = policy._candidates(free, 5)
    outside = int(np.setdiff1d(np.arange(3_000), choices)[7])

    def choice_below(*items: int) -> int:
        walk = GreedyPath(policy, free, plain)
        for item in items:
            walk.take(item)
        return walk.choice()

    first, second = plain.items[:2].tolist()
    assert choice_below(first) == second
    assert choice_below(outside) in choices
    assert choice_below(outside, first) in set(choices) - {first}


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {*STEADY, "lmdt"}))
def test_a_policy_that_draws(name: str) -> None:
    with pytest.raises(
        InputError, match=rf"`policy` must choose .* got {name}, which is stochastic"
    ):
        explore_slate(make_named(name, catalogue_of(1)), 3, 0.1)


@pytest.mark.parametrize("search", ["non-oblivious", "local", "exhaustive"])
def test_a_search_that_is_not_item_by_item(search: str) -> None:
    with pytest.raises(InputError, match=rf"must search greedily, got lmdh with {search} search"):
        explore_slate(LMDH(catalogue_of(1), search=search), 3, 0.1)


@pytest.mark.parametrize(
    ("k", "chance", "words"),
    [
        (3, -0.1, r"`epsilon` must be a number from 0 to 1, got -0\.1"),
        (3, 1.5, r"`epsilon` must be a number from 0 to 1, got 1\.5"),
        (3, np.nan, r"`epsilon` must be a number from 0 to 1, got nan"),
        (13, 0.1, r"`k` must be from 1 to 12 \(the candidates\), got 13"),
        (0, 0.1, r"`k` must be from 1 to 12 \(the candidates\), got 0"),
    ],
)
def test_wrong_numbers(k: int, chance: float, words: str) -> None:
    with pytest.raises(InputError, match=words):
        explore_slate(LMDH(catalogue_of(1)), k, chance)


def test_an_rng_that_is_none() -> None:
    with pytest.raises(InputError, match=r"`rng` must be a numpy Generator or a seed, got 'dice'"):
        explore_slate(LMDH(catalogue_of(1)), 3, 0.1, rng="dice")


def test_a_dial_for_a_policy_that_takes_none() -> None:
    with pytest.raises(InputError, match=r"`dial` must be None for mmr"):
        explore_slate(make_policy("mmr", catalogue_of(1)), 3, 0.1, dial=Dial())


@each_steady
@pytest.mark.parametrize("m", [0, 4])
def test_a_mixed_list_has_its_own_propensities(name: str, m: int) -> None:
    policy = played(make_named(name, catalogue_of(m)))
    drawn = [explore_slate(policy, 4, 0.5, exclude=[1, 5], rng=seed) for seed in range(20)]

    found = [slate_propensities(policy, slate.items, 0.5, exclude=[1, 5])[0] for slate, _ in drawn]

    np.testing.assert_allclose(found, [propensities for _, propensities in drawn], rtol=1e-12)


@each_steady
def test_the_propensities_of_all_lists_add_up_to_one(name: str) -> None:
    policy = played(make_named(name, catalogue_of(2, items=5)), k=2)

    total = sum(
        slate_propensities(policy, items, 0.3, [0, 1, 2, 4])[0].prod()
        for items in permutations(range(5), 3)
    )

    assert total == pytest.approx(1.0, abs=1e-12)


@each_steady
def test_choices_along_the_policys_own_list_are_that_list(name: str) -> None:
    policy = played(make_named(name, catalogue_of(4)))
    own = policy.recommend(5).items

    chances, choices = slate_propensities(policy, own, 0.0)

    np.testing.assert_array_equal(choices, own)
    assert chances.tolist() == [1.0] * 5


def test_what_is_no_candidate_has_no_chance_and_what_is_below_it_may_have() -> None:
    policy = played(LMDH(catalogue_of(1)))

    chances, choices = slate_propensities(policy, [3, 0, 7], 1.0, exclude=[0])

    np.testing.assert_allclose(chances, [1 / 11, 0.0, 1 / 10])
    assert 0 not in choices


def test_items_beyond_a_shortlist_are_as_likely_as_chance_makes_them() -> None:
    rng = np.random.default_rng(2)
    items = Catalogue(range(3_000), rng.normal(size=(3_000, 4)), "cosine")
    policy = LMDH(items, shortlist=Shortlist.build(items, cells=50, effort=0.01))
    choices = policy._candidates(np.ones(3_000, dtype=bool), 3)
    outside = np.setdiff1d(np.arange(3_000), choices)[:3]

    chances, _ = slate_propensities(policy, outside, 0.6)

    np.testing.assert_allclose(chances, [0.6 / 3_000, 0.6 / 2_999, 0.6 / 2_998])


@pytest.mark.parametrize(
    ("name", "items", "chance", "message"),
    [
        ("uniform", [0], 0.5, "must choose the same list every time, got uniform"),
        ("lmdh", [0], 1.5, "`epsilon` must"),
        ("lmdh", [0, 1, 2], 0.5, "`k` must be from 1 to 2"),
    ],
)
def test_what_has_no_chances_is_refused(
    name: str, items: list[int], chance: float, message: str
) -> None:
    policy = make_named(name, catalogue_of(1))

    with pytest.raises(InputError, match=message):
        slate_propensities(policy, items, chance, candidates=[0, 1])
