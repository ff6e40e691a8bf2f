"""The pieces that requests are made of: paths, bodies, pages."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from variegate.client.call import Call, Page
from variegate.client.reading import json_of, part, parts
from variegate.errors import InputError

T = TypeVar("T")


def quoted(name: str, text: object) -> str:
    """Return an id as a path has it, in one segment, or raise InputError.

    Examples
    --------
    >>> quoted("user", "ana b?"), quoted("user", "a/b"), quoted("user", "..")
    ('ana%20b%3F', 'a%2Fb', '%2E%2E')
    """
    if not isinstance(text, str) or not text:
        raise InputError(f"`{name}` must be text, got {text!r:.80}")
    if not text.strip("."):
        return "%2E" * len(text)  # dots alone would lead up the path
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise InputError(f"`{name}` must be text that UTF-8 can hold, got {text!r:.80}") from None


def asked(path: str, **query: str | int | None) -> str:
    """Return a path with a query; what is None is left out."""
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def ids(name: str, given: Iterable[str]) -> list[str]:
    """Return ids as a body has them."""
    if isinstance(given, str):
        raise InputError(f"`{name}` must be several ids, got the text {given!r:.80}")
    return list(given)


def json_body(content: dict[str, Any]) -> bytes:
    """Return a body of what was given: None stands for what was not."""
    given = {name: value for name, value in content.items() if value is not None}
    return json_line(given, ", ".join(f"`{name}`" for name in given))


def json_line(content: Any, name: str) -> bytes:
    """Return JSON on one line, or raise InputError."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name} must be what JSON can hold: {error}") from None


def paged(kind: type[T], name: str, path: Callable[[Any], str], after: Any = None) -> Call[Page[T]]:
    """Return the call for a page of things that an answer has under a name.

    Parameters
    ----------
    path
        Makes a page's path of what the answer before gave as `next`; None for the first.
    """

    def read(body: bytes) -> Page[T]:
        found = part(dict, json_of(body))
        more = found.get("next")
        return Page(
            parts(kind, found.get(name), name),
            None if more is None else paged(kind, name, path, more),
        )

    return Call("GET", path(after), read)
