"""Open catalogues, and the candidates that come with a request."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from variegate import LMDP, Catalogue, open_catalogue
from variegate.errors import InputError, NotFoundError
from variegate.model.candidates import own_candidates, scored_candidates
from variegate.model.distances import custom, difference, hamming, jaccard

SHOP = Catalogue(list("abcd"), np.eye(4), "cosine").with_score()
OPEN = open_catalogue(["price"], ["cosine", jaccard([], name="genres")])
GIVEN: dict[str, Any] = {
    "vectors": [[1.0, 0.0], [0.0, 2.0]],
    "attributes": {"genres": [["a"], ["b"]]},
}


def test_an_open_catalogue_survives_a_file(tmp_path: Path) -> None:
    year = difference([], scale=10.0, name="year")
    before = open_catalogue(["price"], ["angular", hamming([], name="brand"), year])

    before.save(tmp_path / "open.npz")
    after = Catalogue.load(tmp_path / "open.npz")

    assert repr(after) == "Catalogue(open, 2 features, distances: angular, brand, year)"
    assert after.is_open
    assert after.fingerprint == before.fingerprint
    assert after.distances[2].scale == 10.0


def test_another_feature_is_another_fingerprint() -> None:
    one, other = open_catalogue(["price"]), open_catalogue(["age"])

    assert one.fingerprint.differences(other.fingerprint)


def test_an_open_catalogue_takes_no_items() -> None:
    with pytest.raises(InputError, match=r"`ids` must be empty for an open catalogue, got 1: its"):
        open_catalogue().with_items(["a"], [[1.0]], {"cosine": OPEN.distances[0]})


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("price",), InputError, "`features` must be a list of names, got the text 'price'"),
        ((["a", "a"],), InputError, "`features` must be distinct, and not `score`, got 'a' twice"),
        ((["score"],), InputError, "distinct, and not `score`, got 'score' twice"),
        (([], "cosin"), NotFoundError, "`distances` must be one of cosine, angular, euclidean, "),
        (([], jaccard([["a"]])), InputError, "`jaccard` must have no items, got data of 1"),
        (
            ([], custom(lambda a, b: b @ a, name="own", largest=1.0)),
            InputError,
            "distance `own` must be of a kind in cosine, angular, ",
        ),
    ],
)
def test_other_arguments_are_an_error(arguments: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        open_catalogue(*arguments)


def test_what_a_request_gives_becomes_features_and_distances() -> None:
    found = own_candidates(
        OPEN, ["x", 7], scores=[1.0, 3.0], features={"price": [0.2, 0.4]}, exclude=["x"], **GIVEN
    )

    assert found.ids == ("x", "7")
    np.testing.assert_allclose(found.features, [[-0.5, 0.2], [0.5, 0.4]], atol=0.2)
    assert found.free.tolist() == [False, True]
    assert [h.matrix()[0, 1] for h in found.catalogue.distances] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"candidates": None}, "`candidates` must be the ids to choose from, got None"),
        ({"candidates": 5}, "`candidates` must be a list of ids, got 5"),
        ({"candidates": "xy"}, "`candidates` must be one id for each item, got the text 'xy'"),
        ({"candidates": []}, "`candidates` must name at least one item, got none"),
        ({"candidates": ["x", "x"]}, "`candidates` must be distinct, got 'x' twice"),
        ({"candidates": ["x", ""]}, "`candidates` must not be empty text"),
        ({"scores": [1.0]}, "`scores` must have one number for each of 2 candidates, got 1"),
        ({"features": {"price": [1.0]}}, r"`features\['price'\]` must have 2 numbers, got 1"),
        ({"features": {"price": [1.0, 1e101]}}, r"`features\['price'\]` must be at most 1e\+100"),
        ({"vectors": None}, "`vectors` must be given for the distance 'cosine'"),
        ({"vectors": [[1.0]]}, r"`vectors` must have 2 rows \(one for each candidate\) and at le"),
        ({"vectors": [[1.0], [1.0, 2.0]]}, "`vectors` must have rows of one length"),
        ({"attributes": {}}, "`attributes` must have a column for the distance 'genres'"),
        (
            {"attributes": {"genres": [["a"], ["b"]], "brand": ["x"]}},
            r"`attributes\['brand'\]` must have 2 values, got 1",
        ),
        ({"attributes": {"genres": [["a"]]}}, r"`attributes\['genres'\]` must have 2 values, got"),
    ],
)
def test_what_does_not_fit_is_an_error(given: dict[str, Any], message: str) -> None:
    request = {"candidates": ["x", "y"], **GIVEN, **given}
    with pytest.raises(InputError, match=message):
        own_candidates(OPEN, request.pop("candidates"), **request)


def test_an_unknown_feature_is_an_error() -> None:
    with pytest.raises(
        NotFoundError, match="`features` must be one of price, got 'prize': did you"
    ):
        own_candidates(OPEN, ["x", "y"], features={"prize": [1, 2]}, **GIVEN)


@pytest.mark.parametrize(
    ("offer", "kind", "message"),
    [
        ({"features": [1.0]}, InputError, r"`features` must map names to columns, got \[1\.0\]"),
        ({"attributes": "ab"}, InputError, "`attributes` must map names to columns, got 'ab'"),
        (
            {"features": {"a": [1.0]}},
            InputError,
            "`features` must be None for .* besides",
        ),
        ({"where": {}}, TypeError, r"^recommend\(\) got an unexpected keyword argument 'where'"),
    ],
)
@pytest.mark.parametrize("catalogue", [open_catalogue(distances=[]), SHOP])
def test_what_a_list_does_not_take_is_named(
    catalogue: Catalogue, offer: dict[str, Any], kind: type[Exception], message: str
) -> None:
    if catalogue is SHOP and isinstance(offer.get("features"), dict):
        message = "`features` must be None for .*: its items have their own"
    with pytest.raises(kind, match=message):
        LMDP(catalogue).recommend(1, ["x"] if catalogue.is_open else [0], **offer)


def test_vectors_for_no_distance_are_an_error() -> None:
    with pytest.raises(InputError, match=r"`vectors` must be None for .*: no distance uses them"):
        own_candidates(open_catalogue(distances=[]), ["x"], vectors=[[1.0]])


def test_the_distances_of_a_request_are_checked() -> None:
    found = own_candidates(
        OPEN, ["x", "y"], vectors=GIVEN["vectors"], attributes={"genres": [1, 2]}
    )
    with pytest.raises(InputError, match="`attributes`: distance `genres` must have a list of lab"):
        _ = found.catalogue


def test_items_of_a_catalogue_get_the_scores_of_the_request() -> None:
    found = scored_candidates(SHOP, [5.0, 1.0], [3, 1], exclude=[1])

    assert found.ids == ("d", "b")
    assert found.features[:, :4].tolist() == SHOP.features[[3, 1], :4].tolist()
    assert found.features[0, 4] == -found.features[1, 4] > 0.0
    assert found.free.tolist() == [True, False]


@pytest.mark.parametrize("candidates", [None, np.array([True, True, True, True])])
def test_scores_of_all_items_need_no_rows(candidates: Any) -> None:
    found = scored_candidates(SHOP, [1.0, 2.0, 3.0, 4.0], candidates)

    assert found.rows.tolist() == [0, 1, 2, 3]
    assert (np.diff(found.features[:, 4]) > 0.0).all()


def test_with_a_mask_the_scores_are_those_of_all_items() -> None:
    mask = np.array([False, True, False, True])

    np.testing.assert_array_equal(
        scored_candidates(SHOP, [9.0, 2.0, 9.0, 4.0], mask).features,
        scored_candidates(SHOP, [2.0, 4.0], [1, 3]).features,
    )


def test_a_catalogue_without_the_feature_says_how_to_get_it() -> None:
    shop = Catalogue(["a"], [[1.0]], "cosine")
    with pytest.raises(InputError, match=r"which has no feature `score`: `catalogue\.with_score"):
        scored_candidates(shop, [1.0])


def test_rows_with_scores_are_distinct() -> None:
    with pytest.raises(InputError, match="`candidates` must be distinct rows if they have scores"):
        scored_candidates(SHOP, [1.0, 2.0], [1, 1])


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError) as caught:
        own_candidates(
            OPEN,
            (name for name in "aa"),
            scores=[1.0],
            features={"size": [1, 2], "price": [1.0]},
            vectors=[[1.0]],
            attributes={},
        )
    message = str(caught.value)
    for part in (
        "`candidates` must be distinct, got 'a' twice",
        "`scores` must have one number for each of 2 candidates, got 1",
        "`features` must be one of price, got 'size'",
        "`features['price']` must have 2 numbers, got 1",
        "`attributes` must have a column for the distance 'genres'",
        "`vectors` must have 2 rows",
    ):
        assert part in message
