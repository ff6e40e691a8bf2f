"""What is known of users; their way out, and in."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from tempfile import mkstemp
from typing import IO, Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from variegate.engine import Engine
from variegate.errors import StoreError
from variegate.schemas import (
    ForgottenUser,
    History,
    Id,
    ImportResult,
    User,
)
from variegate.service.responses import answer_of, answered
from variegate.service.routing import admin_router, call_of, client_router

LINES: Final = "application/x-ndjson"
#: Bytes of one import; more users go in several.
MAX_IMPORT_BYTES: Final = 64_000_000
_LINES_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {LINES: {"schema": {"type": "string"}}},
    }
}
_LINES_ANSWER: Final[dict[int | str, Any]] = {
    200: {
        "description": "Lines of JSON.",
        "content": {LINES: {"schema": {"type": "string"}}},
    }
}


def user_routes(engine: Engine) -> list[APIRouter]:
    """Return the routes that are about users."""
    return [_client_routes(engine), _admin_routes(engine)]


def _client_routes(engine: Engine) -> APIRouter:
    router = client_router(tags=["users"])

    @router.get(
        "/users/{user}",
        response_class=Response,
        responses=answer_of(User, "The user."),
    )
    def user(user: Id) -> Response:
        """Say what was learnt of a user, in words and in numbers with intervals."""
        return answered(engine.user(user))

    @router.get(
        "/users/{user}/history",
        response_class=Response,
        responses=answer_of(History, "The user's lists."),
    )
    def history(
        user: Id,
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
        before: Annotated[str | None, Query(min_length=1, max_length=64)] = None,
    ) -> Response:
        """Return a user's lists and what came of them, the newest first."""
        return answered(engine.history(user, limit, before))

    return router


def _admin_routes(engine: Engine) -> APIRouter:
    router = admin_router(tags=["users"])

    @router.delete(
        "/users/{user}",
        response_class=Response,
        responses=answer_of(ForgottenUser, "The user is forgotten."),
    )
    async def forget(user: Id) -> Response:
        """Forget a user wholly: what was learnt, shown and answered."""
        return answered(await engine.forget(user))

    @router.get("/export", response_class=StreamingResponse, responses=_LINES_ANSWER)
    def export() -> StreamingResponse:
        """Return a backup in lines of JSON: a header, changed items, fitted priors, users."""
        lines = engine.export_lines()
        first = next(lines, b"")  # a store that is away is told by a status, not a broken answer
        return StreamingResponse(chain([first], lines), media_type=LINES)

    @router.post(
        "/import",
        response_class=Response,
        responses=answer_of(ImportResult, "The lines were taken in."),
        openapi_extra=_LINES_BODY,
    )
    async def import_(request: Request, replace: bool = False) -> Response:
        """Take in lines that `/v1/export` gave.

        All lines are checked before any is written, then taken in by pieces, each user whole or
        not at all. What is there already with the same content counts as imported.
        """
        call_of(request).max_body = MAX_IMPORT_BYTES
        async with _spooled(request) as path:
            return answered(await engine.import_file(path, replace=replace))

    return router


@asynccontextmanager
async def _spooled(request: Request) -> AsyncIterator[str]:
    """Give the path of a file with the request's body, which is never in memory as a whole."""
    number, path = mkstemp(prefix="variegate-import-")
    try:
        with open(number, "wb") as file:
            async for piece in request.stream():
                await run_in_threadpool(_write, file, piece)
        yield path
    finally:
        os.unlink(path)


def _write(file: IO[bytes], piece: bytes) -> None:
    try:
        file.write(piece)
        file.flush()  # here, where a full disk is answered
    except OSError as error:
        raise StoreError(f"the import cannot be written to a file: {error.strerror}") from None
