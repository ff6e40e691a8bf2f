"""How likely a list is that somebody else made."""

from itertools import permutations

import numpy as np
import pytest

from tests.policies.making import catalogue_of, played
from variegate import LMDH, POLICIES, Catalogue, make_policy
from variegate.errors import InputError
from variegate.model.shortlist import Shortlist
from variegate.policies import explore_slate, slate_propensities

STEADY = [name for name in POLICIES if not make_policy(name, catalogue_of(1)).is_stochastic]
each_steady = pytest.mark.parametrize("name", STEADY)


@each_steady
@pytest.mark.parametrize("m", [0, 4])
def test_a_mixed_list_has_its_own_propensities(name: str, m: int) -> None:
    policy = played(make_policy(name, catalogue_of(m)))
    drawn = [explore_slate(policy, 4, 0.5, exclude=[1, 5], rng=seed) for seed in range(20)]

    found = [slate_propensities(policy, slate.items, 0.5, exclude=[1, 5])[0] for slate, _ in drawn]

    np.testing.assert_allclose(found, [propensities for _, propensities in drawn], rtol=1e-12)


@each_steady
def test_the_chances_of_all_lists_add_up_to_one(name: str) -> None:
    policy = played(make_policy(name, catalogue_of(2, items=5)), k=2)

    total = sum(
        slate_propensities(policy, items, 0.3, [0, 1, 2, 4])[0].prod()
        for items in permutations(range(5), 3)
    )

    assert total == pytest.approx(1.0, abs=1e-12)


@each_steady
def test_choices_along_the_policys_own_list_are_that_list(name: str) -> None:
    policy = played(make_policy(name, catalogue_of(4)))
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
    policy = make_policy(name, catalogue_of(1))

    with pytest.raises(InputError, match=message):
        slate_propensities(policy, items, chance, candidates=[0, 1])
