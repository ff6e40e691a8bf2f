"""Users: what is known of them, and their way out, and in."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from variegate.client.answers import PastSlate, User
from variegate.client.call import Call, Page, Repeat
from variegate.client.reading import json_of, part, reading
from variegate.client.requesting import asked, json_line, paged, quoted

_LINES: Final = "application/x-ndjson"
#: Lists in one answer, of a user with many.
_PAGE: Final = 50
#: Bytes of users in one request; the service takes 64 million.
_AT_ONCE: Final = 4_000_000


def user(user: str) -> Call[User]:
    """Return what was learnt of a user, in words and in numbers with intervals."""
    return Call("GET", f"/v1/users/{quoted('user', user)}", reading(User))


def history(user: str) -> Call[Page[PastSlate]]:
    """Give a user's lists and what came of them, the newest first; fetched page by page."""
    path = f"/v1/users/{quoted('user', user)}/history"
    return paged(PastSlate, "slates", lambda before: asked(path, limit=_PAGE, before=before))


def forget(user: str) -> Call[None]:
    """Forget a user wholly: what was learnt, shown and answered. Needs an admin key."""
    path = f"/v1/users/{quoted('user', user)}"
    return Call("DELETE", path, lambda _body: None, removes=True)


def export_users() -> Call[dict[str, Any]]:
    """Give every user, with all that is known of them, as they arrive. Needs an admin key.

    Each is an object as `import_users` takes it. If the connection breaks midway, StoreError
    is raised; what came before it is whole.
    """
    return Call("GET", "/v1/export", lambda line: dict(part(dict, json_of(line))))


def import_users(
    users: Iterable[Mapping[str, Any]], *, replace: bool = False
) -> Iterator[Call[int]]:
    """Take in users that `export_users` gave; return how many. Needs an admin key.

    They are sent in pieces of some megabytes, each taken in wholly or not at all. If a piece
    is refused, those before it are in: with `replace` it can all be sent again.

    Parameters
    ----------
    replace
        Whether a user that is there already is replaced; otherwise that is a ConflictError.
    """
    path = asked("/v1/import", replace="true") if replace else "/v1/import"
    repeat = Repeat.ALWAYS if replace else Repeat.UNSENT
    for body in _pieces(json_line(dict(user), "`users`") + b"\n" for user in users):
        yield Call("POST", path, _imported, body, _LINES, repeat)


def _pieces(lines: Iterator[bytes]) -> Iterator[bytes]:
    piece = bytearray()
    for line in lines:
        if piece and len(piece) + len(line) > _AT_ONCE:
            yield bytes(piece)
            piece.clear()
        piece += line
    if piece:
        yield bytes(piece)


def _imported(body: bytes) -> int:
    return part(int, part(dict, json_of(body)).get("imported"), "imported")
