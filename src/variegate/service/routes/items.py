"""Items: looked at, added, changed, retired."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from variegate.engine import Engine
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
from variegate.service.responses import answer_of, answered
from variegate.service.routing import admin_router, client_router


def item_routes(engine: Engine) -> list[APIRouter]:
    """Return the routes that are about items."""
    return [_client_routes(engine), _admin_routes(engine)]


def _client_routes(engine: Engine) -> APIRouter:
    router = client_router(tags=["items"])

    @router.get(
        "/catalogue",
        response_class=Response,
        responses=answer_of(CatalogueInfo, "What items are described by."),
    )
    def catalogue() -> Response:
        """Return the names of features, distances and attributes, and the policies."""
        return answered(engine.catalogue())

    @router.get(
        "/items",
        response_class=Response,
        responses=answer_of(ItemPage, "Items that were found."),
    )
    def items(
        search: Annotated[str, Query(max_length=200)] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
        after: Annotated[int, Query(ge=0, le=2**31)] = 0,
    ) -> Response:
        """Return items whose title or id has a text in it."""
        return answered(engine.items(search, limit, after))

    @router.get(
        "/items/{item:path}",
        response_class=Response,
        responses=answer_of(ItemDetails, "The item."),
    )
    def item(item: Id) -> Response:
        """Return all that is known of an item."""
        return answered(engine.item(item))

    return router


def _admin_routes(engine: Engine) -> APIRouter:
    router = admin_router(tags=["items"])

    @router.post(
        "/items", response_class=Response, responses=answer_of(UpsertedItems, "They are there.")
    )
    async def snapshot(body: ItemsRequest) -> Response:
        """Add items, or change known ones: all of them, or none. The next list knows them."""
        wishes = [one.model_dump(exclude_none=True) for one in body.items]
        return answered(await engine.upsert_items(wishes))

    @router.put(
        "/items/{item:path}",
        response_class=Response,
        responses=answer_of(UpsertedItems, "It is there."),
    )
    async def put(item: Id, body: ItemData) -> Response:
        """Add or change one item; a retired one comes back."""
        return answered(
            await engine.upsert_items([{"id": item, **body.model_dump(exclude_none=True)}])
        )

    @router.delete(
        "/items/{item:path}",
        response_class=Response,
        responses=answer_of(RetiredItem, "It is gone."),
    )
    async def retire(item: Id) -> Response:
        """Retire an item: it is in no list any more. What was learnt from it stays learnt."""
        return answered(await engine.retire_item(item))

    return router
