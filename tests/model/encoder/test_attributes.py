"""Attributes that change, and the features and distances that are made from them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from variegate import Catalogue
from variegate.data.build import content_catalogue, rated_catalogue
from variegate.data.dataset import Dataset
from variegate.data.embeddings import make_embeddings
from variegate.errors import InputError, NotFoundError
from variegate.model.item_table import ItemTable


def by_name(catalogue: Catalogue, item: int) -> dict[str, list[float]]:
    return {h.name: h.from_item(item).tolist() for h in catalogue.distances}


def test_a_catalogue_of_a_table_that_says_the_same_is_the_same(shop: ItemTable) -> None:
    """Edited attributes come to what the table with those values would have come to."""
    catalogue = content_catalogue(shop)
    edited = catalogue.with_attributes(["rake"], {"tags": [["kitchen"]], "price": [30]})
    pan, rake = 0, 2
    tags = [name in ("kitchen", "price") for name in catalogue.feature_names]
    np.testing.assert_array_equal(edited.features[rake, tags], catalogue.features[pan, tags])
    assert by_name(edited, pan)["tags"][rake] == by_name(edited, pan)["price"][rake] == 0.0
    assert edited.attributes["tags"][rake] == ["kitchen"]
    others = [0, 1, 3, 4, 5]
    np.testing.assert_array_equal(edited.features[others], catalogue.features[others])


def test_a_change_and_its_undoing_leave_nothing(shop: ItemTable) -> None:
    catalogue = content_catalogue(shop)
    other = catalogue.with_attributes(["pot"], {"tags": [["sport"]], "maker": ["Wood"]})
    again = other.with_attributes(["pot"], {"tags": [["kitchen", "gift"]], "maker": ["Iron"]})
    assert not np.array_equal(other.features, catalogue.features)
    np.testing.assert_array_equal(again.features, catalogue.features)
    assert [by_name(again, row) for row in range(6)] == [by_name(catalogue, r) for r in range(6)]


def test_features_from_no_attribute_that_changed_stay(shop: ItemTable) -> None:
    catalogue = content_catalogue(shop)
    own = catalogue.with_changes(["pan"], [catalogue.features[0] + 0.25])
    edited = own.with_attributes(["pan"], {"price": [10]})
    is_price = np.array([name == "price" for name in catalogue.feature_names])
    np.testing.assert_array_equal(edited.features[0, ~is_price], own.features[0, ~is_price])
    assert edited.features[0, is_price] != own.features[0, is_price]


def test_an_encoder_comes_back_from_its_file(shop: ItemTable, tmp_path: Path) -> None:
    catalogue = content_catalogue(shop)
    catalogue.save(tmp_path / "shop.npz")
    again = Catalogue.load(tmp_path / "shop.npz")
    change: dict[str, list[Any]] = {"tags": [["garden", "new"]], "price": [1e9], "maker": [None]}
    one, two = (c.with_attributes(["ball"], change) for c in (catalogue, again))
    np.testing.assert_array_equal(one.features, two.features)
    assert by_name(one, 4) == by_name(two, 4)


def test_values_beyond_the_table_are_as_the_encoder_says(shop: ItemTable) -> None:
    catalogue = content_catalogue(shop)
    dear = catalogue.with_attributes(["rake"], {"price": [1e6]})
    top = catalogue.with_attributes(["rake"], {"price": [40]})
    np.testing.assert_array_equal(dear.features, top.features)
    assert by_name(dear, 2)["price"] == by_name(top, 2)["price"]
    new = catalogue.with_attributes(["rake"], {"tags": [["hobby"]], "price": [None]})
    assert by_name(new, 2)["tags"] == [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    assert new.features[2, [n in ("price", "garden") for n in new.feature_names]].tolist() == [0, 0]
    assert by_name(new, 2)["price"] == by_name(new, 3)["price"]  # the median is the spade's


def test_text_changes_its_directions(stories: ItemTable) -> None:
    catalogue = content_catalogue(stories)
    edited = catalogue.with_attributes(["s0"], {"plot": [stories.texts["plot"][40]]})
    np.testing.assert_allclose(edited.features[0], catalogue.features[40], atol=1e-12)


def test_more_features_do_not_lose_the_encoder(shop: ItemTable) -> None:
    wider = content_catalogue(shop).with_features({"fame": [0, 1, 2, 3, 4, 5]})
    edited = wider.with_attributes(["rake"], {"tags": [["kitchen"]]})
    assert edited.features[2, -1] == 2.0
    assert by_name(edited, 2)["cosine"] != by_name(wider, 2)["cosine"]
    plain = content_catalogue(shop).with_attributes(["rake"], {"tags": [["kitchen"]]})
    np.testing.assert_allclose(by_name(edited, 2)["cosine"], by_name(plain, 2)["cosine"])


def test_features_that_are_not_encoded_are_predicted_from_similar_items(shop: ItemTable) -> None:
    wider = content_catalogue(shop).with_features({"popularity": [0, 0.1, 0.2, 0.3, 0.4, 0.5]})
    twin = {name: [column[2]] for name, column in wider.attributes.items()}

    (found,) = wider.encoded_features(["new"], twin)  # type: ignore[misc]

    np.testing.assert_allclose(found[:-1], wider.features[2, :-1])
    assert 0.2 < found[-1] < 0.3  # all six are similar items, and the third most


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"price": ["dear"]}, "`attributes.price` must be a number or null, got 'dear'"),
        ({"price": [True]}, "`attributes.price` must be a number or null, got True"),
        ({"price": [1e300]}, "`attributes.price` must be a number of at most 1e\\+100"),
        ({"price": [10**400]}, "`attributes.price` must be a number of at most 1e\\+100"),
        ({"tags": ["garden"]}, "`attributes.tags` must be a list of labels or null, got 'garden'"),
        ({"tags": [[["x"]]]}, "`attributes.tags` must be a list of labels"),
        ({"maker": [["Iron"]]}, "`attributes.maker` must be a label .* got \\['Iron'\\]"),
        ({"price": [1, 2]}, "`attributes\\['price'\\]` must have 1 entries, got 2"),
        (
            {"price": [None], "tags": [[]], "maker": [None]},
            "`attributes` must have a known value for item 'pan' .*: price, maker, tags",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused(
    shop: ItemTable, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        content_catalogue(shop).with_attributes(["pan"], change)


def test_an_attribute_that_is_not_there_is_refused(shop: ItemTable) -> None:
    with pytest.raises(NotFoundError, match="`attributes` must be one of"):
        content_catalogue(shop).with_attributes(["pan"], {"colour": ["red"]})


def rated(category: Callable[[], dict[str, Any]]) -> Catalogue:
    ids = ("a", "b", "c", "d")
    about = ItemTable(
        ids, ids, numbers={"year": np.array([1990, 2000, np.nan, 2010])}, **category()
    )
    pairs = np.arange(4)
    liked = Dataset("films", ids, ids, pairs, pairs, about, "genres")
    vectors = make_embeddings(ids, np.eye(4))
    return rated_catalogue(liked, vectors, distances=["cosine", "genres", "years"])


def test_embeddings_keep_while_the_distances_of_attributes_change() -> None:
    catalogue = rated(lambda: {"lists": {"genres": (("war",), ("war",), (), ("art",))}})
    edited = catalogue.with_attributes(["b"], {"genres": [["art"]], "year": [1990]})
    np.testing.assert_array_equal(edited.features, catalogue.features)
    assert by_name(edited, 1)["genres"] == [1.0, 0.0, 1.0, 0.0]
    assert by_name(edited, 1)["years"] == [0.0, 0.0, 0.5, 1.0]
    unknown = catalogue.with_attributes(["a"], {"year": [None]})
    assert by_name(unknown, 0)["years"][2] == 0.0


def test_a_category_of_embeddings_is_a_list_of_one() -> None:
    catalogue = rated(lambda: {"categories": {"genres": ("war", "war", "", "art")}})
    edited = catalogue.with_attributes(["b", "c"], {"genres": ["art", None]})
    assert by_name(edited, 1)["genres"] == [1.0, 0.0, 1.0, 0.0]
    assert by_name(edited, 2)["genres"] == [1.0, 1.0, 0.0, 1.0]


def test_an_encoder_of_other_features_is_refused(shop: ItemTable) -> None:
    made = content_catalogue(shop)
    with pytest.raises(InputError, match="`encoder` must give the features"):
        Catalogue(["a"], [[1.0]], "cosine", encoder=made.encoder)
    with pytest.raises(NotFoundError, match="`sources` must be one of"):
        Catalogue(["a"], [[1.0]], "cosine", sources=made.sources)
