"""The ground set: what it is made from, what it refuses, how it grows."""

from typing import Any

import numpy as np
import pytest

from variegate import Catalogue
from variegate.errors import InputError, NotFoundError
from variegate.model.distances import cosine, euclidean, hamming, jaccard

Options = dict[str, Any]


def made(**changes: Any) -> Catalogue:
    """Return a catalogue of two items, but for what is changed."""
    options: Options = {"ids": ["a", "b"], "features": np.eye(2), "distances": "cosine"}
    return Catalogue(**(options | changes))


def test_it_tells_its_sizes() -> None:
    catalogue = made(features=np.ones((2, 3)), distances=["cosine", "angular"])

    assert (len(catalogue), catalogue.d, catalogue.m) == (2, 3, 2)
    assert repr(catalogue) == "Catalogue(2 items, 3 features, distances: cosine, angular)"
    assert repr(made(distances=[])) == "Catalogue(2 items, 2 features, distances: none)"


def test_ids_are_kept_as_text_and_stand_in_for_titles() -> None:
    catalogue = made(ids=[7, 8])

    assert catalogue.ids == catalogue.titles == ("7", "8")
    assert catalogue.feature_names == ("feature 1", "feature 2")


def test_features_that_have_only_a_number_are_labelled_by_example_titles() -> None:
    catalogue = made(
        ids=range(4),
        features=[[0.1, 0.0, 1.0], [0.9, 1.0, 0.0], [0.5, 0.0, 0.0], [0.7, 0.0, 0.0]],
        titles=["Heat", "Alien", "Up", "Aliens"],
        feature_names=["feature 7", "Horror", "feature 2"],
    )

    labels = catalogue.feature_labels

    assert labels[:2] == ("items like Alien / Aliens / Up", "Horror")
    assert labels[2].startswith("items like Heat / ")


