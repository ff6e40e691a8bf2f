"""Attributes of items over the service: what is made from them changes with them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.shop import Shop
from tests.service.caller import Caller, error
from tests.service.whole import service
from variegate import Catalogue
from variegate.data.build import content_catalogue
from variegate.data.films import film_catalogue
from variegate.errors import InputError
from variegate.model.distances import jaccard
from variegate.model.encoder import ColumnSource
from variegate.model.item_table import ItemTable
from variegate.store import Store


def table() -> ItemTable:
    ids = tuple(f"b{number}" for number in range(12))
    return ItemTable(
        ids,
        tuple(map(str.upper, ids)),
        numbers={"price": np.arange(10.0, 130.0, 10.0)},
        categories={"maker": ("us", "them", "") * 4},
        lists={"tags": (("war",), ("art", "new"), ("sea",)) * 4},
    )


@pytest.fixture
def books(any_store: Store) -> Shop:
    return Shop(any_store, items=content_catalogue(table()))


def stocked(shop: Shop) -> Catalogue:
    with shop.store.reading() as reader:
        return shop.engine.live.as_of(reader).catalogue


def test_an_edited_attribute_changes_what_is_made_from_it(books: Shop) -> None:
    change = {"tags": ["art", "new"], "price": 20}
    books.snapshot({"id": "b0", "attributes": change})
    library = books.items.with_attributes(["b0"], {name: [v] for name, v in change.items()})
    item = books.engine.item("b0")
    assert item["features"] == library.features[0].tolist()
    assert item["distances"] == {"price": 20.0, "maker": "us", "tags": ["art", "new"]}
    for ours, theirs in zip(stocked(books).distances, library.distances, strict=True):
        np.testing.assert_array_equal(ours.matrix(), theirs.matrix())


def test_the_next_list_scores_the_item_by_its_new_attributes(books: Shop) -> None:
    for _ in range(3):
        given = books.give(k=6, allow_repeats=True)
        likes = {i["id"]: float(int(i["id"][1:]) % 3 == 1) for i in given["items"]}
        books.tell(given["slate_id"], likes)

    def score(item: str) -> float:
        (found,) = books.give(candidates=(item,), allow_repeats=True)["items"]
        return float(found["score"])

    before = score("b0")
    books.snapshot({"id": "b0", "attributes": {"tags": ["art", "new"], "maker": "them"}})
    assert score("b0") > before + 0.05
    assert (books.check().wrong, books.check().largest) == ((), 0.0)


def test_a_list_given_before_teaches_what_it_was_shown_with(books: Shop) -> None:
    given = books.give()
    first = given["items"][0]["id"]
    kept = books.slate(given["slate_id"]).features
    books.snapshot({"id": first, "attributes": {"tags": ["sea", "art"], "price": 120}})
    assert books.slate(given["slate_id"]).features == kept
    policy = books.experiment.new_policy("lmdh", books.items)
    policy.update(policy.recommend(4), [1.0, 0.0, 0.0, 0.0])
    books.tell(given["slate_id"], {first: 1.0})
    assert books.user().state == policy.state().to_bytes()


def test_features_and_distances_that_are_given_win(books: Shop) -> None:
    d = books.items.d
    books.snapshot(
        {
            "id": "b0",
            "attributes": {"tags": ["art"], "price": 50},
            "features": [0.125] * d,
            "distances": {"tags": ["sea"]},
        }
    )
    item = books.engine.item("b0")
    assert item["features"] == [0.125] * d
    assert (item["distances"]["tags"], item["distances"]["price"]) == (["sea"], 50.0)
    assert item["attributes"]["tags"] == ["art"]


def test_a_new_item_can_be_given_by_its_attributes_alone(books: Shop) -> None:
    books.snapshot({"id": "n", "title": "N", "attributes": {"tags": ["war"], "price": 40}})
    item = books.engine.item("n")
    b3 = books.engine.item("b3")  # the same but for its maker
    shared = [not name.startswith("maker") for name in books.items.feature_names]
    assert np.array(item["features"])[shared].tolist() == np.array(b3["features"])[shared].tolist()
    assert item["distances"] == {"price": 40.0, "maker": "", "tags": ["war"]}
    assert books.ids(candidates=("n",)) == ["n"]


def test_a_new_label_and_a_high_price_are_as_the_encoder_says(books: Shop) -> None:
    books.snapshot({"id": "n", "attributes": {"tags": ["yoga"], "price": 1e9}})
    item = books.engine.item("n")
    told = dict(zip(books.items.feature_names, item["features"], strict=True))
    top = dict(zip(books.items.feature_names, books.engine.item("b11")["features"], strict=True))
    assert told["price"] == top["price"]
    assert [told[name] for name in ("war", "art", "new", "sea")] == [0.0] * 4
    assert item["distances"]["tags"] == ["yoga"]
    assert item["attributes"]["price"] == 1e9


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"id": "b0", "attributes": {"price": "dear"}}, "`attributes.price` must be a number"),
        ({"id": "b0", "attributes": {"tags": "war"}}, "`attributes.tags` must be a list of labels"),
        ({"id": "b0", "attributes": {"maker": ["us"]}}, "`attributes.maker` must be a label"),
        ({"id": "n", "attributes": {"price": [1]}}, "`attributes.price` must be a number"),
        ({"id": "n", "attributes": {"colour": 1}}, "`attributes` must be among .* got 'colour'"),
        ({"id": "n", "attributes": {"tags": []}}, "must have a known value for item 'n'"),
        ({"id": "n"}, "`features` must be given for the new item 'n': or else `attributes`: price"),
    ],
)
def test_what_does_not_fit_is_refused(store: Store, item: dict[str, Any], words: str) -> None:
    books = Shop(store, items=content_catalogue(table()))
    with pytest.raises(InputError, match=words):
        books.snapshot(item)
    with store.reading() as reader:
        assert reader.items() == []


def embedded() -> Catalogue:
    tags = list(table().lists["tags"])
    return Catalogue(
        table().ids,
        np.random.default_rng(1).normal(size=(12, 3)),
        ["cosine", jaccard(tags, name="genres")],
        attributes={"tags": tags, "shelf": [None] * 12},
        sources={"genres": ColumnSource("tags", "list")},
    )


def test_without_an_encoder_the_distance_alone_changes(store: Store) -> None:
    shop = Shop(store, items=embedded())
    before = shop.engine.item("b0")
    shop.snapshot({"id": "b0", "attributes": {"tags": ["sea"], "shelf": "top"}})
    after = shop.engine.item("b0")
    assert (after["features"], after["distances"]) == (before["features"], {"genres": ["sea"]})
    with pytest.raises(InputError, match=r"'n': this catalogue has no encoder that computes them"):
        shop.snapshot({"id": "n", "attributes": {"tags": ["sea"]}})
    with pytest.raises(InputError, match="`distances` must have a value for 'genres'"):
        shop.snapshot({"id": "n", "features": [1.0, 0.0, 0.0], "attributes": {"shelf": "top"}})
    shop.snapshot({"id": "n", "features": [1.0, 0.0, 0.0], "attributes": {"tags": ["sea"]}})
    assert shop.engine.item("n")["distances"] == {"genres": ["sea"]}


@pytest.fixture(scope="module")
def films() -> Catalogue:
    pytest.importorskip("bokeh_sampledata", reason="the extra `films` is not installed")
    return film_catalogue(films=300)


@pytest.fixture
def caller(tmp_path: Path, films: Catalogue) -> Iterator[Caller]:
    with service(tmp_path, items=films, policies={"lmdh": "lmdh:ridge=1"}) as whole:
        yield Caller(*whole)


def test_an_edited_film_is_another_film_to_the_next_list(caller: Caller) -> None:
    given = caller.slate("ann", k=10)
    item = given["items"][0]["id"]
    likes = {one["id"]: float(one["id"] == item) for one in given["items"]}
    caller.get("POST", f"/v1/slates/{given['slate_id']}/feedback", {"rewards": likes})

    def told() -> dict[str, Any]:
        one = {"candidates": [item], "allow_repeats": True, "explain": True}
        (found,) = caller.slate("ann", k=1, **one)["items"]
        why: dict[str, Any] = found["explanation"]
        return why

    before, whole = told(), caller.get("GET", f"/v1/items/{item}")
    change = {"genres": ["Western"], "year": 1941, "countries": ["Atlantis"]}
    caller.get("PUT", f"/v1/items/{item}", {"attributes": change})
    after, edited = told(), caller.get("GET", f"/v1/items/{item}")
    assert after["relevance"] < before["relevance"]  # nobody has liked a Western yet
    assert edited["distances"]["genres"] == ["Western"]
    assert (edited["distances"]["years"], edited["attributes"]["year"]) == (1941.0, 1941)
    assert edited["distances"]["features"] != whole["distances"]["features"]
    assert "`attributes.year` must be a number or null, got 'then'" in error(
        caller.send("PUT", f"/v1/items/{item}", {"attributes": {"year": "then"}}), 422
    )


def test_a_film_comes_by_its_facts_alone(caller: Caller) -> None:
    facts = {"genres": ["Horror", "Sci-Fi"], "year": 2014, "countries": ["France"]}
    body = {"title": "Alien 9", "attributes": {**facts, "actors": ["Sigourney Weaver"]}}
    assert caller.get("PUT", "/v1/items/new-1", body) == {"items": ["new-1"]}
    item = caller.get("GET", "/v1/items/new-1")
    names = caller.get("GET", "/v1/catalogue")["features"]
    told = {name for name, value in zip(names, item["features"], strict=True) if value}
    assert {"Horror", "Sci-Fi", "2010s"} <= told
    assert caller.slate("bob", k=1, candidates=["new-1"])["items"][0]["title"] == "Alien 9"
