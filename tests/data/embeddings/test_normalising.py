"""Vectors brought into [-1, 1]."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from variegate.arrays import FloatArray
from variegate.data.embeddings import NORMALISATIONS, normalise_vectors
from variegate.errors import InputError, NotFoundError

matrices = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


def test_global_divides_all_by_the_largest_absolute_value() -> None:
    vectors, scale = normalise_vectors([[1.0, -4.0], [2.0, 0.0]], "global")
    assert scale == 4.0
    np.testing.assert_array_equal(vectors, [[0.25, -1.0], [0.5, 0.0]])


def test_min_max_stretches_each_column_over_the_whole_range() -> None:
    vectors, scale = normalise_vectors([[1.0, 40.0], [2.0, 10.0], [4.0, 20.0]], "min-max")
    assert scale == 1.0
    np.testing.assert_allclose(vectors, [[-1.0, 1.0], [-1 / 3, -1.0], [1.0, -1 / 3]])


def test_row_gives_each_row_the_length_one() -> None:
    vectors, scale = normalise_vectors([[3.0, 4.0], [0.0, -2.0]], "row")
    assert scale == 1.0
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0.0, -1.0]])


def test_none_leaves_the_numbers_and_gives_a_copy() -> None:
    given_vectors = np.array([[3.0, 4.0]])
    vectors, scale = normalise_vectors(given_vectors, "none")
    vectors[0, 0] = 9.0
    assert scale == 1.0
    assert given_vectors[0, 0] == 3.0


@pytest.mark.parametrize("how", NORMALISATIONS)
def test_zero_matrix_stays_zero(how: str) -> None:
    vectors, scale = normalise_vectors(np.zeros((3, 2)), how)
    assert scale == 1.0
    np.testing.assert_array_equal(vectors, np.zeros((3, 2)))


@pytest.mark.parametrize("how", NORMALISATIONS)
def test_no_rows_give_no_rows(how: str) -> None:
    assert normalise_vectors(np.zeros((0, 2)), how)[0].shape == (0, 2)


def test_constant_column_becomes_zero_by_min_max() -> None:
    vectors, _ = normalise_vectors([[5.0, 1.0], [5.0, 3.0]], "min-max")
    np.testing.assert_array_equal(vectors, [[0.0, -1.0], [0.0, 1.0]])


def test_zero_row_stays_zero_by_row() -> None:
    vectors, _ = normalise_vectors([[0.0, 0.0], [0.0, 5.0]], "row")
    np.testing.assert_array_equal(vectors, [[0.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("how", ["global", "min-max", "row"])
@given(matrix=matrices)
def test_every_result_lies_between_minus_one_and_one(how: str, matrix: FloatArray) -> None:
    before = matrix.copy()
    vectors, _ = normalise_vectors(matrix, how)
    # a length of 1 is rounded
    assert np.abs(vectors).max() <= 1.0 + 1e-15
    np.testing.assert_array_equal(matrix, before)


@given(matrix=matrices.filter(lambda m: bool(m.any())))
def test_global_times_its_scale_gives_the_vectors_back(matrix: FloatArray) -> None:
    vectors, scale = normalise_vectors(matrix, "global")
    # below 1e-300 of the largest a float has few digits left
    np.testing.assert_allclose(vectors * scale, matrix, rtol=1e-12, atol=1e-300 * (1 + scale))


def test_unknown_way_is_refused_with_the_nearest() -> None:
    with pytest.raises(NotFoundError, match=r"`normalise` must be one of global, .* 'min-max'\?"):
        normalise_vectors([[1.0]], "minmax")


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([[1.0, np.nan]], r"`vectors` must be finite, got nan at \[0, 1\]"),
        ([1.0, 2.0], r"`vectors` must have 2 axes, got shape \(2,\)"),
        ([["a"]], r"`vectors` must be an array of numbers"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(vectors: list[object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        normalise_vectors(vectors)  # type: ignore[arg-type]
