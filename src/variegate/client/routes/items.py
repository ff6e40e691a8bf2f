"""Items: looked at, added, changed, retired."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from variegate.client.answers import CatalogueFacts, Item, WholeItem
from variegate.client.call import Call, Page
from variegate.client.reading import json_of, part, parts, reading
from variegate.client.requesting import asked, json_body, paged, quoted

_PAGE: Final = 200


def catalogue() -> Call[CatalogueFacts]:
    """Return the names of features, distances and attributes, and the policies."""
    return Call("GET", "/v1/catalogue", reading(CatalogueFacts))


def items(search: str = "") -> Call[Page[Item]]:
    """Give the items whose title or id has a text in it; fetched page by page."""
    return paged(
        Item,
        "items",
        lambda after: asked("/v1/items", search=search, limit=_PAGE, after=after),
    )


def item(item: str) -> Call[WholeItem]:
    """Return all that is known of an item."""
    return Call("GET", f"/v1/items/{quoted('item', item)}", reading(WholeItem))


def add_items(items: Iterable[Mapping[str, Any]]) -> Call[tuple[str, ...]]:
    """Add items, or change known ones: all of them, or none. Needs an admin key.

    Parameters
    ----------
    items
        Each with `id`, and any of `title`, `attributes`, `features` (in order, or by name) and
        `distances`. A known item keeps what is not given; a new one needs features and distances.
    """
    return Call("POST", "/v1/items", _stocked, json_body({"items": [dict(one) for one in items]}))


def change_item(
    item: str,
    *,
    title: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    features: Sequence[float] | Mapping[str, float] | None = None,
    distances: Mapping[str, Any] | None = None,
) -> Call[tuple[str, ...]]:
    """Add or change one item, as `add_items` does; a retired one comes back."""
    data = {
        "title": title,
        "attributes": None if attributes is None else dict(attributes),
        "features": None if features is None else _vector(features),
        "distances": None if distances is None else dict(distances),
    }
    return Call("PUT", f"/v1/items/{quoted('item', item)}", _stocked, json_body(data))


def retire_item(item: str) -> Call[None]:
    """Retire an item: it is in no list any more. Needs an admin key."""
    return Call("DELETE", f"/v1/items/{quoted('item', item)}", lambda _body: None)


def _stocked(body: bytes) -> tuple[str, ...]:
    return parts(str, part(dict, json_of(body)).get("items"), "items")


def _vector(features: Sequence[float] | Mapping[str, float]) -> list[float] | dict[str, float]:
    if isinstance(features, Mapping):
        return {name: float(number) for name, number in features.items()}
    return [float(number) for number in features]
