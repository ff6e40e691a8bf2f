"""A catalogue from an item table alone, and learning on it."""

from pathlib import Path

import numpy as np
import pytest

from variegate import LMDH, Catalogue
from variegate.data.build import add_items, content_catalogue
from variegate.errors import InputError, NotFoundError
from variegate.model.encoder import content_features
from variegate.model.item_table import ItemTable
from variegate.model.utility import format_weights, top_weights


def test_every_column_has_a_distance(shop: ItemTable) -> None:
    catalogue = content_catalogue(shop)
    kinds = {h.name: h.formula.name for h in catalogue.distances}
    assert kinds == {
        "cosine": "cosine",
        "price": "difference",
        "maker": "hamming",
        "tags": "jaccard",
    }


def test_distances_are_those_of_the_columns(shop: ItemTable) -> None:
    by_name = {h.name: h.from_item(0) for h in content_catalogue(shop).distances}
    assert by_name["maker"].tolist() == [0, 0, 1, 1, 1, 1]
    assert by_name["tags"].tolist() == [0.0, 0.5, 1.0, 1.0, 1.0, 1.0]


def test_an_unknown_number_is_as_far_as_the_median(shop: ItemTable) -> None:
    price = content_catalogue(shop, distances=["price"]).distances[0]
    # The bat's price is not known; the spade's, 25, is the median.
    np.testing.assert_array_equal(price.matrix()[5, :5], price.matrix()[3, :5])


def test_one_huge_number_does_not_press_the_others_together() -> None:
    ids = tuple(map(str, range(200)))
    prices = np.arange(200, dtype=np.float64)
    prices[0] = 1e9
    price = content_catalogue(ItemTable(ids, ids, numbers={"price": prices})).distances[1]
    assert price.from_item(10)[190] > 0.8
    assert price.matrix().max() <= 1.0


def test_chosen_columns_and_distances_alone_are_used(shop: ItemTable) -> None:
    catalogue = content_catalogue(shop, columns=["tags", "price"], distances=["tags", "cosine"])
    assert [h.name for h in catalogue.distances] == ["tags", "cosine"]
    assert set(catalogue.feature_names) == {"price", "kitchen", "garden", "sport", "gift"}
    assert "maker" in catalogue.attributes


def test_attributes_are_plain_and_none_where_unknown(shop: ItemTable) -> None:
    attributes = content_catalogue(shop).attributes
    assert attributes["price"] == (30, 40, 20, 25, 10, None)
    assert attributes["maker"][-1] is None
    assert attributes["tags"][1] == ["kitchen", "gift"]


def test_it_comes_back_from_its_file(shop: ItemTable, tmp_path: Path) -> None:
    catalogue = content_catalogue(shop)
    catalogue.save(tmp_path / "shop.npz")
    again = Catalogue.load(tmp_path / "shop.npz")
    assert again.feature_names == catalogue.feature_names
    assert again.attributes == catalogue.attributes
    for h, loaded in zip(catalogue.distances, again.distances, strict=True):
        np.testing.assert_array_equal(h.matrix(), loaded.matrix())


def test_a_distance_that_is_not_there_is_refused(shop: ItemTable) -> None:
    with pytest.raises(NotFoundError, match=r"`distances` must be one of .* did you mean 'tags'"):
        content_catalogue(shop, distances=["tag"])


def test_a_column_with_the_name_of_the_features_distance_is_refused() -> None:
    table = ItemTable(("a",), ("a",), categories={"cosine": ("x",)})
    with pytest.raises(InputError, match="a column must not be called `cosine`"):
        content_catalogue(table)


def test_new_items_join_and_old_distances_stay(shop: ItemTable) -> None:
    start = shop.take([0, 1, 2, 4])
    first = content_catalogue(start)
    grown = add_items(first, shop.take([3, 5]))
    assert grown.ids == ("pan", "pot", "rake", "ball", "spade", "bat")
    assert grown.attributes["price"] == (30, 40, 20, 10, 25, None)
    for old, new in zip(first.distances, grown.distances, strict=True):
        np.testing.assert_allclose(new.matrix()[:4, :4], old.matrix(), atol=1e-12)


def test_new_items_without_a_column_of_a_distance_are_refused(shop: ItemTable) -> None:
    more = ItemTable(("x",), ("x",), lists={"tags": (("garden",),)})
    with pytest.raises(InputError, match="new items' data for 'price'"):
        add_items(content_catalogue(shop), more)


def test_a_catalogue_without_an_encoder_takes_one_for_new_items(shop: ItemTable) -> None:
    whole, start = content_catalogue(shop), shop.take([0, 1, 2, 4])
    made = content_catalogue(start)
    bare = Catalogue(
        made.ids,
        made.features,
        ["cosine", *made.distances[1:]],
        made.titles,
        dict(made.attributes),
        feature_names=made.feature_names,
    )
    more = shop.take([3, 5])
    with pytest.raises(InputError, match="`encoder` must be given for Catalogue"):
        add_items(bare, more)
    grown = add_items(bare, more, encoder=content_features(start).encoder)
    assert grown.ids[4:] == ("spade", "bat")
    np.testing.assert_array_equal(grown.features, add_items(made, more).features)
    assert len(whole) == len(grown)


def shelf_of(count: int) -> ItemTable:
    rng = np.random.default_rng(3)
    genres = ("Comedy", "Drama", "Horror", "Western")
    lands = ("France", "Japan", "Italy")
    ids = tuple(f"f{row}" for row in range(count))
    return ItemTable(
        ids,
        ids,
        numbers={"year": rng.integers(1950, 2015, count).astype(np.float64)},
        categories={"country": tuple(str(land) for land in rng.choice(lands, count))},
        lists={"genres": tuple((str(genre),) for genre in rng.choice(genres, count))},
    )


def test_lmdh_learns_over_four_distances_and_says_what_in_words() -> None:
    catalogue = content_catalogue(shelf_of(200))
    policy = LMDH(catalogue, ridge=1.0)
    shown: list[int] = []
    for _ in range(10):
        slate = policy.recommend(8, exclude=shown)
        shown += [int(row) for row in slate.items]
        likes = ["Comedy" in catalogue.attributes["genres"][row] for row in slate.items]
        policy.update(slate, np.array(likes, dtype=np.float64))
    strongest = top_weights(policy.preferences.relevance, catalogue.feature_names)
    assert catalogue.m == 4
    assert strongest[0][0] == "Comedy"
    assert format_weights(strongest).startswith("Comedy +")
