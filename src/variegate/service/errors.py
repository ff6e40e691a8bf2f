"""Errors as answers, of one shape: {"error": {"code", "message", "request_id"}}."""

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from variegate.engine.codecs import format_value, replace_surrogates
from variegate.errors import (
    ConflictError,
    DataError,
    InputError,
    NotFoundError,
    OutcomeUnknownError,
    StateError,
    StoreError,
    VariegateError,
)
from variegate.schemas import ErrorResponse

log = logging.getLogger(__name__)

STATUS: Final[Mapping[type[VariegateError], int]] = {
    InputError: 422,
    DataError: 422,
    NotFoundError: 404,
    ConflictError: 409,
    StateError: 409,
    StoreError: 503,
}
#: What a program reads; the message is for people and may change.
CODES: Final[Mapping[int, str]] = {
    400: "malformed",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_type",
    422: "invalid",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
}
#: The code of a 503 after which the change may have been made; "unavailable" means that it was not.
OUTCOME_UNKNOWN: Final = "outcome_unknown"
#: What pydantic puts between the names where a field takes several kinds.
_KIND: Final = re.compile(r"constrained-\w+|(list|dict|nullable|function-\w+)\[.*\]")
INTERNAL: Final = "something went wrong here, not with your request: the log says what"

_UNAVAILABLE: Final = "the service cannot use its store now: try again in a moment"
_UNKNOWN: Final = "the store did not answer: the change may have been made, or not"


#: For the `responses` of routers: OpenAPI's ranges stand for all statuses of a kind.
ERROR_ANSWERS: Final[Mapping[int | str, dict[str, Any]]] = {
    "4XX": {"model": ErrorResponse, "description": "The request will not do."},
    "5XX": {"model": ErrorResponse, "description": "The service cannot answer now; try again."},
}


def error_answer(
    status: int,
    message: str,
    request_id: str,
    headers: Mapping[str, str] | None = None,
    *,
    code: str | None = None,
) -> Response:
    """Return the answer that reports an error; `code` stands in for the one of the status."""
    problem = {
        "code": code or CODES.get(status, f"status_{status}"),
        "message": replace_surrogates(message),
        "request_id": request_id,
    }
    body = json.dumps({"error": problem}, ensure_ascii=False, separators=(",", ":"))
    return Response(body, status, dict(headers or {}), "application/json")


def add_error_handlers(app: FastAPI) -> None:
    """Let each error that a route raises on purpose become its answer."""
    for kind, handle in _HANDLERS.items():
        app.add_exception_handler(kind, handle)


async def answer_to(request: Request, error: Exception) -> Response:
    """Return what the handlers above make of an error; one that none is for is raised again."""
    for kind, handle in _HANDLERS.items():
        if isinstance(error, kind):
            return await handle(request, error)
    raise error


async def _on_own_error(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
    if status < 500:
        return _answer(request, status, str(error))
    if status == 500:
        raise error  # an extra that is not installed: the last resort logs it
    log.warning("the store cannot be used: %s", error)
    is_unknown = isinstance(error, OutcomeUnknownError)
    message = _UNKNOWN if is_unknown else _UNAVAILABLE
    call = request.scope.get("call")
    if call is not None and call.role == "admin":
        message = str(error)  # which may name the store's address, or its file
    code = OUTCOME_UNKNOWN if is_unknown else None
    return _answer(request, status, message, {"Retry-After": "1"}, code=code)


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - for the types: it is registered so
    if error.status_code < 200 or error.status_code in (204, 304):
        return Response(status_code=error.status_code, headers=error.headers)
    message = str(error.detail)
    if error.status_code == 400 and error.__cause__ is not None:
        # FastAPI's way to say that the body could not be read at all.
        message = _unreadable(error.__cause__)
    elif message == _phrase(error.status_code):
        message = _plain_words(request, error.status_code)
    return _answer(request, error.status_code, message, error.headers)


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - for the types
    problems = error.errors()
    if problems[0]["type"] == "json_invalid":
        place = problems[0]["loc"][-1]
        why = problems[0].get("ctx", {}).get("error", "")
        return _answer(request, 400, f"the body must be JSON: {why} at character {place}")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return _answer(request, 422, complaint(_nearest(problems)) + more)


async def _on_deep_nesting(request: Request, _: Exception) -> Response:
    return _answer(request, 400, "the body must be JSON that is nested less deeply")


_HANDLERS: Final[Mapping[type[Exception], Callable[[Request, Any], Awaitable[Response]]]] = {
    VariegateError: _on_own_error,
    HTTPException: _on_refusal,
    RequestValidationError: _on_invalid_request,
    RecursionError: _on_deep_nesting,
}


def _nearest(problems: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the first problem; of a field that takes several kinds, that of the kind that came."""
    first = _named(problems[0]["loc"])
    of_first = (problem for problem in problems if _named(problem["loc"]) == first)
    return next((one for one in of_first if not one["type"].endswith("_type")), problems[0])


def complaint(problem: Mapping[str, Any]) -> str:
    """Return what pydantic found wrong with a field, in this package's words."""
    name, kind = _named(problem["loc"]), problem["type"]
    words = str(problem["msg"]).removeprefix("Value error, ")
    if kind == "missing":
        return f"{name} is missing"
    if kind == "extra_forbidden":
        return f"{name} is not known here"
    if kind == "value_error":
        return words if words.startswith("`") else f"{name}: {words}"
    for before in ("Input should ", "String should ", "List should ", "Dictionary should "):
        if words.startswith(before):
            words = f"must {words.removeprefix(before)}"
            break
    return f"{name} {words[:1].lower()}{words[1:]}, got {format_value(problem.get('input'))}"


def _named(place: Sequence[object]) -> str:
    inner = [str(part)[:80] for part in place[1:] if not _KIND.fullmatch(str(part))]
    return f"`{'.'.join(inner)}`" if inner else f"the {place[0]}" if place else "the request"


def _answer(
    request: Request,
    status: int,
    message: str,
    headers: Mapping[str, str] | None = None,
    *,
    code: str | None = None,
) -> Response:
    call = request.scope.get("call")
    return error_answer(status, message, call.request_id if call else "", headers, code=code)


def _unreadable(cause: BaseException) -> str:
    if isinstance(cause, UnicodeDecodeError):
        return "the body must be JSON in UTF-8"
    if isinstance(cause, RecursionError):
        return "the body must be JSON that is nested less deeply"
    return "the body must be JSON"


def _plain_words(request: Request, status: int) -> str:
    if status == 404:
        return "there is nothing at this path: see /docs"
    if status == 405:
        return f"this path does not take {request.method[:16]}: see /docs"
    return _phrase(status).lower()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "error"
