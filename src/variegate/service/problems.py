"""The kinds of errors, which `type` of a response names (RFC 9457), and what to do about each."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from variegate.engine.codecs import replace_surrogates

CONTENT_TYPE: Final = "application/problem+json"
#: Where each kind is described; a kind is the last segment of `type`.
PATH: Final = "/problems/"
#: The type of a status that has no kind of its own.
BLANK: Final = "about:blank"


class Kind(NamedTuple):
    """A kind of errors: their status, what they have in common, and what to do."""

    status: int
    title: str
    advice: str


KINDS: Final[Mapping[str, Kind]] = {
    "malformed": Kind(400, "Not JSON", "Send JSON in UTF-8."),
    "unauthenticated": Kind(401, "No valid key", "Send a key."),
    "forbidden": Kind(403, "Not permitted", "Send a key with the required role."),
    "not_found": Kind(404, "Not found", "Check the id or the path."),
    "method_not_allowed": Kind(405, "Method not allowed", "See /docs."),
    "timeout": Kind(408, "Body too slow", "Send the body faster."),
    "conflict": Kind(409, "Conflict", "The request contradicts stored data: see `detail`."),
    "too_large": Kind(413, "Body too large", "Send less per request (`max_body`)."),
    "unsupported_type": Kind(415, "Unsupported content type", "Send the type that `detail` names."),
    "invalid": Kind(422, "Invalid request", "Correct the fields that `errors` or `detail` name."),
    "rate_limited": Kind(
        429,
        "Too many requests",
        "Wait for `Retry-After` (above `rate`, or too many slow requests at once).",
    ),
    "internal": Kind(500, "Internal error", "A fault of the service: see its log."),
    "unavailable": Kind(503, "Unavailable", "Nothing was changed: try again after `Retry-After`."),
    "outcome_unknown": Kind(
        503,
        "Outcome unknown",
        "The change may have been made: repeat it if it is idempotent, or check first.",
    ),
}
#: The kind of each status; of the two of 503, the one that changed nothing.
KIND_OF: Final = {kind.status: name for name, kind in reversed(list(KINDS.items()))}


class FieldError(NamedTuple):
    """What is wrong with one field of a request."""

    field: str
    detail: str


def problem(
    status: int,
    detail: str,
    request_id: str,
    *,
    kind: str | None = None,
    errors: Sequence[FieldError] = (),
) -> dict[str, Any]:
    """Return the content of an error; `kind` replaces that of the status."""
    name = kind or KIND_OF.get(status)
    content = {
        "type": BLANK if name is None else PATH + name,
        "title": f"Status {status}" if name is None else KINDS[name].title,
        "status": status,
        "detail": replace_surrogates(detail),
        "request_id": request_id,
    }
    if errors:
        content["errors"] = [
            {"field": one.field, "detail": replace_surrogates(one.detail)} for one in errors
        ]
    return content
