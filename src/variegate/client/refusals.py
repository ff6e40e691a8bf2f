"""Answers that tell of an error, and silence, as the package's errors."""

import json
from collections.abc import Mapping
from typing import Final

from variegate.client.call import Call, Outcome, Reply
from variegate.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    OutcomeUnknownError,
    StoreError,
    VariegateError,
)

_KINDS: Final[Mapping[int, type[VariegateError]]] = {404: NotFoundError, 409: ConflictError}


def error_of(
    outcome: Outcome, call: Call[object], attempts: int, *, may_be_done: bool
) -> VariegateError:
    """Return the error to raise for a call that failed.

    Parameters
    ----------
    may_be_done
        Whether any of the attempts may have been carried out.
    """
    tried = f" ({attempts} attempts)" if attempts > 1 else ""
    failed = OutcomeUnknownError if may_be_done and call.changes else StoreError
    if not isinstance(outcome, Reply):
        return failed(f"no answer to {call.method} {call.path:.200}: {outcome.why}{tried}")
    message = said_by(outcome) or (
        f"{call.method} {call.path:.200} was answered with status {outcome.status} and without "
        "the service's words: `url` must be the address of a variegate service"
    )
    if outcome.status in (401, 403):
        message = f"`key`: {message}"
    if outcome.status == 429 or outcome.status >= 500:
        return failed(message + tried)
    return _KINDS.get(outcome.status, InputError)(message)


def said_by(reply: Reply) -> str:
    """Return the service's own message and the request's id; "" where it is not the service's.

    Examples
    --------
    >>> said_by(Reply(404, b'{"error": {"message": "no user", "request_id": "a-1"}}'))
    'no user (request a-1)'
    >>> said_by(Reply(502, b"<html>"))
    ''
    """
    try:
        problem = json.loads(reply.body)["error"]
        return f"{problem['message']} (request {problem['request_id']})"
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def code_of(reply: Reply) -> str:
    """Return the service's code of an error; "" where the answer is not the service's.

    Examples
    --------
    >>> code_of(Reply(503, b'{"error": {"code": "unavailable", "message": "", "request_id": ""}}'))
    'unavailable'
    >>> code_of(Reply(503, b"<html>"))
    ''
    """
    try:
        code = json.loads(reply.body)["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return code if isinstance(code, str) else ""
