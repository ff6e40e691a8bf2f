"""Items: lists, search and details."""

import numpy as np

from tests.engine.shop import LMDH, Shop
from variegate.model.catalogue import Catalogue
from variegate.store import Store


def test_items_are_found_by_title_and_id(shop: Shop) -> None:
    found = shop.engine.items("FILM 1", 100, 0)
    assert [item["id"] for item in found["items"]] == ["i1", *(f"i{n}" for n in range(10, 20))]
    assert [item["id"] for item in shop.engine.items("i23", 9, 0)["items"]] == ["i23"]
    assert (found["total"], found["next"]) == (11, None)


def test_pages_follow_each_other(shop: Shop) -> None:
    ids: list[str] = []
    after: int | None = 0
    while after is not None:
        page = shop.engine.items("film", 10, after)
        ids += [item["id"] for item in page["items"]]
        after = page["next"]
    assert ids == list(shop.items.ids)


def test_full_last_page_is_the_last(shop: Shop) -> None:
    # Eleven items match; those that follow them in the catalogue do not.
    assert shop.engine.items("film 1", 11, 0)["next"] is None
    found = shop.engine.items("film 1", 10, 0)
    assert (len(found["items"]), found["total"]) == (10, 11)
    after = shop.engine.items("film 1", 10, 0)["next"]
    assert after is not None
    assert [item["id"] for item in shop.engine.items("film 1", 10, after)["items"]] == ["i19"]


def test_an_item_is_reported_as_it_can_be_stocked(shop: Shop) -> None:
    result = shop.engine.item("i7")
    row = 7
    by_name = {h.name: h for h in shop.items.distances}
    assert result["features"] == shop.items.features[row].tolist()
    assert result["distances"]["place"] == by_name["place"].rows[row].tolist()
    assert result["distances"]["years"] == shop.items.attributes["year"][row]
    assert result["distances"]["genres"] == shop.items.attributes["genres"][row]
    data = {name: result[name] for name in ("id", "title", "features", "distances")}
    shop.snapshot(data)
    with shop.store.reading() as reader:
        later = shop.engine.live.as_of(reader).catalogue
    for old, new in zip(shop.items.distances, later.distances, strict=True):
        assert np.array_equal(old.matrix(), new.matrix())


def test_attributes_are_reported_as_json_can_hold_them(store: Store) -> None:
    items = Catalogue(
        ["a", "b"],
        [[1.0], [2.0]],
        "cosine",
        attributes={
            "score": [np.float64("nan"), np.int64(3)],
            "tags": [{"y", "x"}, ("z",)],
            "odd": [1 + 2j, None],
        },
    )
    shop = Shop(store, items=items)
    assert shop.engine.item("a")["attributes"] == {
        "score": None,
        "tags": ["x", "y"],
        "odd": "(1+2j)",
    }
    assert shop.engine.item("b")["attributes"] == {"score": 3, "tags": ["z"], "odd": None}


def test_a_desk_says_what_items_are_described_by(shop: Shop) -> None:
    assert shop.engine.catalogue() == {
        "items": 24,
        "features": ["fast", "sad", "loud", "long"],
        "distances": ["cosine", "genres", "years", "country", "place"],
        "largest_distances": {h.name: h.largest for h in shop.items.distances},
        "attributes": ["year", "genres"],
        "policies": LMDH,
        "k": 4,
    }
