"""The compiled loops of the first stage do what NumPy does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.shortlist.making import clustered, shop_of
from variegate.arrays import FloatArray
from variegate.kernels.bounds import bound_parts
from variegate.kernels.cells import (
    CellItems,
    CellView,
    add_distances,
    item_scores,
    item_scores_reference,
    single_rows,
)
from variegate.model.cells import Opening
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
from variegate.model.ridge import Ridge
from variegate.model.shortlist import Shortlist


def single(array: FloatArray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.float32)


def random_view(rng: np.random.Generator, cells: int, d: int, m: int, column: int) -> CellView:
    root = rng.normal(size=(d + m, d + m))
    P, centres = root @ root.T / d, rng.normal(size=(cells, d))
    variance = np.einsum("ij,ij->i", centres @ P[:d, :d], centres)
    return CellView(
        theta=single(rng.normal(size=d)),
        beta=single(rng.normal(size=m)),
        P_zx=single(P[:d, d:]),
        P_xx=single(P[d:, d:]),
        centres=single(centres),
        Pc=single(centres @ P[:d, :d]),
        variance=single(variance),
        typical=single(variance + 0.5),
        cross=single(centres @ P[:d, d:]),
        even=np.float32(np.trace(P[:d, :d]) / d),
        alpha=np.float32(rng.choice([0.0, 1.0, 5.0])),
        column=column,
        apart=np.float32(0.7),
        away=single(rng.normal(size=d)),
    )


def random_items(rng: np.random.Generator, cells: int, d: int) -> CellItems:
    sizes = rng.integers(0, 6, size=cells)
    sizes[0] += 1
    z = single(rng.normal(size=(int(sizes.sum()), d)))
    z[0] = 0.0
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return CellItems(z, (z * z).sum(axis=1), rng.permutation(len(z)), starts)


@given(
    cells=st.integers(1, 8), d=st.integers(1, 20), m=st.integers(0, 3), seed=st.integers(0, 10**6)
)
def test_item_scores_are_those_of_the_reference(cells: int, d: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    items, view = random_items(rng, cells, d), random_view(rng, cells, d, m, m - 1)
    free, x = rng.random(len(items.z)) < 0.8, single(rng.uniform(0.0, 2.0, (cells, m)))
    opened = rng.permutation(cells)[: rng.integers(1, cells + 1)]

    rows, scores = item_scores(items, free, view, opened, x)
    expected_rows, expected = item_scores_reference(items, free, view, opened, x)

    np.testing.assert_array_equal(rows, expected_rows)
    # Single precision, in which a root near 0 keeps half the digits.
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=2e-2)


def test_item_scores_of_a_fresh_user_are_the_scores() -> None:
    shop = shop_of(clustered(500))
    cells, belief = Shortlist.build(shop)._cells, Ridge(17, 4.0).estimate()
    opening = Opening(cells, shop.distances, belief, 1.0)

    rows, scores = opening.items(np.arange(len(cells)), 1.0, np.ones(500, dtype=np.bool_))

    lengths = np.linalg.norm(shop.features[rows], axis=1)
    np.testing.assert_array_equal(np.sort(rows), np.arange(500))
    np.testing.assert_allclose(scores / scores.max(), lengths / lengths.max(), rtol=1e-5)


def test_an_item_s_own_cosine_counts() -> None:
    shop = shop_of(clustered(500, unit=True))
    cells, belief = Shortlist.build(shop)._cells, Ridge(17, 4.0).estimate()
    opening = Opening(cells, shop.distances, belief, 1.0)
    opening.take([single(shop.distances[0].rows[3])])

    rows, scores = opening.items(np.arange(len(cells)), 1.0, np.ones(500, dtype=np.bool_))

    x = shop.distances[0].from_item(3)[rows]
    exact = np.sqrt(1.0 + x**2)
    # The score is not linear in x: off by its bend within a cell.
    np.testing.assert_allclose(scores / scores.max(), exact / exact.max(), atol=0.05)
    assert exact[np.argmax(scores)] > 0.99 * exact.max()


def distances_between() -> dict[str, Distance]:
    rng = np.random.default_rng(2)
    table = rng.standard_normal((60, 5))
    table[:2] = 0.0
    sets = [set(rng.choice(list("abcd"), size=n)) for n in rng.integers(0, 4, size=60)]
    return {
        "cosine": cosine(table),
        "angular": angular(table),
        "euclidean": euclidean(table, scale=3.0),
        "difference": difference(table[:, 0], name="number"),
        "hamming": hamming(rng.choice(list("abc"), size=60).tolist(), name="label"),
        "jaccard": jaccard(sets, name="labels"),
        "custom": custom(lambda a, b: np.abs(b - a).sum(axis=1), table, name="own", largest=50.0),
    }


@pytest.mark.parametrize("kind", distances_between())
@pytest.mark.parametrize("item", [0, 17])
def test_distances_are_added_to_their_column(kind: str, item: int) -> None:
    h = distances_between()[kind]
    rows, sums = single_rows(h, np.arange(60)), np.ones((60, 2))

    add_distances(h, rows, rows[item], 1, sums)

    others = np.arange(60) != item
    np.testing.assert_array_equal(sums[:, 0], 1.0)
    # Single precision, in which the angle between near points keeps half the digits.
    np.testing.assert_allclose(sums[others, 1], 1.0 + h.from_item(item)[others], atol=1e-3)


@pytest.mark.parametrize("m", [0, 1, 3])
def test_parts_of_bounds_are_the_products(m: int) -> None:
    rng = np.random.default_rng(m)
    z, eta, root = rng.normal(size=(9, 6)), rng.normal(size=6 + m), rng.normal(size=(6 + m, 6 + m))
    P = root @ root.T

    mean, variance, cross = bound_parts(z, eta, P)

    np.testing.assert_allclose(mean, z @ eta[:6])
    np.testing.assert_allclose(variance, np.einsum("ni,ij,nj->n", z, P[:6, :6], z))
    np.testing.assert_allclose(cross, z @ P[:6, 6:], atol=1e-12)
