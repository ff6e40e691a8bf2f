"""LMDH's compiled list is the reference's, item by item, whatever the catalogue looks like."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from variegate import LMDH, Catalogue, Policy, Slate
from variegate.arrays import FloatArray, MaskArray
from variegate.kernels import lmdh_list
from variegate.model.distances import cosine, custom, difference, hamming, jaccard

RNG = np.random.default_rng(5)


def clustered(n: int, d: int) -> FloatArray:
    centres = RNG.normal(size=(5, d))
    return np.asarray(centres[RNG.integers(0, 5, n)] + 0.05 * RNG.normal(size=(n, d)))


#: From 64 items for each feature on, bounds are tried before the parts of scores.
CATALOGUES: dict[str, Callable[[], FloatArray]] = {
    "random": lambda: RNG.uniform(-1.0, 1.0, (400, 6)),
    "many": lambda: RNG.uniform(-1.0, 1.0, (2500, 6)),
    "clustered": lambda: clustered(400, 6),
    "many clustered": lambda: clustered(2200, 6),
    "duplicates": lambda: np.repeat(RNG.uniform(-1.0, 1.0, (20, 6)), 20, axis=0),
    "many duplicates": lambda: np.repeat(RNG.uniform(-1.0, 1.0, (700, 6)), 3, axis=0),
    "all alike": lambda: np.ones((300, 4)),
    "many alike": lambda: np.ones((2000, 4)),
    "zeros among them": lambda: np.vstack([np.zeros((40, 4)), RNG.normal(size=(260, 4))]),
    "zeros among many": lambda: np.vstack([np.zeros((900, 4)), RNG.normal(size=(1100, 4))]),
    "many features of many": lambda: RNG.uniform(-1.0, 1.0, (2000, 33)),
    "one feature": lambda: RNG.normal(size=(300, 1)),
    "many features": lambda: RNG.uniform(-1.0, 1.0, (400, 33)),
    "one item": lambda: np.ones((1, 3)),
    "just a block": lambda: RNG.normal(size=(256, 5)),
    "several chunks of blocks": lambda: RNG.uniform(-1.0, 1.0, (9000, 6)),
}


@pytest.fixture(params=CATALOGUES, ids=str)
def features(request: pytest.FixtureRequest) -> FloatArray:
    return CATALOGUES[request.param]()


def reference(policy: Policy, k: int, free: MaskArray) -> Slate:
    return policy._search_slate(free, k, None)


def taught(policy: LMDH, rounds: int) -> LMDH:
    k = min(4, len(policy.catalogue))
    for _ in range(rounds):
        policy.update(policy.recommend(k), (RNG.random(k) < 0.4).astype(float))
    return policy


def assert_same(found: Slate, expected: Slate) -> None:
    np.testing.assert_array_equal(found.items, expected.items)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.diversity, expected.diversity, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rounds", [0, 3, 40])
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 50.0])
def test_the_list_is_the_references(features: FloatArray, ridge: float, rounds: int) -> None:
    policy = taught(LMDH(Catalogue(range(len(features)), features, "cosine"), ridge=ridge), rounds)
    free = np.ones(len(features), dtype=bool)

    for k in {1, min(10, len(features))}:
        assert_same(policy.recommend(k), reference(policy, k, free))


@pytest.mark.parametrize("normaliser", ["none", "fixed", "growing", "mean"])
@pytest.mark.parametrize("m", [0, 1, 2, 4])
@pytest.mark.parametrize("n", [400, 3000])
def test_the_list_is_the_references_for_any_distances(n: int, m: int, normaliser: str) -> None:
    labels = RNG.integers(0, 6, (n, 3)).astype(str)
    distances = [
        jaccard([set(row[: RNG.integers(0, 4)]) for row in labels], name="sets"),
        difference(RNG.normal(size=n), name="numbers"),
        hamming(labels[:, 0].tolist(), name="labels"),
        cosine(),
    ][:m]
    items = Catalogue(range(n), RNG.uniform(-1.0, 1.0, (n, 5)), distances)
    policy = taught(LMDH(items, ridge=1.0, normaliser=normaliser), 6)  # type: ignore[arg-type]
    free = RNG.random(n) < 0.7

    assert_same(policy.recommend(8, candidates=free), reference(policy, 8, free))


@pytest.mark.parametrize("floor", [None, 0.3])
def test_the_lists_of_many_users_are_the_references(floor: float | None) -> None:
    # Some lists from the highest ceilings have to be made again from more items.
    items = Catalogue(range(1500), clustered(1500, 4) + RNG.normal(size=(1500, 4)), "cosine")
    for rounds in range(40):
        policy = taught(LMDH(items, ridge=0.5, floor=floor), rounds)
        free = RNG.random(1500) < 0.8

        assert_same(policy.recommend(10, candidates=free), reference(policy, 10, free))


def test_every_item_can_be_in_the_list() -> None:
    items = Catalogue(range(40), RNG.normal(size=(40, 3)), ["cosine", "angular", "euclidean"])
    policy = taught(LMDH(items), 3)

    assert_same(policy.recommend(40), reference(policy, 40, np.ones(40, dtype=bool)))


def test_a_distance_of_ones_own_goes_by_the_reference() -> None:
    def blocks_apart(point: FloatArray, points: FloatArray) -> FloatArray:
        return np.asarray(np.abs(points - point).sum(axis=1))

    own = custom(blocks_apart, RNG.normal(size=(50, 2)), name="blocks", largest=20.0)
    items = Catalogue(range(50), RNG.normal(size=(50, 3)), own)
    policy = taught(LMDH(items), 2)

    assert items.layout is None
    assert_same(policy.recommend(6), reference(policy, 6, np.ones(50, dtype=bool)))


def test_threads_do_not_get_into_each_others_way() -> None:
    items = Catalogue(range(2000), RNG.uniform(-1.0, 1.0, (2000, 8)), "cosine")
    policies = [taught(LMDH(items), rounds) for rounds in range(8)]
    alone = [policy.recommend(10).items for policy in policies]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda policy: policy.recommend(10).items, policies * 5))

    for found, expected in zip(together, alone * 5, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_list_of_nothing_learnt_is_not_scored_item_by_item_without_exploration() -> None:
    items = Catalogue(range(3000), RNG.uniform(-1.0, 1.0, (3000, 6)), "cosine")
    policy = LMDH(items, exploration=0.0)
    free = np.ones(len(items), dtype=bool)

    # All scores are 0, so each item would be decided on in double precision at each position.
    nothing = np.zeros(7), np.zeros((7, 7)), 0.0
    assert items.layout is not None
    assert lmdh_list(items.layout, free, *nothing, np.ones(10)) is None
    assert policy.recommend(10).items.tolist() == list(range(10))
    assert_same(policy.recommend(10), reference(policy, 10, free))
