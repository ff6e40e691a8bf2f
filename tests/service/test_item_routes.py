"""Items over HTTP by their attributes: what the encoder makes of them, PATCH, and retiring."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.service.caller import Caller, error
from tests.service.whole import service
from variegate.data.build import content_catalogue
from variegate.model.item_table import ItemTable


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    ids = tuple(f"b{number}" for number in range(12))
    catalogue = content_catalogue(
        ItemTable(
            ids,
            tuple(map(str.upper, ids)),
            numbers={"price": np.arange(10.0, 130.0, 10.0)},
            categories={"maker": ("us", "them", "they") * 4},
            lists={"tags": (("war",), ("art", "new"), ("sea",)) * 4},
        )
    )
    with service(tmp_path_factory.mktemp("shop"), items=catalogue) as parts:
        yield Caller(*parts)


def features(shop: Caller, item: str) -> dict[str, float]:
    names = shop.get("GET", "/v1/catalogue")["features"]
    return dict(zip(names, shop.get("GET", f"/v1/items/{item}")["features"], strict=True))


def test_edited_price_changes_what_the_learner_sees(shop: Caller) -> None:
    before = features(shop, "b0")

    shop.get("PATCH", "/v1/items/b0", {"attributes": {"price": 120}})

    after = features(shop, "b0")
    assert {name for name in after if after[name] != before[name]} == {"price"}
    assert after["price"] == features(shop, "b11")["price"]
    assert shop.get("GET", "/v1/items/b0")["distances"]["price"] > 100


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"price": None, "tags": ["war"]}, {"price": 0.0}),  # missing: the middle
        ({"price": 1e9, "tags": ["war"]}, {"price": "highest"}),  # an outlier: the nearest end
        ({"tags": ["yoga"], "price": 10}, {"war": 0.0, "art": 0.0, "sea": 0.0}),  # unknown labels
        ({"maker": "nobody", "price": 10}, {"maker: us": 0.0, "maker: them": 0.0}),
    ],
)
def test_new_item_is_encoded_as_documented(
    shop: Caller, attributes: dict[str, Any], expected: dict[str, Any]
) -> None:
    shop.get("POST", "/v1/items", {"items": [{"id": "n", "attributes": attributes}]})

    found, highest = features(shop, "n"), features(shop, "b11")["price"]
    for name, value in expected.items():
        assert found[name] == (highest if value == "highest" else value)
    stored = shop.get("GET", "/v1/items/n")["attributes"]
    assert {name: stored[name] for name in attributes} == attributes
    assert shop.slate("ann", k=1, candidates=["n"], allow_repeats=True)["items"][0]["id"] == "n"


def test_null_makes_an_attribute_unknown(shop: Caller) -> None:
    shop.get("PATCH", "/v1/items/b4", {"attributes": {"maker": None}})

    assert shop.get("GET", "/v1/items/b4")["attributes"]["maker"] is None
    assert [features(shop, "b4")[f"maker: {name}"] for name in ("us", "them", "they")] == [0.0] * 3


def test_patch_keeps_features_that_are_not_named_and_put_does_not(shop: Caller) -> None:
    before = features(shop, "b5")

    shop.get("PATCH", "/v1/items/b5", {"features": {"price": 0.25}})
    assert features(shop, "b5") == {**before, "price": 0.25}

    shop.get("PUT", "/v1/items/b5", {"features": {"price": 0.5}})
    assert features(shop, "b5") == {**dict.fromkeys(before, 0.0), "price": 0.5}


def test_patch_keeps_an_item_retired_and_put_does_not(shop: Caller) -> None:
    shop.get("PATCH", "/v1/items/b6", {"retired": True})
    shop.get("PATCH", "/v1/items/b6", {"attributes": {"price": 15}})
    assert shop.get("GET", "/v1/items/b6")["retired"] is True

    shop.get("PATCH", "/v1/items/b6", {"retired": False})
    kept = shop.get("GET", "/v1/items/b6")
    assert (kept["retired"], kept["attributes"]["price"]) == (False, 15)

    shop.get("DELETE", "/v1/items/b6")
    shop.get("PUT", "/v1/items/b6", {"title": "Again"})
    assert shop.get("GET", "/v1/items/b6")["retired"] is False


def test_many_items_can_be_retired_in_one_request(shop: Caller) -> None:
    items = [{"id": f"b{number}", "retired": True} for number in (7, 8)]
    shop.get("POST", "/v1/items", {"items": items})

    shown = shop.slate("bob", k=12)["items"]

    assert {"b7", "b8"}.isdisjoint(item["id"] for item in shown)
    shop.get("POST", "/v1/items", {"items": [{"id": "b7"}, {"id": "b8"}]})
    assert not shop.get("GET", "/v1/items/b7")["retired"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("PATCH", "nothing", {"title": "N"}, 404, "no item 'nothing': POST and PUT add items"),
        ("PATCH", "b1", {"attributes": {"price": "dear"}}, 422, "`attributes.price` must be a num"),
        ("PATCH", "b1", {"attributes": {"colour": "red"}}, 422, "`attributes` must be among"),
        ("PATCH", "b1", {"features": {"fame": 1}}, 422, "`features` must be among"),
        ("PATCH", "b1", {"retired": "yes"}, 422, "`retired` must be a valid boolean"),
        ("PUT", "n2", {"attributes": {"tags": []}}, 422, "must have a known value for item 'n2'"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    shop: Caller, method: str, path: str, body: dict[str, Any], status: int, words: str
) -> None:
    before = shop.get("GET", "/v1/items/b1")

    assert words in error(shop.send(method, f"/v1/items/{path}", body), status)

    assert shop.get("GET", "/v1/items/b1") == before


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (
            "/v1/items?serach=b1",
            "`serach` is unknown: the query may have search, limit, after, where",
        ),
        ("/v1/catalogue?all", "`all` is unknown: the query must be empty"),
        ("/v1/items?limit=1&q=1&p=2", "`q` is unknown: "),
    ],
)
def test_unknown_names_in_a_query_are_refused(shop: Caller, path: str, words: str) -> None:
    found = error(shop.send("GET", path), 422)

    assert words in found
    assert ("`p` is unknown: " in found) == ("p=" in path)


def test_an_id_in_the_query_is_no_unknown_name(shop: Caller) -> None:
    assert shop.get("GET", "/v1/items/~?id=b1")["id"] == "b1"
