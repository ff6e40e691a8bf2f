"""Theorem 1: what greedy is worth, for distances that keep the triangle inequality."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from variegate.arrays import FloatArray
from variegate.model.catalogue import Catalogue
from variegate.model.distances import Distance, angular, cosine, custom
from variegate.model.search import SEARCHES
from variegate.model.utility import Utility

N = 7
# Rounding of sums in another order; the ratios themselves have no tolerance.
ROUNDING = 1e-12

weights = st.floats(0.0, 1.0)
points = arrays(np.float64, (N, 2), elements=st.floats(-1.0, 1.0))
relevances = arrays(np.float64, (N, 1), elements=weights)
# All sides of 1 or 2 keep the triangle inequality, and these are where greedy does worst.
sides = arrays(np.float64, N * (N - 1) // 2, elements=st.sampled_from([1.0, 2.0]))


def one_or_two(sides: FloatArray) -> Distance:
    """The metric in which every pair of items is as far apart as `sides` says, 1 or 2."""
    table = np.zeros((N, N))
    table[np.triu_indices(N, 1)] = sides
    table += table.T
    return custom(lambda a, b: b @ table @ a, np.eye(N), name="table", largest=2.0, is_metric=True)


@st.composite
def tastes(draw: st.DrawFn) -> Utility:
    """A user with no negative weights over seven items and two metrics."""
    metrics = [one_or_two(draw(sides)), angular(draw(points))]
    catalogue = Catalogue(range(N), draw(relevances), metrics)
    return Utility(catalogue, [draw(weights)], [draw(weights), draw(weights)])


@given(taste=tastes(), order=st.permutations(range(N)), k=st.integers(1, N))
def test_utility_is_the_sum_of_the_gains(taste: Utility, order: list[int], k: int) -> None:
    items, wants = order[:k], taste.preferences
    value = wants.relevance @ taste.modular(items) + wants.diversity @ taste.dispersion(items)
    assert taste.gains(items).sum() == pytest.approx(value, abs=ROUNDING, rel=ROUNDING)


@given(taste=tastes(), order=st.permutations(range(N)), k=st.integers(1, N - 1))
def test_gain_is_the_difference_that_an_item_makes(
    taste: Utility, order: list[int], k: int
) -> None:
    before, after = taste.value(order[:k]), taste.value(order[: k + 1])
    assert taste.gains(order[: k + 1])[k] == pytest.approx(after - before, abs=1e-11)


@pytest.mark.parametrize(
    ("search", "share"), [("greedy", 0.25), ("non-oblivious", 0.5), ("local", 0.5)]
)
@given(taste=tastes(), k=st.integers(1, 4))
def test_list_is_worth_its_share_of_the_best(
    search: str, share: float, taste: Utility, k: int
) -> None:
    best = taste.value(taste.best(k, search="exhaustive"))
    assert taste.value(taste.best(k, search=search)) >= share * best - ROUNDING


@given(taste=tastes(), k=st.integers(1, 4))
def test_exhaustive_search_finds_the_best_of_all_sets(taste: Utility, k: int) -> None:
    wants = taste.preferences
    values = [
        wants.relevance @ taste.modular(items) + wants.diversity @ taste.dispersion(items)
        for items in combinations(range(N), k)
    ]
    best = taste.value(taste.best(k, search="exhaustive"))
    assert best == pytest.approx(max(values), abs=ROUNDING, rel=ROUNDING)


@pytest.mark.parametrize("search", [name for name in SEARCHES if name != "exhaustive"])
@given(taste=tastes(), k=st.integers(1, 4))
def test_no_search_betters_the_exhaustive(search: str, taste: Utility, k: int) -> None:
    best = taste.value(taste.best(k, search="exhaustive"))
    assert taste.value(taste.best(k, search=search)) <= best + ROUNDING * (1.0 + best)


@given(
    features=arrays(np.float64, (N, 3), elements=st.floats(-1.0, 1.0)),
    theta=arrays(np.float64, 3, elements=st.floats(-1.0, 1.0)),
    beta=st.floats(-1.0, 1.0),
    k=st.integers(1, 5),
)
def test_local_search_is_never_worse_than_greedy(
    features: FloatArray, theta: FloatArray, beta: float, k: int
) -> None:
    # Here with no metric and with negative weights, which no theorem covers.
    taste = Utility(Catalogue(range(N), features, "cosine"), theta, [beta])
    assert taste.value(taste.best(k, search="local")) >= taste.value(taste.best(k))


def test_greedy_can_be_far_from_the_best() -> None:
    # Item 0 is worth a hair more alone and stands near all; 1 and 2 are 2 apart.
    pairs = np.ones(N * (N - 1) // 2)
    pairs[N - 1] = 2.0  # the pair (1, 2)
    relevance = np.zeros((N, 1))
    relevance[0] = 1e-6
    taste = Utility(Catalogue(range(N), relevance, one_or_two(pairs)), [1.0], [1.0])

    assert taste.best(2).tolist() == [0, 1]
    assert taste.best(2, search="exhaustive").tolist() == [1, 2]
    assert taste.value([0, 1]) / taste.value([1, 2]) == pytest.approx(0.5, abs=1e-6)


def test_cosine_is_rightly_not_called_a_metric() -> None:
    on_a_quarter_circle = cosine([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])

    ab, bc, ac = on_a_quarter_circle.matrix()[[0, 1, 0], [1, 2, 2]]

    assert not on_a_quarter_circle.is_metric
    assert ac == pytest.approx(1.0)
    assert ab + bc == pytest.approx(2.0 - np.sqrt(2.0))


@given(rows=arrays(np.float64, (3, 3), elements=st.floats(-1e3, 1e3)))
def test_angular_is_rightly_called_a_metric(rows: FloatArray) -> None:
    h = angular(rows)

    ab, bc, ac = h.matrix()[[0, 1, 0], [1, 2, 2]]

    assert h.is_metric
    assert ac <= ab + bc + 1e-7  # near the half circle arcsin keeps half of the digits
