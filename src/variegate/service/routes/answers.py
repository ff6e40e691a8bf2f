"""Answers that were worked out in full, so that nothing looks at them again."""

import json
from collections.abc import Callable, Hashable
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel
from pydantic_core import to_json

from variegate.errors import StateError
from variegate.service.small_pool import SmallPool


class JsonAnswer(Response):
    """JSON that is written already, with the two headers that it needs and no others."""

    def __init__(self, body: bytes, status: int) -> None:
        self.body, self.status_code, self.background = body, status, None
        length = (b"content-length", str(len(body)).encode())
        self.raw_headers = [length, (b"content-type", b"application/json")]


def answered(content: Any, status: int = 200) -> Response:
    """Return what the core gave as JSON; `answer_of` tells OpenAPI what that is."""
    return JsonAnswer(_written(content), status)


def _written(content: Any) -> bytes:
    body = to_json(content)
    # The writer has no mode that refuses them, and a text may well have these letters.
    if b"NaN" in body or b"Infinity" in body:
        json.loads(body, parse_constant=_refused)
    return body


def _refused(number: str) -> None:
    raise StateError(f"an answer must have finite numbers, got {number}: JSON has no other")


async def worked_out(
    pool: SmallPool, request: Request, question: Hashable, work: Callable[[], Any]
) -> Response:
    """Return what takes a while as JSON: worked out in a pool, for all who ask the same now."""
    return JsonAnswer(await pool.answer(request, question, lambda: _written(work())), 200)


def answer_of(model: type[BaseModel], about: str, status: int = 200) -> dict[int | str, Any]:
    """Return a route's `responses` for an answer that `answered` gives."""
    return {status: {"model": model, "description": about}}
