"""The page's files, read once at the start, so that no path comes from a request."""

from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Final, NamedTuple

from fastapi import FastAPI, Header, HTTPException, Response

#: Content types by file extension; other files are not served.
_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
INDEX: Final = "index.html"
#: In the page: shown where the service has the documentation.
_LINK: Final = b'<a href="/documentation/" hidden>'


class _File(NamedTuple):
    content: bytes
    content_type: str
    etag: str


def add_page_files(app: FastAPI, has_documentation: bool = False) -> list[str]:
    """Add the page and its files, without a role; return their paths."""
    known = _read_files(has_documentation)

    async def page(if_none_match: Annotated[str, Header()] = "") -> Response:
        return _response(known.get(INDEX), if_none_match)

    async def file(file: str, if_none_match: Annotated[str, Header()] = "") -> Response:
        return _response(known.get(file), if_none_match)

    for path, endpoint in (("/", page), ("/page/{file}", file)):
        app.add_api_route(path, endpoint, methods=["GET", "HEAD"], include_in_schema=False)
    return ["/", *(f"/page/{name}" for name in known)]


def _read_files(has_documentation: bool) -> dict[str, _File]:
    found = {}
    for entry in (files("variegate.demo") / "page").iterdir():
        content_type = _TYPES.get(entry.name.rpartition(".")[2])
        if content_type is not None and entry.is_file():
            content = entry.read_bytes()
            if has_documentation:
                content = content.replace(_LINK, _LINK.replace(b" hidden", b""))
            etag = f'"{sha256(content).hexdigest()[:20]}"'
            found[entry.name] = _File(content, content_type, etag)
    return found


def _response(file: _File | None, known_etags: str) -> Response:
    if file is None:
        raise HTTPException(404, "the page has no such file")
    # Revalidated each time, and sent only if it changed: nobody sees half of an upgrade.
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
    if file.etag in (etag.strip().removeprefix("W/") for etag in known_etags.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.content_type, headers=headers)