def test_features_are_its_own_and_cannot_be_written_to() -> None:
    features = np.eye(2)
    catalogue = made(features=features)
    features[0, 0] = 9.0

    assert catalogue.features[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        catalogue.features[0, 0] = 9.0


def test_the_longest_vector_gives_the_largest_norm() -> None:
    assert made(features=[[3.0, 4.0], [1.0, 0.0]]).largest_norm == 5.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ids": []}, r"`ids` must name at least one item, got none"),
        ({"ids": "ab"}, r"`ids` must be one id for each item, got the text 'ab'"),
        ({"ids": ["a", "a"]}, r"`ids` must be distinct, got 'a' twice"),
        ({"ids": [1, "1"]}, r"`ids` must be distinct, got '1' twice"),
        ({"ids": ["a", ""]}, r"`ids` must not be empty text, got ''"),
        ({"features": [[1.0, np.nan], [0.0, 1.0]]}, r"`features` must be fin.* nan at \[0, 1\]"),
        ({"features": [[1.0, 0.0], [-np.inf, 1.0]]}, r"`features` must be .* -inf at \[1, 0\]"),
        ({"features": [1.0, 2.0]}, r"`features` must have 2 axes, got shape \(2,\)"),
        ({"features": [[1.0], [1.0, 2.0]]}, r"`features` must be an array of numbers: "),
        ({"features": [["x"], ["y"]]}, r"`features` must be an array of numbers: .*'x'"),
        ({"features": np.eye(3)}, r"`features` must have 2 rows \(one for each id\) .* \(3, 3\)"),
        ({"features": np.ones((2, 0))}, r"`features` must have .* at least 1 column, got .*2, 0"),
        ({"titles": ["A"]}, r"`titles` must have 2 entries, got 1"),
        ({"attributes": {"year": [1]}}, r"`attributes\['year'\]` must have 2 entries, got 1"),
        ({"feature_names": ["x"]}, r"`feature_names` must have 2 entries, got 1"),
        ({"mean_user": [1.0]}, r"`mean_user` must have shape \(2,\), got \(1,\)"),
        ({"mean_user": [1.0, np.nan]}, r"`mean_user` must be finite, got nan at \[1\]"),
        ({"mean_user": [[1.0, 0.0]]}, r"`mean_user` must have 1 axes, got shape \(1, 2\)"),
        ({"feature_scale": 0}, r"`feature_scale` must be a number greater than 0, got 0"),
        ({"distances": "hamming"}, r"`distances` by name can be cosine, .*, got 'hamming'"),
        ({"distances": ["cosine", "cosine"]}, r"`distances` must have distinct names, got 'cos"),
        ({"distances": ["cosine", 3]}, r"`distances` by name can be .*, got 3"),
        ({"distances": cosine(np.eye(3))}, r"distance `cosine` must have data for 2 items, got 3"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_it_refuses(changes: Options, words: str) -> None:
    with pytest.raises(InputError, match=words):
        made(**changes)


def test_rows_come_in_the_order_of_the_ids() -> None:
    assert made(ids=[10, 20]).rows(["20", 10, "20"]).tolist() == [1, 0, 1]


def test_an_id_that_nobody_knows() -> None:
    with pytest.raises(NotFoundError, match="no item 'zz' in the catalogue"):
        made().rows(["a", "zz"])


def test_all_items_are_candidates_if_nothing_is_stated() -> None:
    assert made().candidates().tolist() == [0, 1]


def test_candidates_are_sorted_and_distinct() -> None:
    catalogue = Catalogue("abcd".__iter__(), np.eye(4), [])

    assert catalogue.candidates([3, 1, 3, 0], exclude=[0]).tolist() == [1, 3]
    assert catalogue.candidates([True, False, False, True]).tolist() == [0, 3]
    assert catalogue.candidates([]).tolist() == []


def test_growing_keeps_rows_features_and_distances() -> None:
    small = Catalogue(
        ["a", "b"],
        [[1.0, 0.0], [0.6, 0.8]],
        ["cosine", euclidean(scale=2.0), jaccard([{"x"}, {"x", "y"}], name="genres")],
        ["A", "B"],
        {"year": [1990, 2000]},
        feature_names=["one", "two"],
        mean_user=[0.1, 0.2],
        feature_scale=3.0,
    )

    large = small.with_items(
        ["c"], [[0.0, 1.0]], {"genres": jaccard([{"z"}])}, ["C"], {"year": [2010]}
    )

    assert large.ids == ("a", "b", "c")
    assert large.titles == ("A", "B", "C")
    assert large.attributes["year"] == (1990, 2000, 2010)
    assert (large.feature_names, large.feature_scale) == (("one", "two"), 3.0)
    assert large.mean_user is not None
    assert large.mean_user.tolist() == [0.1, 0.2]
    np.testing.assert_array_equal(large.features[:2], small.features)
    before, after = small.distances, large.distances
    np.testing.assert_allclose(
        [h.matrix()[:2, :2] for h in after], [h.matrix() for h in before], atol=1e-15
    )
    assert after[1].from_item(2)[0] == pytest.approx(np.sqrt(2.0) / 2.0)
    assert len(small) == 2


def test_an_attribute_not_given_is_none_for_new_items() -> None:
    large = made(attributes={"year": [1, 2]}).with_items(["c", "d"], np.eye(2))

    assert large.attributes["year"] == (1, 2, None, None)
    assert large.titles == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"ids": ["a"]}, r"`ids` must be distinct, got 'a' twice"),
        ({"ids": "cd"}, r"`ids` must be one id for each item, got the text 'cd'"),
        ({"features": [[1.0]]}, r"`features` must have 2 columns, got 1"),
        ({"features": [[1.0, np.nan]]}, r"`features` must be finite, got nan at \[0, 1\]"),
        ({"features": np.eye(2)}, r"`features` must have 3 rows"),
        ({"titles": ["C", "D"]}, r"`titles` must have 3 entries, got 4"),
        ({"attributes": {"year": []}}, r"`attributes\['year'\]` must have 3 entries, got 2"),
        ({"distances": {}}, r"`distances` must have the new items' data for 'country', got \[\]"),
        ({"distances": {"country": jaccard([["fr"]])}}, r"`country` is hamming, got jaccard"),
        (
            {"distances": {"country": hamming(["fr", "jp"])}},
            r"`country` must have data for 3 items",
        ),
    ],
)
def test_what_it_does_not_grow_by(more: Options, words: str) -> None:
    small = made(
        distances=["cosine", hamming(["fr", "jp"], name="country")],
        attributes={"year": [1, 2]},
    )
    options: Options = {
        "ids": ["c"],
        "features": [[1.0, 1.0]],
        "distances": {"country": hamming(["be"])},
    }

    with pytest.raises(InputError, match=words):
        small.with_items(**(options | more))


def test_long_vectors_serve_the_distances_only() -> None:
    vectors = np.random.default_rng(0).normal(size=(3, 768))
    with pytest.raises(InputError) as refused:
        Catalogue(["a", "b", "c"], vectors, "cosine")
    message = str(refused.value)
    assert "`features` must have at most 512 columns, got 768" in message
    assert "2.4 MB" in message
    assert "pca:16" in message

    made = Catalogue(["a", "b", "c"], vectors[:, :2], cosine(vectors))

    assert (made.d, made.distances[0].rows.shape) == (2, (3, 768))
