"""Distances with an answer that a reader can see, at the edges, and wrongly asked for."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from variegate import Catalogue
from variegate.arrays import FloatArray
from variegate.errors import InputError
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


def constant(point: FloatArray, points: FloatArray) -> FloatArray:  # noqa: ARG001
    return np.ones(len(points))


HALF = np.sqrt(0.5)


@pytest.mark.parametrize(
    ("h", "from_the_first"),
    [
        (cosine([[2, 0], [0, 3], [-1, 0], [5, 5]]), [0, 1, 2, 1 - HALF]),
        (angular([[2, 0], [0, 3], [-1, 0], [5, 5]]), [0, 0.5, 1, 0.25]),
        (euclidean([[0, 0], [3, 4], [0, 1]]), [0, 5, 1]),
        (euclidean([[0, 0], [3, 4], [0, 1]], scale=10), [0, 0.5, 0.1]),
        (difference([2000, 1990, 2010, 2020]), [0, 1 / 3, 1 / 3, 2 / 3]),
        (difference([2000, 1990, 2010, 2020], scale=20), [0, 0.5, 0.5, 1]),
        (difference([7, 7]), [0, 0]),
        (hamming(["fr", "jp", "fr", ""]), [0, 1, 0, 1]),
        (jaccard([{"a", "b"}, {"b"}, {"c"}, {"a", "b", "c", "d"}]), [0, 0.5, 1, 0.5]),
        (jaccard([["a", "a"], ["a"], []]), [0, 0, 1]),
        (custom(constant, [[1.0], [2.0]], name="own", largest=1.0), [0, 1]),
    ],
    ids=lambda value: value.name if isinstance(value, Distance) else "",
)
def test_distances_from_the_first_item(h: Distance, from_the_first: list[float]) -> None:
    np.testing.assert_allclose(h.from_item(0), from_the_first, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(("make", "apart"), [(cosine, 1.0), (angular, 0.5), (euclidean, 5.0)])
def test_a_zero_vector(make: Callable[..., Distance], apart: float) -> None:
    h = make([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])

    assert h.from_item(0)[:2].tolist() == [0.0, apart]


def test_items_without_any_label_are_alike() -> None:
    nobody = jaccard([set(), {"drama"}, set()])

    assert nobody.from_item(0).tolist() == [0.0, 1.0, 0.0]
    assert jaccard([[], []]).matrix().tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (cosine, [0.0, 1.0, 2.0]),
        (angular, [0.0, 0.5, 1.0]),
    ],
)
def test_the_direction_of_huge_and_tiny_vectors(
    make: Callable[..., Distance], expected: list[float], size: float
) -> None:
    h = make([[size, 0.0], [0.0, size], [-size, 0.0]])

    np.testing.assert_allclose(h.from_item(0), expected, rtol=1e-15)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_the_length_of_huge_and_tiny_vectors(size: float) -> None:
    h = euclidean([[0.0, 0.0], [3 * size, 4 * size], [0.0, size]])

    np.testing.assert_allclose(h.from_item(0), [0.0, 5 * size, size], rtol=1e-15)
    np.testing.assert_allclose(h.largest, 5 * size, rtol=1e-15)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_the_difference_of_huge_and_tiny_numbers(size: float) -> None:
    h = difference([0.0, size, -size])

    np.testing.assert_allclose(h.from_item(0), [0.0, 0.5, 0.5], rtol=1e-15)
    assert h.largest == 1.0


def test_huge_and_tiny_vectors_side_by_side() -> None:
    h = euclidean([[0.0, 0.0], [3e-200, 4e-200], [3e200, 4e200]])

    np.testing.assert_allclose(h.from_item(0), [0.0, 5e-200, 5e200], rtol=1e-15)


def test_new_labels_leave_old_distances_as_they_were() -> None:
    genres = jaccard([{"drama"}, {"drama", "war"}])

    longer = genres.with_items(jaccard([{"anime", "war"}, {"zombie"}]))

    assert longer.labels == ("drama", "war", "anime", "zombie")
    np.testing.assert_allclose(longer.from_item(1), [0.5, 0.0, 2 / 3, 1.0])


def test_new_countries_are_unlike_all_old_ones() -> None:
    countries = hamming(["fr", "jp"])

    longer = countries.with_items(hamming(["be", "jp", "fr"]))

    assert longer.from_item(0).tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_the_scale_of_a_difference_stays_when_items_come_from_outside() -> None:
    years = difference([1990, 2000])

    longer = years.with_items(difference([2030]))

    assert longer.from_item(0).tolist() == [0.0, 1.0, 4.0]
    assert longer.largest == 4.0


def test_data_cannot_be_written_to() -> None:
    rows = np.eye(2)
    h = euclidean(rows)
    rows[0, 0] = 9.0

    assert h.from_item(1)[0] == pytest.approx(np.sqrt(2.0))
    with pytest.raises(ValueError, match="read-only"):
        h.rows[0, 0] = 9.0


def test_without_data_it_asks_for_a_catalogue() -> None:
    with pytest.raises(InputError, match=r"distance `cosine` has no data yet: give it to a Cat"):
        cosine().matrix()


def test_without_data_it_takes_the_features_of_the_catalogue() -> None:
    catalogue = Catalogue(["a", "b"], [[3.0, 4.0], [0.0, 0.0]], euclidean(scale=10.0))

    assert catalogue.distances[0].from_item(0).tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (cosine([[1.0]]), angular([[1.0]]), r"distance `cosine` is cosine, got angular"),
        (hamming(["a"]), jaccard([["a"]]), r"distance `hamming` is hamming, got jaccard"),
        (euclidean([[1.0]]), euclidean([[1.0, 2.0]]), r"has 1 columns of data, got 2"),
    ],
)
def test_extended_by_the_wrong_data(one: Distance, other: Distance, words: str) -> None:
    with pytest.raises(InputError, match=words):
        one.with_items(other)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cosine([1.0, 2.0]), r"`data` must have 2 axes, got shape \(2,\)"),
        (lambda: angular([[np.nan]]), r"`data` must be finite, got nan at \[0, 0\]"),
        (lambda: euclidean([["x"]]), r"`data` must be an array of numbers"),
        (lambda: euclidean([[1.0]], scale=0.0), r"`scale` must be a number greater than 0, got 0"),
        (lambda: difference([[1.0]]), r"`values` must have 1 axes, got shape \(1, 1\)"),
        (lambda: difference([1.0, np.inf]), r"`values` must be finite, got inf at \[1\]"),
        (lambda: difference([1.0], scale=-1), r"`scale` must be a number greater than 0, got -1"),
        (lambda: hamming("fr"), r"`values` must be a collection of labels, got the text 'fr'"),
        (lambda: jaccard(["war"]), r"`sets\[0\]` must be a collection of labels, got the text"),
        (
            lambda: custom(constant, [[1.0]], name="own", largest=0.0),
            r"`largest` must be a number greater than 0, got 0\.0",
        ),
    ],
)
def test_the_wrong_data(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()
