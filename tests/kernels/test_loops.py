"""The pieces that compiled lists are made of give what NumPy gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from variegate import Catalogue
from variegate.kernels.baselines import list_gains, top_of
from variegate.kernels.layout import BLOCK, unit_features
from variegate.kernels.loops.selection import (
    TILE,
    add_products,
    add_squares,
    block_log,
    block_sigmoid,
    highest_place,
    mask_bounds,
    next_place,
    padded,
    sigmoid,
)
from variegate.model.distances import Distance, hamming, jaccard
from variegate.model.gains import Normaliser, normalising_factors
from variegate.model.slate import slate_of

WIDTHS = pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 7, 8, 10, 13])


def test_logarithms_are_right_to_single_precision() -> None:
    values = (10.0 ** np.linspace(-10, 30, BLOCK)).astype(np.float32)
    found = values.copy()

    block_log(found, np.empty_like(found))

    np.testing.assert_allclose(found, np.log(values.astype(np.float64)), rtol=3e-7, atol=1e-7)


def test_sigmoids_are_right_to_single_precision() -> None:
    values = np.concatenate([np.linspace(-20, 20, BLOCK - 4), [-1e30, -100.0, 100.0, 1e30]])
    found = values.astype(np.float32)

    block_sigmoid(found, np.empty_like(found))

    np.testing.assert_allclose(found, expit(values), rtol=0.0, atol=3e-7)


@pytest.mark.parametrize("x", [-1000.0, -40.0, -1.5, 0.0, 1.5, 36.0, 37.0, 1000.0])
def test_a_sigmoid_is_scipys(x: float) -> None:
    assert sigmoid(x) == pytest.approx(expit(x), rel=1e-15)


@WIDTHS
def test_products_are_added(width: int) -> None:
    rng = np.random.default_rng(width)
    block = rng.normal(size=(width, BLOCK)).astype(np.float32)
    weights = rng.normal(size=width).astype(np.float32)
    sums = np.ones(BLOCK, dtype=np.float32)

    add_products(block, weights, sums)

    np.testing.assert_allclose(sums, 1.0 + weights @ block, rtol=1e-5, atol=1e-5)


@WIDTHS
def test_squares_are_added(width: int) -> None:
    rng = np.random.default_rng(width)
    block = rng.normal(size=(width, BLOCK)).astype(np.float32)
    G = np.tril(rng.normal(size=(width, width))).astype(np.float32)
    sums, work = np.ones(BLOCK, dtype=np.float32), np.empty((TILE, BLOCK), dtype=np.float32)

    add_squares(block, padded(G, width, np.float32), work, sums)

    np.testing.assert_allclose(sums, 1.0 + ((G @ block) ** 2).sum(axis=0), rtol=1e-5)


def test_bounds_that_are_no_numbers_may_always_be_the_best() -> None:
    bounds = np.array([1.0, np.nan, np.inf, -np.inf, 5.0], dtype=np.float32)

    top = mask_bounds(bounds, np.array([True, True, True, True, False]))

    assert top == np.inf
    assert bounds.tolist() == [1.0, np.inf, np.inf, float(np.finfo(np.float32).min), -np.inf]


def test_what_reaches_a_score_is_found_in_order_of_rows() -> None:
    bounds = np.array([[1.0, 3.0], [0.0, 0.5], [3.0, 4.0]], dtype=np.float32)
    tops = bounds.max(axis=1)

    found = [next_place(bounds, tops, 3.0, start) for start in range(7)]

    assert found == [1, 1, 4, 4, 4, 5, -1]
    assert highest_place(bounds, tops) == 5


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.data())
def test_the_top_is_what_a_stable_sort_gives(values: list[int], data: st.DataObject) -> None:
    free = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    free[0] = True
    k = data.draw(st.integers(1, int(free.sum())))
    numbers = np.array(values, dtype=np.float64)

    chosen, scores = top_of(numbers, free, k)

    order = [row for row in np.argsort(-numbers, kind="stable") if free[row]]
    assert chosen.tolist() == order[:k]
    assert scores.tolist() == numbers[chosen].tolist()


@pytest.mark.parametrize("normaliser", ["none", "fixed", "growing"])
def test_gains_are_those_of_a_slate(normaliser: Normaliser) -> None:
    rng = np.random.default_rng(0)
    sets = [{"a"}, {"a", "b"}, set[str](), {"c"}]
    distances: list[str | Distance] = [
        "cosine",
        "angular",
        "euclidean",
        jaccard([sets[i % 4] for i in range(30)]),
        hamming([str(i % 3) for i in range(30)]),
    ]
    catalogue = Catalogue(range(30), rng.normal(size=(30, 4)), distances)
    items = rng.permutation(30)[:9]
    assert catalogue.layout is not None

    found = list_gains(catalogue.layout, items, normalising_factors(normaliser, 9))

    expected = slate_of(catalogue, items, np.zeros(9), normaliser).diversity
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("distances", [["euclidean", "angular"], ["euclidean"], []])
def test_units_are_the_features_at_length_1(distances: list[str]) -> None:
    features = np.vstack([np.random.default_rng(0).normal(size=(300, 3)), np.zeros((1, 3))])
    catalogue = Catalogue(range(301), features, distances)
    assert catalogue.layout is not None

    units = unit_features(catalogue.layout, catalogue.distances)

    rows = units.rows[:, units.start : units.start + 3]
    np.testing.assert_allclose(np.linalg.norm(rows[:-1], axis=1), 1.0)
    np.testing.assert_allclose(
        rows[:-1], features[:-1] / np.linalg.norm(features[:-1], axis=1)[:, None]
    )
    assert rows[-1].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(
        units.blocks[1, units.start : units.start + 3, :45].T, rows[256:].astype(np.float32)
    )
