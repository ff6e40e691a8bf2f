"""Users: what was learnt about them, their history, deletion, export and import."""

from itertools import chain
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from variegate.engine import Engine, Interaction
from variegate.errors import InputError
from variegate.schemas import (
    EventRequest,
    EventResult,
    ForgottenUser,
    History,
    Id,
    ImportResult,
    User,
)
from variegate.service.responses import json_response, returns
from variegate.service.routes.slates import IdempotencyKey
from variegate.service.routing import admin_router, read_router, request_context, write_router
from variegate.service.uploads import spooled

LINES: Final = "application/x-ndjson"
#: Maximum bytes of one import; more users need several.
MAX_IMPORT_BYTES: Final = 64_000_000
#: As `format: binary` generated clients take and return a file, not a decoded string.
_BINARY: Final = {"schema": {"type": "string", "format": "binary"}}
_LINES_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {LINES: _BINARY},
    }
}
_LINES_RESPONSE: Final[dict[int | str, Any]] = {
    200: {
        "description": "Lines of JSON.",
        "content": {LINES: _BINARY},
    }
}


def user_routers(engine: Engine) -> list[APIRouter]:
    """Return the routes for users."""
    return [_read_routes(engine), _write_routes(engine), _admin_routes(engine)]


def _read_routes(engine: Engine) -> APIRouter:
    router = read_router(tags=["users"])

    @router.get("/users/{user}", **returns(User, "The user."))
    def user(user: Id) -> Response:
        """Return what was learnt about a user, in words and in numbers with intervals."""
        return json_response(engine.user(user))

    @router.get("/users/{user}/history", **returns(History, "A page of the user's slates."))
    def history(
        user: Id,
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
        before: Annotated[str | None, Query(min_length=1, max_length=64)] = None,
    ) -> Response:
        """Return a user's slates and their feedback, newest first."""
        return json_response(engine.history(user, limit, before))

    return router


def _write_routes(engine: Engine) -> APIRouter:
    router = write_router(tags=["users"])

    @router.post("/users/{user}/events", **returns(EventResult, "The result."))
    async def event(
        user: Id, body: EventRequest, idempotency_key: IdempotencyKey = None
    ) -> Response:
        """Learn what a user likes from what they did outside slates, such as a purchase.

        The user need not exist yet. The same event again changes nothing; its id is `event` or the
        header `Idempotency-Key`.
        """
        if body.event is not None and idempotency_key not in (None, body.event):
            raise InputError(
                f"`Idempotency-Key` must be absent or the same as `event` {body.event!r}, got "
                f"{idempotency_key!r}"
            )
        one = Interaction(
            body.rewards,
            body.event or idempotency_key,
            None if body.time is None else body.time.timestamp(),
            body.allow_repeats,
        )
        return json_response(await engine.learn(user, one))

    return router


def _admin_routes(engine: Engine) -> APIRouter:
    router = admin_router(tags=["users"])

    @router.delete("/users/{user}", **returns(ForgottenUser, "The user's data was deleted."))
    async def forget(user: Id) -> Response:
        """Delete all data about a user: what was learnt, slates and feedback."""
        return json_response(await engine.forget(user))

    @router.get("/export", response_class=StreamingResponse, responses=_LINES_RESPONSE)
    def export() -> StreamingResponse:
        """Return a backup as lines of JSON: a header, changed items, fitted priors, users."""
        lines = engine.export_lines()
        first = next(lines, b"")  # so that an error of the store has a status
        return StreamingResponse(chain([first], lines), media_type=LINES)

    @router.post(
        "/import",
        **returns(ImportResult, "The lines were imported."),
        openapi_extra=_LINES_BODY,
    )
    async def import_(request: Request, replace: bool = False) -> Response:
        """Import the lines of `/v1/export`.

        All lines are checked before any is written. They are imported in pieces, each user as a
        whole or not at all. Existing data with the same content counts as imported.
        """
        request_context(request).max_body = MAX_IMPORT_BYTES
        async with spooled(request) as path:
            return json_response(await engine.import_file(path, replace=replace))

    return router
