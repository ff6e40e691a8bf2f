"""Errors as responses of one format: application/problem+json (RFC 9457)."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from variegate.engine.codecs import validation_errors
from variegate.errors import (
    ConflictError,
    DataError,
    InputError,
    NotFoundError,
    OutcomeUnknownError,
    StateError,
    StoreError,
    VariegateError,
    join_problems,
)
from variegate.schemas import Problem
from variegate.service.problems import CONTENT_TYPE, KIND_OF, FieldError, problem

log = logging.getLogger(__name__)

STATUS_CODES: Final[Mapping[type[VariegateError], int]] = {
    InputError: 422,
    DataError: 422,
    NotFoundError: 404,
    ConflictError: 409,
    StateError: 409,
    StoreError: 503,
}
#: The kind of a 503 after which the change may have been made; "unavailable" means that it was not.
OUTCOME_UNKNOWN: Final = "outcome_unknown"
INTERNAL_ERROR: Final = "an internal error, not a fault of the request: see the service's log"


#: For the `responses` of routers, by OpenAPI's ranges of statuses.
ERROR_RESPONSES: Final[Mapping[int | str, dict[str, Any]]] = {
    "4XX": {"model": Problem, "description": "The request is invalid or refused."},
    "5XX": {"model": Problem, "description": "The service cannot respond now; try again."},
}

_UNAVAILABLE: Final = "the service cannot reach its store: try again in a moment"
_OUTCOME_UNKNOWN: Final = "the store did not respond: the change may or may not have been made"


def error_response(
    status: int,
    message: str,
    request_id: str,
    headers: Mapping[str, str] | None = None,
    *,
    kind: str | None = None,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Return the response for an error; `kind` replaces that of the status."""
    content = problem(status, message, request_id, kind=kind, errors=errors)
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return Response(body, status, dict(headers or {}), CONTENT_TYPE)


def add_error_handlers(app: FastAPI) -> None:
    """Register the handlers of all errors that routes raise on purpose."""
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)


async def handle_error(request: Request, error: Exception) -> Response:
    """Return the response of the handler for an error; re-raise it if there is none."""
    for kind, handler in _HANDLERS.items():
        if isinstance(error, kind):
            return await handler(request, error)
    raise error


class ErrorAnswer(NamedTuple):
    """How a caller learns of an error: the status, the kind, the words."""

    status: int
    kind: str
    message: str

    def content(self, request_id: str) -> dict[str, Any]:
        """Return it as a part of a response that has begun."""
        return problem(self.status, self.message, request_id, kind=self.kind)


INTERNAL: Final = ErrorAnswer(500, "internal", INTERNAL_ERROR)


def own_error(error: VariegateError, *, is_admin: bool) -> ErrorAnswer:
    """Return the answer to an error of this package; one that is no answer is raised."""
    status = next((code for kind, code in STATUS_CODES.items() if isinstance(error, kind)), 500)
    if status < 500:
        return ErrorAnswer(status, KIND_OF[status], str(error))
    if status == 500:
        raise error  # an extra that is not installed: the middleware logs it
    log.warning("the store is not available: %s", error)
    is_unknown = isinstance(error, OutcomeUnknownError)
    message = _OUTCOME_UNKNOWN if is_unknown else _UNAVAILABLE
    if is_admin:
        message = str(error)  # which may contain the store's address or file
    return ErrorAnswer(status, OUTCOME_UNKNOWN if is_unknown else KIND_OF[status], message)


async def _handle_own_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, VariegateError)  # noqa: S101 - for the types: it is registered so
    context = request.scope.get("context")
    is_admin = context is not None and context.role == "admin"
    status, kind, message = own_error(error, is_admin=is_admin)
    headers = {"Retry-After": "1"} if status >= 500 else None
    return _response(request, status, message, headers, kind=kind)


async def _handle_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - for the types: it is registered so
    if error.status_code < 200 or error.status_code in (204, 304):
        return Response(status_code=error.status_code, headers=error.headers)
    message = str(error.detail)
    if error.status_code == 400 and error.__cause__ is not None:
        # FastAPI raises this if the body cannot be read at all.
        message = _describe_unreadable(error.__cause__)
    elif message == _phrase(error.status_code):
        message = _describe_status(request, error.status_code)
    return _response(request, error.status_code, message, error.headers)


async def _handle_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - for the types
    problems = error.errors()
    if problems[0]["type"] == "json_invalid":
        position = problems[0]["loc"][-1]
        reason = problems[0].get("ctx", {}).get("error", "")
        return _response(request, 400, f"the body must be JSON: {reason} at character {position}")
    if isinstance(problems[0].get("input"), bytes):  # FastAPI did not parse it
        return _response(request, 415, "the body must be sent as Content-Type: application/json")
    found = [FieldError(*one) for one in validation_errors(problems)]
    message = join_problems([one.detail for one in found])
    return _response(request, 422, message, errors=found)


async def _handle_deep_nesting(request: Request, _: Exception) -> Response:
    return _response(request, 400, "the body must be JSON that is nested less deeply")


_HANDLERS: Final[Mapping[type[Exception], Callable[[Request, Any], Awaitable[Response]]]] = {
    VariegateError: _handle_own_error,
    HTTPException: _handle_http_exception,
    RequestValidationError: _handle_invalid_request,
    RecursionError: _handle_deep_nesting,
}


def _response(
    request: Request,
    status: int,
    message: str,
    headers: Mapping[str, str] | None = None,
    *,
    kind: str | None = None,
    errors: Sequence[FieldError] = (),
) -> Response:
    context = request.scope.get("context")
    request_id = context.request_id if context else ""
    return error_response(status, message, request_id, headers, kind=kind, errors=errors)


def _describe_unreadable(cause: BaseException) -> str:
    if isinstance(cause, UnicodeDecodeError):
        return "the body must be JSON in UTF-8"
    if isinstance(cause, RecursionError):
        return "the body must be JSON that is nested less deeply"
    return "the body must be JSON"


def _describe_status(request: Request, status: int) -> str:
    if status == 404:
        return "there is nothing at this path: see /docs"
    if status == 405:
        return f"this path does not accept {request.method[:16]}: see /docs"
    return _phrase(status).lower()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "error"
