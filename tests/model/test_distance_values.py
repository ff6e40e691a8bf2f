"""A distance's data from plain values, such as JSON has."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from variegate import Catalogue
from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.model.distances import (
    Distance,
    angular,
    cosine,
    custom,
    difference,
    distance_of_values,
    euclidean,
    hamming,
    jaccard,
)


def far(point: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(np.abs(points - point).sum(axis=1))


#: Of each kind: the distance over two items, plain values of two more, and all four made at once.
KINDS: dict[str, tuple[Distance, list[Any], Distance]] = {
    "jaccard": (
        jaccard([{"a"}, {"a", "b"}], name="h"),
        [["b", "new"], []],
        jaccard([{"a"}, {"a", "b"}, {"b", "new"}, set()]),
    ),
    "jaccard of numbers": (
        jaccard([["1"], ["2"]], name="h"),
        [[1, 3], ["2"]],
        jaccard([["1"], ["2"], ["1", "3"], ["2"]]),
    ),
    "hamming": (
        hamming(["fr", "jp"], name="h"),
        ["jp", "be"],
        hamming(["fr", "jp", "jp", "be"]),
    ),
    "hamming of numbers": (
        hamming(["7", "8"], name="h"),
        [8, 9.5],
        hamming(["7", "8", "8", "9.5"]),
    ),
    "difference": (
        difference([1990, 2000], name="h"),
        [2010, 1985.5],
        difference([1990, 2000, 2010, 1985.5], scale=10.0),
    ),
    "cosine": (
        cosine([[1, 0], [0, 2]], name="h"),
        [[3, 4], [0, 0]],
        cosine([[1, 0], [0, 2], [3, 4], [0, 0]]),
    ),
    "angular": (
        angular([[1, 0], [0, 2]], name="h"),
        [[3, 4], [-1, 0]],
        angular([[1, 0], [0, 2], [3, 4], [-1, 0]]),
    ),
    "euclidean": (
        euclidean([[1, 0], [0, 2]], scale=2.0, name="h"),
        [[3, 4], [0.5, -1]],
        euclidean([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0], [0.5, -1.0]], scale=2.0),
    ),
    "custom": (
        custom(far, [[1, 0], [0, 2]], name="h", largest=50.0),
        [[3, 4], [0, 0]],
        custom(far, [[1, 0], [0, 2], [3, 4], [0, 0]], name="h", largest=50.0),
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_plain_values_make_what_the_makers_do(kind: str) -> None:
    like, values, expected = KINDS[kind]

    more = distance_of_values(like, json.loads(json.dumps(values)))

    np.testing.assert_array_equal(like.with_items(more).matrix(), expected.matrix())
    assert (len(more), more.name, more.scale) == (2, "h", like.scale)


@each_kind
def test_they_change_an_item_of_a_catalogue(kind: str) -> None:
    like, values, expected = KINDS[kind]
    before = Catalogue(["a", "b"], np.eye(2), like)

    after = before.with_changes(["b"], [[0, 1]], {"h": distance_of_values(like, values[:1])})

    np.testing.assert_array_equal(
        after.distances[0].matrix(), expected.among(np.array([0, 2])).matrix()
    )


@each_kind
def test_no_items_have_no_data(kind: str) -> None:
    like = KINDS[kind][0]

    assert like.with_items(distance_of_values(like, [])).matrix().tolist() == like.matrix().tolist()


NUMBERS = r"must have a list of 2 numbers for each item"


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("jaccard", "drama", r"`h` must have a list of labels for each item, got 'drama' for it"),
        ("jaccard", ["a", None], r"`h` must have a list of labels .* got \['a', None\] for item 1"),
        ("jaccard", [["a"]], r"`h` must have a list of labels"),
        ("jaccard", {"a": 1}, r"`h` must have a list of labels"),
        ("jaccard", 3, r"`h` must have a list of labels"),
        ("hamming", ["fr"], r"`h` must have a label for each item, got \['fr'\]"),
        ("hamming", None, r"`h` must have a label for each item, got None"),
        ("hamming", True, r"`h` must have a label for each item, got True"),
        ("difference", "1990", r"`h` must have a number for each item, got '1990' for item 1"),
        ("difference", [1990], r"`h` must have a number for each item"),
        ("difference", False, r"`h` must have a number for each item"),
        ("difference", float("nan"), r"`h` must have a number for each item, got nan"),
        ("difference", float("inf"), r"`h` must have a number for each item, got inf"),
        ("difference", 10**400, r"`h` must have a number for each item, got 10000\d+…"),
        ("cosine", [1.0], rf"`h` {NUMBERS}, got \[1\.0\]"),
        ("angular", [1.0, "x"], rf"`h` {NUMBERS}"),
        ("euclidean", [1.0, None], rf"`h` {NUMBERS}"),
        ("euclidean", [1.0, 1e300], rf"`h` {NUMBERS}"),
        ("custom", 1.0, rf"`h` {NUMBERS}"),
        ("custom", [[1.0, 2.0]], rf"`h` {NUMBERS}"),
    ],
)
def test_a_value_of_the_wrong_kind(kind: str, value: Any, words: str) -> None:
    like, values, _ = KINDS[kind]

    with pytest.raises(InputError, match=words):
        distance_of_values(like, [values[0], value])


@pytest.mark.parametrize("values", ["ab", {"a": 1}, 3, None])
def test_values_that_are_no_list(values: Any) -> None:
    with pytest.raises(InputError, match=r"`values` must be a list with a value for each item"):
        distance_of_values(hamming(["a"]), values)


def test_a_distance_on_the_features_takes_none() -> None:
    on_features = Catalogue(["a"], [[1.0]], "cosine").distances[0]

    with pytest.raises(InputError, match=r"`cosine` is computed on the features and takes no"):
        distance_of_values(on_features, [[1.0]])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)


@each_kind
@given(value=json_values)
@settings(deadline=None, max_examples=60)
def test_any_json_makes_a_distance_or_is_refused(kind: str, value: Any) -> None:
    like = KINDS[kind][0]
    try:
        more = distance_of_values(like, [value])
    except InputError as error:
        assert "distance `h` must have" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(like.with_items(more).matrix()).all()
