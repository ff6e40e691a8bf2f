"""Answers that were worked out in full, so that nothing looks at them again."""

from typing import Any

from fastapi import Response
from pydantic import BaseModel
from pydantic_core import to_json


def answered(content: Any, status: int = 200) -> Response:
    """Return what the core gave as JSON; `answer_of` tells OpenAPI what that is."""
    return Response(to_json(content), status, media_type="application/json")


def answer_of(model: type[BaseModel], about: str, status: int = 200) -> dict[int | str, Any]:
    """Return a route's `responses` for an answer that `answered` gives."""
    return {status: {"model": model, "description": about}}
