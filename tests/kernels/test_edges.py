"""Where compiled lists leave single precision, or leave the list to the reference."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

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
from variegate import Catalogue
from variegate.errors import InputError
from variegate.model.distances import custom
from variegate.policies import LSB, MMR, LogRank, Popular

SEED = 3


def large_or_small(scale: float) -> Catalogue:
    """Return a catalogue whose features are about as large as `scale`."""
    features = scale * np.random.default_rng(0).normal(size=(300, 4))
    return Catalogue(range(300), features, "cosine", attributes={"popularity": range(300)})


@each_policy
@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e3])
def test_features_of_any_size_do(called: str, scale: float) -> None:
    policy, free = policy_of(called, large_or_small(scale)), np.ones(300, dtype=bool)

    assert_greedy(policy, policy._recommend(free.copy(), 10, SEED), free, SEED)


@pytest.mark.parametrize("called", [called for called in POLICIES if "C2UCB" not in called])
@pytest.mark.parametrize("scale", [1e8, 1e14])
def test_features_beyond_single_precision_are_looked_at_one_by_one(
    called: str, scale: float
) -> None:
    policy, free = policy_of(called, large_or_small(scale)), np.ones(300, dtype=bool)

    assert_greedy(policy, policy._recommend(free.copy(), 10, SEED), free, SEED)


@pytest.mark.parametrize("called", [called for called in POLICIES if "C2UCB" in called])
@pytest.mark.parametrize("scale", [1e8, 1e14])
def test_an_entropy_that_double_precision_cannot_hold_still_lists(
    called: str, scale: float
) -> None:
    # 1 + x'Qx falls from the square of the scale to about 1: the reference has no digits left.
    slate = policy_of(called, large_or_small(scale)).recommend(10, exclude=range(5))

    assert len(set(slate.items.tolist()) - set(range(5))) == 10


@pytest.mark.parametrize("size", [1e-20, 1e3, 1e20, 1e60])
def test_a_mean_user_of_any_size_does(size: float) -> None:
    catalogue = catalogue_of("random", 300)
    user = size * np.random.default_rng(0).normal(size=catalogue.d)
    free = np.ones(300, dtype=bool)

    for policy in (MMR(catalogue, mean_user=user), LogRank(catalogue, mean_user=user)):
        # Most scores are 0 or 1 to the last bit: ties, which go to the lowest row.
        assert_same(
            policy._recommend(free.copy(), 10, None), reference_list(policy, free, 10, SEED)
        )


@each_policy
def test_a_distance_of_ones_own_leaves_the_list_to_the_reference(called: str) -> None:
    own = custom(
        lambda point, points: np.abs(points - point).max(axis=1),
        [[i] for i in range(50)],
        name="apart",
        largest=50.0,
    )
    policy = played(policy_of(called, catalogue_of("random", 50, distances=own)), 2, 10)
    free = np.ones(50, dtype=bool)

    assert policy.catalogue.layout is None
    assert_same(policy._recommend(free.copy(), 10, SEED), reference_list(policy, free, 10, SEED))


@pytest.mark.parametrize("topics", [1, 3, 30])
def test_topics_of_its_own_are_what_lsb_covers(topics: int) -> None:
    table = np.random.default_rng(topics).random((700, topics)) ** 3
    policy = LSB(catalogue_of("random", 700), topics=table, ridge=1.0)
    played(policy, 3, 10)
    free = np.random.default_rng(0).random(700) < 0.8

    assert_same(policy._recommend(free.copy(), 10, None), reference_list(policy, free, 10, SEED))


def test_topics_that_are_all_covered_leave_the_lowest_rows() -> None:
    policy = LSB(catalogue_of("random", 6), topics=np.ones((6, 2)))

    assert policy.recommend(6).items.tolist() == list(range(6))
    assert policy.recommend(6).scores[1:].tolist() == [0.0] * 5


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 8, 33])
@each_policy
def test_any_number_of_features_does(called: str, d: int) -> None:
    features = np.random.default_rng(d).normal(size=(300, d))
    catalogue = Catalogue(range(300), features, "cosine", attributes={"popularity": [1] * 300})
    policy = played(policy_of(called, catalogue), 3, 10)
    free = np.ones(300, dtype=bool)

    assert_greedy(policy, policy._recommend(free.copy(), 10, SEED), free, SEED)


def test_an_item_without_a_popularity_is_only_reported_of_as_a_candidate() -> None:
    catalogue = Catalogue(range(3), np.eye(3), "cosine", attributes={"popularity": [1, "?", 2]})
    policy = Popular(catalogue)

    assert policy.recommend(1, exclude=[1]).items.tolist() == [2]
    with pytest.raises(InputError, match=r"attributes\['popularity'\]"):
        policy.recommend(1)


def test_popularity_that_nobody_knows_leaves_the_catalogues_order() -> None:
    assert Popular(Catalogue(["a", "b"], np.eye(2), "cosine")).recommend(2).ids == ("a", "b")


def test_four_threads_find_what_one_does() -> None:
    catalogue = catalogue_of("clustered", 1447)
    policies = [played(policy_of(called, catalogue), n, 8) for called in POLICIES for n in range(4)]
    alone = [policy.recommend(10, rng=SEED).items.tolist() for policy in policies]
    together = Barrier(4)

    def lists(shift: int) -> list[list[int]]:
        together.wait()
        order = np.roll(np.arange(len(policies)), shift * 7)
        found = {i: policies[i].recommend(10, rng=SEED).items.tolist() for i in order.tolist()}
        return [found[i] for i in range(len(policies))]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lists, range(4)):
            assert found == alone


@each_policy
def test_a_list_copies_no_catalogue(called: str) -> None:
    features = np.random.default_rng(0).normal(size=(20_000, 30))
    catalogue = Catalogue(
        range(20_000), features, "cosine", attributes={"popularity": [1] * 20_000}
    )
    policy = policy_of(called, catalogue)
    policy.recommend(10, rng=SEED)

    tracemalloc.start()
    policy.recommend(10, rng=SEED)
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # Room for numbers drawn for each candidate in every position, and a few masks: no features.
    assert most < features.nbytes / 2


def test_every_kind_of_catalogue_is_a_catalogue() -> None:
    assert all(len(catalogue_of(kind, 7)) == 7 for kind in FEATURES)
