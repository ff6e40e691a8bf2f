"""/docs: Swagger UI for the service's OpenAPI, from local files only.

Its script and styles are those of the package `fastapi_offline`. The page is not: that of the
package, like FastAPI's, starts Swagger UI with an inline script, which our Content-Security-Policy
forbids.
"""

from importlib.resources import files
from typing import Final

from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from variegate.service.problems import KINDS, PATH

#: URLs are relative, so that the page works behind a proxy that adds a prefix.
PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>variegate: HTTP API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<noscript>This page needs JavaScript; <a href="openapi.json">openapi.json</a> does not.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
#: No validator: it would send the schema to a public site.
START: Final = """\
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
"""
_CACHED: Final = {"Cache-Control": "max-age=3600"}


def add_docs(app: FastAPI) -> None:
    """Add the page, its files, and the OpenAPI schema."""
    # Read once: an open file per response would count against the limit on connections.
    folder = files("fastapi_offline") / "static"
    styles = (folder / "swagger-ui.css").read_bytes()
    bundle = (folder / "swagger-ui-bundle.js").read_bytes()

    async def page() -> Response:
        return HTMLResponse(PAGE)

    async def start() -> Response:
        return Response(START, media_type="text/javascript", headers=_CACHED)

    async def style() -> Response:
        return Response(styles, media_type="text/css", headers=_CACHED)

    async def script() -> Response:
        return Response(bundle, media_type="text/javascript", headers=_CACHED)

    async def openapi() -> Response:
        return JSONResponse(app.openapi())

    # Routes of FastAPI: those of Starlette do not set the route for the log.
    for path, answer in (
        ("/docs", page),
        ("/docs/start.js", start),
        ("/docs/swagger-ui.css", style),
        ("/docs/swagger-ui-bundle.js", script),
        ("/openapi.json", openapi),
    ):
        app.add_api_route(path, answer, include_in_schema=False)


def add_problems(app: FastAPI) -> None:
    """Add what the `type` of an error leads to: what to do about it."""

    async def problem_kind(kind: str) -> Response:
        if kind not in KINDS:
            raise HTTPException(404, f"no kind of error is named {kind!r:.80}")
        status, title, advice = KINDS[kind]
        return PlainTextResponse(f"{title} (status {status})\n{advice}\n")

    app.add_api_route(f"{PATH}{{kind}}", problem_kind, include_in_schema=False)
