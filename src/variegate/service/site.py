"""/documentation/: the documentation site that `make docs` builds, from a folder."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Final

from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse, Response

from variegate.errors import DataError

PATH: Final = "/documentation/"
_INDEX: Final = "index.html"
_INLINE_SCRIPT: Final = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


class Site:
    """The files of a site.

    They are listed once, so that no path comes from a request.

    Parameters
    ----------
    folder
        As `make docs` made it; DataError if it has no index.html.
    """

    def __init__(self, folder: str) -> None:
        root = Path(folder)
        self._files = {
            path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()
        }
        if _INDEX not in self._files:
            raise DataError(
                f"`documentation` must be a folder with an {_INDEX}, as `make docs` makes "
                f"out/site, got {folder!r}"
            )

    @property
    def paths(self) -> list[str]:
        """The paths of all files, and of the first page."""
        return [PATH, *(f"{PATH}{name}" for name in self._files)]

    def script_hashes(self) -> list[str]:
        """Return a source expression for each inline script, for the Content-Security-Policy."""
        scripts = {
            script
            for name, path in self._files.items()
            if name.endswith(".html")
            for script in _INLINE_SCRIPT.findall(path.read_bytes())
        }
        return sorted(f"'sha256-{b64encode(sha256(one).digest()).decode()}'" for one in scripts)

    def add_to(self, app: FastAPI) -> None:
        """Add the site's files, without a role."""

        async def file(name: str) -> Response:
            path = self._files.get(name or _INDEX)
            if path is None:
                raise HTTPException(404, "the documentation has no such page")
            return FileResponse(path)

        route = f"{PATH}{{name:path}}"
        app.add_api_route(route, file, methods=["GET", "HEAD"], include_in_schema=False)
