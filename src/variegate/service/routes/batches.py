"""Slates for many users in one request, answered line by line as they are made."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from variegate.engine import Engine, RecommendRequest
from variegate.errors import VariegateError
from variegate.schemas import BatchRequest
from variegate.service.errors import INTERNAL, own_error
from variegate.service.responses import serialise
from variegate.service.routes.slates import IdempotencyKey, checked_request
from variegate.service.routing import RequestContext, request_context, write_router

LINES: Final = "application/x-ndjson"
#: Slates of one batch that wait for the engine at once, so that others need not wait for all.
MAX_WAITING: Final = 16
_RESPONSE: Final[dict[int | str, Any]] = {
    200: {
        "description": "Lines of JSON, one per user, as they are made: a Slate, or an object with "
        "`user` and `error`.",
        "content": {LINES: {"schema": {"type": "string", "format": "binary"}}},
    }
}

_log = logging.getLogger(__name__)


def batch_router(engine: Engine) -> APIRouter:
    """Return the route for slates of many users."""
    router = write_router(tags=["slates"])

    @router.post("/slates", response_class=StreamingResponse, responses=_RESPONSE)
    async def recommend_many(
        request: Request, body: BatchRequest, idempotency_key: IdempotencyKey = None
    ) -> StreamingResponse:
        """Recommend a slate to each of up to 1,000 users, with the same options.

        Each line is sent after its slate is stored. A user whose slate cannot be made does not
        stop the others. The key is each user's: the same request again returns the same slates.
        """
        first = await checked_request(engine, body.users[0], body, idempotency_key)
        # What is wrong for every user is refused at once, before anything is made.
        await run_in_threadpool(engine.check_request, first)
        asked = [first._replace(user=user) for user in body.users]
        return StreamingResponse(
            slate_lines(engine, asked, request_context(request)), media_type=LINES
        )

    return router


async def slate_lines(
    engine: Engine, asked: Sequence[RecommendRequest], context: RequestContext
) -> AsyncIterator[bytes]:
    """Yield the line of each user as soon as their slate is stored.

    If the client is gone, no further slates are begun.
    """
    waiting = set[asyncio.Task[bytes]]()
    following = iter(asked)
    try:
        while True:
            for request in following:
                waiting.add(asyncio.create_task(_line(engine, request, context)))
                if len(waiting) == MAX_WAITING:
                    break
            if not waiting:
                return
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in waiting:
            task.cancel()


async def _line(engine: Engine, request: RecommendRequest, context: RequestContext) -> bytes:
    try:
        return serialise(await engine.recommend(request)) + b"\n"
    except VariegateError as error:
        answer = own_error(error, is_admin=context.role == "admin")
    except Exception:  # a bug must not cost the other users their slates
        _log.exception("a slate of a batch could not be made")
        answer = INTERNAL
    content = {"user": request.user, "error": answer.content(context.request_id)}
    return serialise(content) + b"\n"
