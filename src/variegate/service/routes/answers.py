"""Answers that were worked out in full, so that nothing looks at them again."""

import json
from typing import Any, Final

from fastapi import Response
from pydantic import BaseModel

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def answered(content: Any, status: int = 200) -> Response:
    """Return what the core gave as JSON; `answer_of` tells OpenAPI what that is."""
    return Response(_encode(content).encode(), status, media_type="application/json")


def answer_of(model: type[BaseModel], about: str, status: int = 200) -> dict[int | str, Any]:
    """Return a route's `responses` for an answer that `answered` gives."""
    return {status: {"model": model, "description": about}}
