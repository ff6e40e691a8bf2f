"""The page: its files, read once at the start, so that no path comes from a request."""

from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Final, NamedTuple

from fastapi import FastAPI, Header, HTTPException, Response

#: Content types by the ending of a file's name; other files are not served.
_KINDS: Final = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
FIRST: Final = "index.html"


class _File(NamedTuple):
    content: bytes
    kind: str
    tag: str


def add_page(app: FastAPI) -> list[str]:
    """Add the page and its files, which are open to all; return their paths."""
    known = _read()

    async def page(if_none_match: Annotated[str, Header()] = "") -> Response:
        return _answer(known.get(FIRST), if_none_match)

    async def part(file: str, if_none_match: Annotated[str, Header()] = "") -> Response:
        return _answer(known.get(file), if_none_match)

    for path, answer in (("/", page), ("/page/{file}", part)):
        app.add_api_route(path, answer, methods=["GET", "HEAD"], include_in_schema=False)
    return ["/", *(f"/page/{name}" for name in known)]


def _read() -> dict[str, _File]:
    found = {}
    for entry in (files("variegate.demo") / "page").iterdir():
        kind = _KINDS.get(entry.name.rpartition(".")[2])
        if kind is not None and entry.is_file():
            content = entry.read_bytes()
            found[entry.name] = _File(content, kind, f'"{sha256(content).hexdigest()[:20]}"')
    return found


def _answer(file: _File | None, known_tags: str) -> Response:
    if file is None:
        raise HTTPException(404, "the page has no such file")
    # Asked for each time, and sent only when it changed: nobody sees half of an upgrade.
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
    if file.tag in (tag.strip().removeprefix("W/") for tag in known_tags.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)
