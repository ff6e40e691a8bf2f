"""What every kind of distance promises."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from variegate.arrays import FloatArray
from variegate.model.distances import (
    FORMULAS,
    Distance,
    angular,
    cosine,
    custom,
    difference,
    euclidean,
    hamming,
    jaccard,
)


def city_block(point: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(np.abs(points - point).sum(axis=1))


#: A distance of each kind over items that each are three whole numbers from -3 to 3.
KINDS: dict[str, Callable[[FloatArray], Distance]] = {
    "cosine": cosine,
    "angular": angular,
    "euclidean": lambda rows: euclidean(rows, scale=2.0),
    "difference": lambda rows: difference(rows[:, 0], scale=3.0),
    "hamming": lambda rows: hamming([str(row[0]) for row in rows]),
    "jaccard": lambda rows: jaccard([{f"{x:g}" for x in row if x > 0} for row in rows]),
    "custom": lambda rows: custom(city_block, rows, name="own", largest=18.0, is_metric=True),
}
METRICS = sorted(set(KINDS) - {"cosine"})

kinds = pytest.mark.parametrize("kind", KINDS)
cases = settings(max_examples=40)
whole_rows = arrays(np.float64, (4, 3), elements=st.integers(-3, 3).map(float))
real_rows = arrays(
    np.float64, (3, 3), elements=st.floats(-1e6, 1e6, allow_subnormal=False, width=64)
)


def test_every_formula_is_held_to_the_contract() -> None:
    assert set(FORMULAS) == set(KINDS) - {"custom"}
    assert {kind for kind in FORMULAS if FORMULAS[kind].is_metric} == set(METRICS) - {"custom"}


@kinds
@cases
@given(rows=whole_rows)
def test_it_is_symmetric(kind: str, rows: FloatArray) -> None:
    matrix = KINDS[kind](rows).matrix()

    # A product of a row with many may be summed in another order than with one.
    np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-15)


@kinds
@cases
@given(rows=whole_rows)
def test_it_is_zero_to_itself_and_nowhere_negative(kind: str, rows: FloatArray) -> None:
    matrix = KINDS[kind](rows).matrix()

    assert (np.diag(matrix) == 0.0).all()
    assert (matrix >= 0.0).all()


@kinds
@cases
@given(rows=whole_rows)
def test_it_is_never_above_the_largest(kind: str, rows: FloatArray) -> None:
    h = KINDS[kind](rows)

    assert (h.matrix() <= h.largest).all()


@pytest.mark.parametrize("kind", ["euclidean", "difference"])
@cases
@given(rows=real_rows)
def test_a_length_is_never_above_the_largest(kind: str, rows: FloatArray) -> None:
    h = KINDS[kind](rows)

    assert (h.matrix() <= h.largest).all()


@kinds
@cases
@given(rows=whole_rows)
def test_items_with_the_same_data_are_as_good_as_one(kind: str, rows: FloatArray) -> None:
    matrix = KINDS[kind](np.vstack([rows, rows[:1]])).matrix()

    # A zero vector has no direction, so nothing is like it, not even another one.
    has_direction = rows[0].any() or kind not in ("cosine", "angular")
    assert matrix[0, 4] == pytest.approx(0.0 if has_direction else matrix[0, 4], abs=1e-15)
    np.testing.assert_allclose(matrix[0, 1:4], matrix[4, 1:4], rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", METRICS)
@cases
@given(rows=whole_rows)
def test_a_metric_keeps_the_triangle_inequality(kind: str, rows: FloatArray) -> None:
    h = KINDS[kind](rows)
    matrix = h.matrix()

    # By way of any third item it is never shorter; opposite vectors are exact to 1e-8 only.
    by_way_of = (matrix[:, :, None] + matrix[None, :, :]).min(axis=1)
    assert h.is_metric
    assert (matrix <= by_way_of + 1e-7).all()


@pytest.mark.parametrize("kind", ["angular", "euclidean"])
@cases
@given(rows=real_rows.filter(lambda rows: bool((np.abs(rows).max(axis=1) > 1e-3).all())))
def test_vector_metrics_keep_it_for_all_vectors(kind: str, rows: FloatArray) -> None:
    ab, bc, ac = KINDS[kind](rows).matrix()[[0, 1, 0], [1, 2, 2]]

    assert ac <= ab + bc + 1e-7 * max(1.0, ac)


def test_cosine_is_rightly_not_called_a_metric() -> None:
    on_a_quarter_circle = cosine([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    ab, bc, ac = on_a_quarter_circle.matrix()[[0, 1, 0], [1, 2, 2]]

    assert not on_a_quarter_circle.is_metric
    assert ac > ab + bc


def test_your_own_is_no_metric_unless_you_say_so() -> None:
    assert not custom(city_block, [[1.0]], name="own", largest=1.0).is_metric


@kinds
@cases
@given(rows=whole_rows)
def test_among_renumbers_the_items_and_keeps_their_distances(kind: str, rows: FloatArray) -> None:
    h = KINDS[kind](rows)
    order = np.array([3, 0, 2])

    few = h.among(order)

    assert len(few) == 3
    np.testing.assert_allclose(few.matrix(), h.matrix()[np.ix_(order, order)], rtol=0, atol=1e-15)


@kinds
@cases
@given(rows=whole_rows, more=whole_rows)
def test_extended_is_the_same_as_all_at_once(kind: str, rows: FloatArray, more: FloatArray) -> None:
    h = KINDS[kind](rows)

    longer = h.with_items(KINDS[kind](more))

    together = KINDS[kind](np.vstack([rows, more]))
    assert len(longer) == 8
    np.testing.assert_allclose(longer.matrix(), together.matrix(), rtol=0, atol=1e-15)
    np.testing.assert_allclose(longer.matrix()[:4, :4], h.matrix(), rtol=0, atol=1e-15)
    assert longer.largest == together.largest
