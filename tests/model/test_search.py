"""The four searches, through one interface, over any score."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate import LMDH, SEARCHES, Catalogue, Utility
from variegate.arrays import FloatArray, IndexArray
from variegate.errors import InputError
from variegate.model.search import (
    FixedScores,
    Scorer,
    exhaustive,
    greedy,
    local_search,
    non_oblivious_greedy,
)


class Table(Scorer):
    """Values of items and of pairs, with nothing but what every scorer must have."""

    def __init__(self, items: FloatArray, pairs: FloatArray) -> None:
        self._items, self._pairs = items, pairs
        self._taken: list[int] = []

    def __len__(self) -> int:
        return len(self._items)

    def scores(self) -> FloatArray:
        return np.asarray(self._items + self._pairs[:, self._taken].sum(axis=1))

    def take(self, place: int) -> None:
        self._taken.append(place)

    def fresh(self) -> "Table":
        return Table(self._items, self._pairs)


def table(seed: int, n: int = 8) -> Table:
    rng = np.random.default_rng(seed)
    pairs = rng.random((n, n))
    return Table(rng.random(n), np.triu(pairs, 1) + np.triu(pairs, 1).T)


def catalogue(seed: int, n: int = 8) -> Catalogue:
    rng = np.random.default_rng(seed)
    return Catalogue(range(n), rng.uniform(0.0, 1.0, (n, 3)), ["cosine", "euclidean"])


def utility_scorer(seed: int, k: int) -> Scorer:
    taste = Utility(catalogue(seed), [0.5, 0.2, 0.1], [0.4, 0.3])
    return taste.scorer(np.arange(8), k)


class Revealed(LMDH):
    """LMDH whose upper bounds can be had."""

    def bounds(self, k: int) -> Scorer:
        return self._scorer(np.arange(len(self.catalogue)), k, None)


def bounds_scorer(seed: int, k: int) -> Scorer:
    policy = Revealed(catalogue(seed), ridge=1.0, normaliser="none")
    policy.update(policy.recommend(4), [1, 0, 1, 1])
    return policy.bounds(k)


def table_scorer(seed: int, k: int) -> Scorer:  # noqa: ARG001
    return table(seed)


SCORERS = {"utility": utility_scorer, "upper bounds": bounds_scorer, "table": table_scorer}

each_scorer = pytest.mark.parametrize("kind", SCORERS)
each_search = pytest.mark.parametrize("search", SEARCHES)


@each_scorer
@each_search
@pytest.mark.parametrize("k", [1, 3, 8])
def test_it_takes_k_places_with_the_scores_they_had(kind: str, search: str, k: int) -> None:
    scorer = SCORERS[kind](1, k)

    places, scores = SEARCHES[search](scorer, k)

    assert len(set(places.tolist())) == k
    assert set(places.tolist()) <= set(range(8))
    np.testing.assert_allclose(scores, scorer.along(places), rtol=1e-12)


@each_scorer
@each_search
def test_a_scorer_is_left_as_it_was(kind: str, search: str) -> None:
    scorer = SCORERS[kind](1, 3)
    before = scorer.scores().copy()

    SEARCHES[search](scorer, 3)

    np.testing.assert_array_equal(scorer.scores(), before)


@each_scorer
def test_the_value_of_a_list_is_the_sum_along_it(kind: str) -> None:
    scorer = SCORERS[kind](2, 3)
    lists: IndexArray = np.array(list(permutations(range(8), 3))[::7])

    together = scorer.values(lists)

    one_by_one = [scorer.along(places).sum() for places in lists]
    np.testing.assert_allclose(together, one_by_one, rtol=1e-12)


@each_scorer
@pytest.mark.parametrize("seed", range(20))
def test_local_search_is_never_below_greedy_nor_above_the_best(kind: str, seed: int) -> None:
    scorer = SCORERS[kind](seed, 3)

    taken, bettered = (float(find(scorer, 3)[1].sum()) for find in (greedy, local_search))

    # Of every order: the upper bounds are no set function.
    best = float(exhaustive(scorer, 3, ordered=True)[1].sum())
    assert taken <= bettered + 1e-12
    assert bettered <= best + 1e-12


@given(seed=st.integers(0, 10**6), k=st.integers(2, 4))
def test_at_a_local_optimum_no_swap_helps(seed: int, k: int) -> None:
    scorer = table(seed, n=6)
    places, scores = local_search(scorer, k)
    outside = sorted(set(range(6)) - set(places.tolist()))

    swapped = [np.where(places == old, new, places) for old in places for new in outside]

    assert scorer.values(np.array(swapped)).max(initial=-np.inf) <= scores.sum() + 1e-9


def test_local_search_betters_a_greedy_list() -> None:
    # Greedy takes item 0 first, and cannot have 1 and 2 together.
    items, pairs = np.array([0.3, 0.2, 0.2]), np.zeros((3, 3))
    pairs[1, 2] = pairs[2, 1] = 5.0

    assert greedy(Table(items, pairs), 2)[0].tolist() == [0, 1]
    assert set(local_search(Table(items, pairs), 2)[0].tolist()) == {1, 2}


def test_local_search_stops_after_as_many_swaps_as_it_may() -> None:
    items, pairs = np.array([0.3, 0.2, 0.2]), np.zeros((3, 3))
    pairs[1, 2] = pairs[2, 1] = 5.0

    assert local_search(Table(items, pairs), 2, max_swaps=0)[0].tolist() == [0, 1]


@each_search
def test_ties_go_to_the_first(search: str) -> None:
    scorer = FixedScores(np.array([0.5, 1.0, 1.0, 0.5, 1.0]))

    assert SEARCHES[search](scorer, 2)[0].tolist() == [1, 2]


def test_greedy_takes_the_best_at_each_step() -> None:
    scorer = FixedScores(np.array([0.1, 0.9, -0.5, 0.4]))

    places, scores = greedy(scorer, 4)

    assert places.tolist() == [1, 3, 0, 2]
    assert scores.tolist() == [0.9, 0.4, 0.1, -0.5]


def test_greedy_takes_the_rest_however_low_their_scores() -> None:
    assert set(greedy(FixedScores(np.array([-1e300, 1.0, -5.0])), 3)[0].tolist()) == {0, 1, 2}


def test_non_oblivious_greedy_counts_relevance_half() -> None:
    # After item 0: item 1 has 0.9 + 0.0 and item 2 has 0.5 + 0.3, halved 0.45 and 0.55.
    items, pairs = np.array([1.0, 0.9, 0.5]), np.zeros((3, 3))
    pairs[0, 2] = pairs[2, 0] = 0.3

    assert greedy(Table(items, pairs), 2)[0].tolist() == [0, 1]
    places, scores = non_oblivious_greedy(Table(items, pairs), 2)
    assert places.tolist() == [0, 2]
    np.testing.assert_allclose(scores, [1.0, 0.8])


def test_exhaustive_refuses_too_many_sets() -> None:
    scorer = FixedScores(np.zeros(60))

    with pytest.raises(InputError, match=r"`k` = 30 of 60 candidates makes 118,264,581,5.* lists"):
        exhaustive(scorer, 30)
    with pytest.raises(
        InputError, match=r"makes 1,770 lists, more than `max_lists` = 1,769: use gr"
    ):
        exhaustive(scorer, 2, max_lists=1_769)
    with pytest.raises(
        InputError, match=r"makes 3,540 lists, more than `max_lists` = 3,539: use gr"
    ):
        exhaustive(scorer, 2, ordered=True, max_lists=3_539)


@pytest.mark.parametrize("first", [0, 24, 48])
def test_exhaustive_finds_the_best_in_any_batch(first: int) -> None:
    # 20,825 sets of three are two batches.
    scores = np.zeros(51)
    scores[first : first + 3] = 1.0

    places, _scores = exhaustive(FixedScores(scores), 3)

    assert places.tolist() == [first, first + 1, first + 2]


@each_search
@pytest.mark.parametrize("k", [0, 4])
def test_a_k_that_does_not_fit(search: str, k: int) -> None:
    with pytest.raises(InputError, match=rf"`k` must be from 1 to 3 \(the candidates\), got {k}"):
        SEARCHES[search](FixedScores(np.zeros(3)), k)


@pytest.mark.parametrize("search", SEARCHES)
def test_lmdh_recommends_by_any_search(search: str) -> None:
    policy = LMDH(catalogue(0), search=search, normaliser="none")

    slate = policy.recommend(3)

    assert len(set(slate.items.tolist())) == 3
    np.testing.assert_allclose(slate.scores.sum(), policy.explain(slate).exploration.sum())
