"""What is known of users; their way out, and in."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from variegate.errors import InputError
from variegate.service.access import admin_router, call_of, client_router
from variegate.service.desk import Desk
from variegate.service.routes.answers import answer_of, answered
from variegate.service.wire import HistoryAnswer, UserAnswer, UserId
from variegate.service.wire_done import ForgottenAnswer, ImportedAnswer

LINES: Final = "application/x-ndjson"
#: Bytes of one import; more users go in several.
MOST_IMPORTED: Final = 64_000_000
_LINES_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {LINES: {"schema": {"type": "string"}}},
    }
}
_LINES_ANSWER: Final[dict[int | str, Any]] = {
    200: {
        "description": "A line of JSON for each user.",
        "content": {LINES: {"schema": {"type": "string"}}},
    }
}


def user_routes(desk: Desk) -> list[APIRouter]:
    """Return the routes that are about users."""
    return [_client_routes(desk), _admin_routes(desk)]


def _client_routes(desk: Desk) -> APIRouter:
    router = client_router(tags=["users"])

    @router.get(
        "/users/{user}",
        response_class=Response,
        responses=answer_of(UserAnswer, "The user."),
    )
    def user(user: UserId) -> Response:
        """Say what was learnt of a user, in words and in numbers with intervals."""
        return answered(desk.user(user))

    @router.get(
        "/users/{user}/history",
        response_class=Response,
        responses=answer_of(HistoryAnswer, "The user's lists."),
    )
    def history(
        user: UserId,
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
        before: Annotated[str | None, Query(min_length=1, max_length=64)] = None,
    ) -> Response:
        """Return a user's lists and what came of them, the newest first."""
        return answered(desk.history(user, limit, before))

    return router


def _admin_routes(desk: Desk) -> APIRouter:
    router = admin_router(tags=["users"])

    @router.delete(
        "/users/{user}",
        response_class=Response,
        responses=answer_of(ForgottenAnswer, "The user is forgotten."),
    )
    async def forget(user: UserId) -> Response:
        """Forget a user wholly: what was learnt, shown and answered."""
        return answered(await desk.forget(user))

    @router.get("/export", response_class=StreamingResponse, responses=_LINES_ANSWER)
    def export() -> StreamingResponse:
        """Return every user, one line of JSON each: all that is known of them."""
        lines = _lines(desk)
        first = next(lines, b"")  # a store that is away is told by a status, not a broken answer
        return StreamingResponse(chain([first], lines), media_type=LINES)

    @router.post(
        "/import",
        response_class=Response,
        responses=answer_of(ImportedAnswer, "The users are here."),
        openapi_extra=_LINES_BODY,
    )
    async def import_(request: Request, replace: bool = False) -> Response:
        """Take in users that `/v1/export` gave, all of them or none."""
        call_of(request).max_body = MOST_IMPORTED
        users = await run_in_threadpool(_parsed, await request.body())
        return answered(await desk.import_users(users, replace=replace))

    return router


def _lines(desk: Desk) -> Iterator[bytes]:
    for user in desk.exported():
        text = json.dumps(user, allow_nan=False, separators=(",", ":"))
        yield text.encode() + b"\n"


def _parsed(body: bytes) -> list[dict[str, Any]]:
    users = []
    for number, line in enumerate(body.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            user = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(f"line {number} must be JSON as /v1/export gave it") from None
        if not isinstance(user, dict):
            raise InputError(f"line {number} must be an object, got {type(user).__name__}")
        users.append(user)
    return users
