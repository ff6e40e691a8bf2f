"""Users: what is known of them, and their way out, and in."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from variegate.client.answers import PastSlate, User
from variegate.client.call import Call, Page
from variegate.client.reading import json_of, part, reading
from variegate.client.requesting import asked, json_line, paged, quoted

_LINES: Final = "application/x-ndjson"
#: Lists in one answer, of a user with many.
_PAGE: Final = 50
#: Bytes of lines in one request; the service takes 64 million.
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
    """Give the lines of a backup as they arrive. Needs an admin key.

    Each is an object as `import_users` takes it: a header, then the items that were added, changed
    or retired at run time, fitted priors, and every user with all that is known of them; the
    history of a user may go on in further lines. If the connection breaks midway, StoreError is
    raised; what came before it is whole.
    """
    return Call("GET", "/v1/export", lambda line: dict(part(dict, json_of(line))))


def import_users(
    lines: Iterable[Mapping[str, Any]], *, replace: bool = False
) -> Iterator[Call[int]]:
    """Take in lines that `export_users` gave; return how many users. Needs an admin key.

    They are sent in requests of some megabytes. A request is checked as a whole before anything
    of it is written, and each user is taken in whole or not at all; what is there already with
    the same content counts as imported. So after an error the same lines can be sent again.

    Parameters
    ----------
    replace
        Whether a user, an item or a prior that is there with other content is replaced; otherwise
        that is a ConflictError.
    """
    path = asked("/v1/import", replace="true") if replace else "/v1/import"
    for body in _pieces(dict(line) for line in lines):
        yield Call("POST", path, _imported, body, _LINES)


def _pieces(lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Give the bodies of requests: the header in each, all lines of a user in one."""
    header, piece = b"", bytearray()
    for line in lines:
        text = json_line(line, "`lines`") + b"\n"
        if line.get("kind") == "export":
            header = text
            continue
        # What comes before the users is one: changes of items are restored together.
        is_user = line.get("kind", "user") == "user"
        if piece and is_user and len(piece) + len(text) > _AT_ONCE:
            yield header + bytes(piece)
            piece.clear()
        piece += text
    if piece:
        yield header + bytes(piece)


def _imported(body: bytes) -> int:
    return part(int, part(dict, json_of(body)).get("imported"), "imported")
