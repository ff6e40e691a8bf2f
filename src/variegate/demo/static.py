"""The page's files, read once at the start, so that no path comes from a request."""

from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import metadata
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
#: In the page: shown once the package names an address of its documentation.
_LINK: Final = '<a id="documentation" hidden>'


class _File(NamedTuple):
    content: bytes
    content_type: str
    etag: str


def add_page_files(app: FastAPI) -> list[str]:
    """Add the page and its files, without a role; return their paths."""
    known = _read_files()

    async def page(if_none_match: Annotated[str, Header()] = "") -> Response:
        return _response(known.get(INDEX), if_none_match)

    async def file(file: str, if_none_match: Annotated[str, Header()] = "") -> Response:
        return _response(known.get(file), if_none_match)

    for path, endpoint in (("/", page), ("/page/{file}", file)):
        app.add_api_route(path, endpoint, methods=["GET", "HEAD"], include_in_schema=False)
    return ["/", *(f"/page/{name}" for name in known)]


def _read_files() -> dict[str, _File]:
    found = {}
    for entry in (files("variegate.demo") / "page").iterdir():
        content_type = _TYPES.get(entry.name.rpartition(".")[2])
        if content_type is not None and entry.is_file():
            content = entry.read_bytes()
            if entry.name == INDEX:
                urls = metadata("variegate").get_all("Project-URL") or []
                content = with_documentation(content.decode(), urls).encode()
            etag = f'"{sha256(content).hexdigest()[:20]}"'
            found[entry.name] = _File(content, content_type, etag)
    return found


def with_documentation(page: str, urls: Sequence[str]) -> str:
    """Return the page with a link to the documentation, if the project's URLs have one.

    Examples
    --------
    >>> urls = ["Documentation, https://docs.example/?a&b"]
    >>> with_documentation('<a id="documentation" hidden>Documentation</a>', urls)
    '<a id="documentation" href="https://docs.example/?a&amp;b">Documentation</a>'
    """
    for name, _, url in (entry.partition(", ") for entry in urls):
        if name == "Documentation":
            return page.replace(_LINK, f'<a id="documentation" href="{escape(url)}">')
    return page


def _response(file: _File | None, known_etags: str) -> Response:
    if file is None:
        raise HTTPException(404, "the page has no such file")
    # Revalidated each time, and sent only if it changed: nobody sees half of an upgrade.
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
    if file.etag in (etag.strip().removeprefix("W/") for etag in known_etags.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.content_type, headers=headers)
