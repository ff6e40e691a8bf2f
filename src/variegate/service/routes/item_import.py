"""Many items in one request, answered line by line as they are written."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from variegate.engine import Engine
from variegate.engine.bulk_items import ItemImport, RejectedLine
from variegate.engine.item_lines import CsvColumns
from variegate.errors import VariegateError
from variegate.service.errors import INTERNAL, own_error
from variegate.service.responses import serialise
from variegate.service.routing import RequestContext, admin_router, request_context
from variegate.service.uploads import spooled

LINES: Final = "application/x-ndjson"
CSV: Final = "text/csv"
#: Maximum bytes of one import: some hundred thousand items.
MAX_ITEMS_BYTES: Final = 256_000_000
_BINARY: Final = {"schema": {"type": "string", "format": "binary"}}
_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        # Lines are last: generated clients that support one content type take the last.
        "content": dict.fromkeys((CSV, LINES), _BINARY),
    }
}
_RESPONSE: Final[dict[int | str, Any]] = {
    200: {
        "description": "Lines of JSON: RejectedItem for each line that is not used, ItemsProgress "
        "after each piece and at the end, or an object with `error`.",
        "content": {LINES: _BINARY},
    }
}

_log = logging.getLogger(__name__)


def item_import_router(engine: Engine) -> APIRouter:
    """Return the route for many items."""
    router = admin_router(tags=["items"])

    @router.post(
        "/items/import",
        response_class=StreamingResponse,
        responses=_RESPONSE,
        openapi_extra=_BODY,
    )
    async def import_items(
        request: Request,
        id_column: Annotated[str, Query(max_length=200)] = "id",
        title_column: Annotated[str | None, Query(max_length=200)] = None,
        separator: Annotated[str, Query(max_length=1)] = ",",
        list_separator: Annotated[str, Query(max_length=10)] = "|",
    ) -> StreamingResponse:
        """Add or change the items of a file: lines of JSON, or CSV with a header.

        A line of JSON is an item as `POST /v1/items` takes it; `{"id": "p1", "retired": true}`
        retires one. Columns of CSV are attributes, except those of the ids and titles. A line
        that is invalid does not stop the others. The same request again changes nothing, so that
        a broken one is sent again. Slates are made of the items as they were until the last line
        of the answer.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (LINES, CSV):
            raise HTTPException(415, f"the body must be {LINES} or {CSV}, got {kind[:80]!r}")
        request_context(request).max_body = MAX_ITEMS_BYTES
        columns = None
        if kind == CSV:
            columns = CsvColumns(id_column, title_column, separator, list_separator)
        stack = AsyncExitStack()
        async with stack:
            path = await stack.enter_async_context(spooled(request))
            work = await run_in_threadpool(engine.item_import, path, columns)
            stack.push_async_callback(work.show)  # also what was written when the client is gone
            return _ImportResponse(work, request_context(request), stack.pop_all())

    return router


class _ImportResponse(StreamingResponse):
    """The lines of the answer; then what the import needs is closed, whatever happened."""

    def __init__(
        self, work: ItemImport, context: RequestContext, resources: AsyncExitStack
    ) -> None:
        super().__init__(import_lines(work, context), media_type=LINES)
        self._resources = resources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._resources:
            await super().__call__(scope, receive, send)


async def import_lines(work: ItemImport, context: RequestContext) -> AsyncIterator[bytes]:
    """Yield the lines of the answer."""
    try:
        async for event in work.run():
            is_rejected = isinstance(event, RejectedLine)
            content = asdict(event) if is_rejected else asdict(event) | {"done": False}
            yield serialise(content) + b"\n"
        yield serialise(asdict(work.counts) | {"done": True} | _ignored(work)) + b"\n"
        return
    except VariegateError as error:
        answer = own_error(error, is_admin=context.role == "admin")
    except Exception:  # the answer has begun: what is written stays, and can be sent again
        _log.exception("an import of items failed")
        answer = INTERNAL
    yield serialise({"error": answer.content(context.request_id)}) + b"\n"


def _ignored(work: ItemImport) -> dict[str, Any]:
    return {"ignored_columns": work.ignored_columns} if work.ignored_columns else {}
