"""Items: read, added, changed, retired."""

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Response

from variegate.engine import Engine
from variegate.errors import InputError
from variegate.schemas import (
    CatalogueInfo,
    Id,
    ItemData,
    ItemDetails,
    ItemPage,
    ItemsRequest,
    RetiredItem,
    UpsertedItems,
)
from variegate.service.responses import json_response, returns
from variegate.service.routes.item_import import item_import_router
from variegate.service.routing import admin_router, read_router

_WHERE: Final = 'A condition on their attributes, as JSON: {"attribute": "price", "<=": 20}.'


def item_routers(engine: Engine) -> list[APIRouter]:
    """Return the routes for items."""
    return [_client_routes(engine), item_import_router(engine), _admin_routes(engine)]


def _client_routes(engine: Engine) -> APIRouter:
    router = read_router(tags=["items"])

    @router.get("/catalogue", **returns(CatalogueInfo, "Names in the catalogue."))
    def catalogue() -> Response:
        """Return the names of features, distances and attributes, and the policies."""
        return json_response(engine.catalogue())

    @router.get("/items", **returns(ItemPage, "A page of items."))
    def items(
        search: Annotated[str, Query(max_length=200)] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
        after: Annotated[int, Query(ge=0, le=2**31)] = 0,
        where: Annotated[str | None, Query(max_length=10_000, description=_WHERE)] = None,
    ) -> Response:
        """Return the items that meet a condition and whose title or id contains a text."""
        return json_response(engine.items(search, limit, after, _condition(where)))

    @router.get("/items/{item:path}", **returns(ItemDetails, "The item."))
    def item(item: Id) -> Response:
        """Return an item with all its data."""
        return json_response(engine.item(item))

    return router


def _admin_routes(engine: Engine) -> APIRouter:
    router = admin_router(tags=["items"])

    @router.post("/items", **returns(UpsertedItems, "The items were added or changed."))
    async def upsert_items(body: ItemsRequest) -> Response:
        """Add or change items, all of them or none. The next slate may contain them."""
        items = [item.model_dump(exclude_none=True) for item in body.items]
        return json_response(await engine.upsert_items(items))

    @router.put("/items/{item:path}", **returns(UpsertedItems, "The item was added or changed."))
    async def upsert_item(item: Id, body: ItemData) -> Response:
        """Add or change one item; a retired item becomes active again."""
        data = {"id": item, **body.model_dump(exclude_none=True)}
        return json_response(await engine.upsert_items([data]))

    @router.patch("/items/{item:path}", **returns(UpsertedItems, "The item was changed."))
    async def change_item(item: Id, body: ItemData) -> Response:
        """Change one item; what is left out stays, and so does whether it is retired."""
        data = {"id": item, **body.model_dump(exclude_none=True)}
        return json_response(await engine.upsert_items([data], patch=True))

    @router.delete("/items/{item:path}", **returns(RetiredItem, "The item was retired."))
    async def retire_item(item: Id) -> Response:
        """Retire an item: it is in no further slate. What was learnt from it stays."""
        return json_response(await engine.retire_item(item))

    return router


def _condition(where: str | None) -> Any:
    if where is None:
        return None
    try:
        return json.loads(where)
    except ValueError as error:
        raise InputError(f"`where` must be JSON: {error}") from None
