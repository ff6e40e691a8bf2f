"""Each policy's compiled list is the one that the NumPy reference finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.making import (
    FEATURES,
    POLICIES,
    assert_greedy,
    assert_same,
    catalogue_of,
    each_policy,
    played,
    policy_of,
    reference_list,
)

SEED = 3
#: The policies to which items with the same features are the same.
BY_FEATURES = [called for called in POLICIES if called not in ("epsilon-greedy", "Popular")]


@each_policy
@settings(deadline=None, max_examples=30)
@given(
    kind=st.sampled_from(list(FEATURES)),
    items=st.integers(1, 600),
    seed=st.integers(0, 10**6),
    rounds=st.integers(0, 3),
    share=st.sampled_from([1.0, 0.5, 0.05]),
    k=st.integers(1, 12),
)
def test_every_pick_is_the_references(
    called: str, kind: str, items: int, seed: int, rounds: int, share: float, k: int
) -> None:
    policy = policy_of(called, catalogue_of(kind, items, seed))
    played(policy, rounds, min(5, items))
    free = np.random.default_rng(seed).random(items) < share
    free[seed % items] = True
    k = min(k, int(free.sum()))

    slate = policy._recommend(free.copy(), k, SEED)

    assert_greedy(policy, slate, free, SEED)


@each_policy
@pytest.mark.parametrize("kind", ["random", "topics", "clustered", "unlike sizes"])
@pytest.mark.parametrize("items", [12, 255, 256, 257, 1447])
def test_the_whole_slate_is_the_references(called: str, kind: str, items: int) -> None:
    policy = played(policy_of(called, catalogue_of(kind, items)), 3, 10)
    free = np.random.default_rng(items).random(items) < 0.9
    free[:10] = True

    assert_same(policy._recommend(free.copy(), 10, SEED), reference_list(policy, free, 10, SEED))


@each_policy
@pytest.mark.parametrize("kind", list(FEATURES))
def test_a_list_of_all_items_has_each_once(called: str, kind: str) -> None:
    policy = played(policy_of(called, catalogue_of(kind, 40)), 2, 10)
    free = np.ones(40, dtype=bool)

    slate = policy._recommend(free.copy(), 40, SEED)

    assert sorted(slate.items.tolist()) == list(range(40))
    assert_greedy(policy, slate, free, SEED)


@each_policy
@pytest.mark.parametrize("kind", list(FEATURES))
def test_one_candidate_is_the_list(called: str, kind: str) -> None:
    policy = policy_of(called, catalogue_of(kind, 300))

    assert policy.recommend(1, candidates=[271], rng=SEED).items.tolist() == [271]


@pytest.mark.parametrize("called", BY_FEATURES)
@pytest.mark.parametrize("kind", ["constant", "all zero", "equal"])
def test_of_twins_the_lower_row_comes_first(called: str, kind: str) -> None:
    catalogue = catalogue_of(kind, 300)
    policy = policy_of(called, catalogue)
    played(policy, 2, 5)

    items = policy.recommend(20, rng=SEED).items

    group = np.unique(catalogue.features, axis=0, return_inverse=True)[1].ravel()
    for position, item in enumerate(items):
        below = np.flatnonzero((group == group[item]) & (np.arange(300) < item))
        assert np.isin(below, items[:position]).all()


@each_policy
def test_what_is_free_is_not_written_to(called: str) -> None:
    policy = policy_of(called, catalogue_of("random", 30))
    free = np.ones(30, dtype=bool)
    free.setflags(write=False)

    assert len(policy._recommend(free, 5, SEED)) == 5


@each_policy
def test_catalogues_of_unlike_sizes_take_turns(called: str) -> None:
    policies = [policy_of(called, catalogue_of("random", items)) for items in (40, 900, 300)]

    for policy in (*policies, *policies):
        free = np.ones(len(policy.catalogue), dtype=bool)
        assert_greedy(policy, policy._recommend(free.copy(), 8, SEED), free, SEED)


@each_policy
@pytest.mark.parametrize("distances", [[], ["euclidean"], ["euclidean", "angular"]])
def test_any_distances_do(called: str, distances: list[str]) -> None:
    policy = played(policy_of(called, catalogue_of("random", 300, distances=distances)), 2, 10)
    free = np.ones(300, dtype=bool)

    assert_same(policy._recommend(free.copy(), 10, SEED), reference_list(policy, free, 10, SEED))


@each_policy
def test_the_same_numbers_are_drawn(called: str) -> None:
    policy = policy_of(called, catalogue_of("random", 50))
    free = np.ones(50, dtype=bool)
    compiled, reference = np.random.default_rng(SEED), np.random.default_rng(SEED)

    policy._recommend(free.copy(), 10, compiled)
    reference_list(policy, free, 10, reference)  # type: ignore[arg-type]

    assert compiled.random() == reference.random()
