"""How the clients write requests: ids in paths, queries, bodies; InputError names the argument."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from math import isnan
from typing import Any, Final, TypedDict
from urllib.parse import quote, urlencode
from uuid import uuid4

from variegate.errors import InputError
from variegate.schemas import Constraints, Diversity

_IDEMPOTENCY_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")
#: Bytes of an import per request; the service accepts 64 million.
_IMPORT_BYTES: Final = 4_000_000


def quote_id(name: str, text: object) -> str:
    """Return an id as one segment of a path, or raise InputError.

    Examples
    --------
    >>> quote_id("user", "ana b?"), quote_id("user", "a/b"), quote_id("user", "..")
    ('ana%20b%3F', 'a%2Fb', '%2E%2E')
    """
    if not isinstance(text, str) or not text:
        raise InputError(f"`{name}` must be text, got {text!r:.80}")
    if not text.strip("."):
        return "%2E" * len(text)  # `.` and `..` would be resolved
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise InputError(f"`{name}` must be text that UTF-8 can hold, got {text!r:.80}") from None


def with_query(path: str, **query: str | int | None) -> str:
    """Return a path with a query of the values that are not None."""
    values = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(values)}" if values else path


def id_list(name: str, ids: Iterable[str]) -> list[str]:
    """Return ids as a list, or raise InputError for a single text."""
    if isinstance(ids, str):
        raise InputError(f"`{name}` must be several ids, got the text {ids!r:.80}")
    return list(ids)


def checked_key(key: str | None) -> str:
    """Return the idempotency key of a call, a new one by default, or raise InputError."""
    if key is None:
        return str(uuid4())
    if not _IDEMPOTENCY_KEY.fullmatch(key):
        raise InputError(
            "`idempotency_key` must be 1 to 200 printable ASCII characters without spaces, "
            f"got {key!r:.80}"
        )
    return key


def reward_numbers(rewards: Mapping[str, float]) -> dict[str, float]:
    """Return rewards as JSON has them, or raise InputError."""
    try:
        return {item: float(reward) for item, reward in rewards.items()}
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"`rewards` must be numbers by item id, got {rewards!r:.80}") from None


def feature_numbers(
    features: Sequence[float] | Mapping[str, float],
) -> list[float] | dict[str, float]:
    """Return features as JSON has them."""
    if isinstance(features, Mapping):
        return {name: float(number) for name, number in features.items()}
    return [float(number) for number in features]


def plain_candidates(candidates: Iterable[str | Mapping[str, Any]]) -> list[Any]:
    """Return ids, or items with scores, as JSON has them; arrays become base64 of float32."""
    if isinstance(candidates, (str, Mapping)):
        raise InputError(f"`candidates` must be several ids or items, got {candidates!r:.80}")
    return [dict(_plain_item(one)) if isinstance(one, Mapping) else one for one in candidates]


def _plain_item(item: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in item.items():
        if name == "vector" and hasattr(value, "astype"):
            yield name, b64encode(value.astype("<f4").tobytes()).decode()
        elif name == "score" and value is not None:
            yield name, None if isnan(value) else float(value)
        else:
            yield name, value


def plain_constraints(
    constraints: Constraints | Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """Return constraints as JSON has them."""
    if isinstance(constraints, Constraints):
        return constraints.model_dump(exclude_defaults=True)
    return None if constraints is None else dict(constraints)


def moment_text(time: datetime) -> str:
    """Return a time as JSON has it, or raise InputError if it has no time zone."""
    if time.tzinfo is None:
        raise InputError(f"`time` must have a time zone, such as UTC, got {time.isoformat()}")
    return time.isoformat()


def json_body(content: dict[str, Any]) -> bytes:
    """Return a body without the values that are None."""
    present = {name: value for name, value in content.items() if value is not None}
    return json_bytes(present, ", ".join(f"`{name}`" for name in present))


def json_bytes(content: Any, name: str) -> bytes:
    """Return content as JSON, or raise InputError; `name` is what the error calls it."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name} must be what JSON can hold: {error}") from None


def import_bodies(lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield the bodies of requests: the header in each, and all lines of a user in one."""
    header, body = b"", bytearray()
    for line in lines:
        text = json_bytes(line, "`lines`") + b"\n"
        if line.get("kind") == "export":
            header = text
            continue
        # The lines before the users stay together: changes of items are restored as one.
        is_user = line.get("kind", "user") == "user"
        if body and is_user and len(body) + len(text) > _IMPORT_BYTES:
            yield header + bytes(body)
            body.clear()
        body += text
    if body:
        yield header + bytes(body)


class SlateOptions(TypedDict, total=False):
    """Options of a request for slates; see `Client.recommend`."""

    candidates: Iterable[str | Mapping[str, Any]] | None
    exclude: Iterable[str]
    where: Mapping[str, Any] | None
    constraints: Constraints | Mapping[str, Any] | None
    strict: bool
    diversity: Diversity | Mapping[str, Any] | None
    explain: bool
    allow_repeats: bool
    details: bool


def slate_options(
    *,
    candidates: Iterable[str | Mapping[str, Any]] | None = None,
    exclude: Iterable[str] = (),
    where: Mapping[str, Any] | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    strict: bool = False,
    diversity: Diversity | Mapping[str, Any] | None = None,
    explain: bool = False,
    allow_repeats: bool = False,
    details: bool = False,
) -> dict[str, Any]:
    """Return the options of a request for slates, None where they are not sent."""
    dial = asdict(diversity) if isinstance(diversity, Diversity) else diversity
    return {
        "candidates": None if candidates is None else plain_candidates(candidates),
        "exclude": id_list("exclude", exclude),
        "where": None if where is None else dict(where),
        "constraints": plain_constraints(constraints),
        "strict": strict or None,
        "diversity": None if dial is None else dict(dial),
        "explain": explain,
        "allow_repeats": allow_repeats,
        "details": details,
    }
