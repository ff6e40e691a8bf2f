"""Routes that are asked all the time, without what FastAPI does for routes of every kind.

OpenAPI sees them as any other: path and body are declared in the signature. What is left out is
the general machinery between the two, which takes longer than to work out a list.
"""

from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any, Final, get_args

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from variegate.service.access import ClientRoute, admit
from variegate.service.errors import ERROR_ANSWERS, answer_to

_JSON: Final = (b"application/json", b"")


class LeanRoute(ClientRoute):
    """A route with one value in its path and a JSON body; its endpoint takes those two.

    A header can come third, as text that may be left out.
    """

    def __init__(self, path: str, endpoint: Any, **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        (self._name, of_path), (_, of_body), *rest = signature(endpoint).parameters.items()
        self._path_value: TypeAdapter[str] = TypeAdapter(of_path.annotation)
        self._body: TypeAdapter[Any] = TypeAdapter(of_body.annotation)
        self._needs_body = of_body.default is of_body.empty
        self._headers = [_header_of(parameter) for _, parameter in rest]
        #: How every path that it answers ends
        self.tail = path.rpartition("}")[2]
        self.app = self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._response(scope, receive)
        except Exception as error:  # what no handler is for goes on
            response = await answer_to(Request(scope, receive, send), error)
        await response(scope, receive, send)

    async def _response(self, scope: Scope, receive: Receive) -> Response:
        admit(scope["call"], self.needs)
        raw = await _whole_body(receive)
        value = _read("path", self._name, self._path_value, scope["path_params"][self._name])
        body = self._parsed(scope, raw) if raw or self._needs_body else None
        headers = [self._header(scope, *header) for header in self._headers]
        response: Response = await self.endpoint(value, body, *headers)
        return response

    def _parsed(self, scope: Scope, raw: bytes) -> Any:
        given = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        kind = given.partition(b";")[0].strip().lower()
        if kind not in _JSON:
            told = kind.decode("latin-1")[:80]
            raise HTTPException(415, f"the body must be application/json, got {told!r}")
        try:
            return self._body.validate_json(raw)
        except ValidationError as error:
            raise _refusal("body", error) from None

    @staticmethod
    def _header(scope: Scope, name: str, sent_as: bytes, kind: TypeAdapter[str]) -> str | None:
        given = next((value for header, value in scope["headers"] if header == sent_as), None)
        return None if given is None else _read("header", name, kind, given.decode("latin-1"))


class Shortcut:
    """Leads to lean routes past the layers that are there for all the others.

    Parameters
    ----------
    routes
        Those of the application that are lean are taken.
    """

    def __init__(self, app: ASGIApp, *, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._routes = [route for route in routes if isinstance(route, LeanRoute)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer."""
        if scope["type"] == "http" and scope["method"] == "POST":
            path: str = scope["path"]
            for route in self._routes:
                if not path.endswith(route.tail):
                    continue
                match, found = route.matches(scope)
                if match is Match.FULL:
                    scope.update(found)
                    await route.app(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def _header_of(parameter: Parameter) -> tuple[str, bytes, TypeAdapter[str]]:
    """Return the name of the header that a parameter takes, as it is sent, and what it may be."""
    (header,) = get_args(parameter.annotation)[1:]
    return header.alias, header.alias.lower().encode(), TypeAdapter(parameter.annotation)


def _read(place: str, name: str, kind: TypeAdapter[str], given: str) -> str:
    try:
        return kind.validate_python(given)
    except ValidationError as error:
        raise _refusal(place, error, name) from None


async def _whole_body(receive: Receive) -> bytes:
    """Return the body, which most often comes in one piece."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def lean_router(*, prefix: str = "/v1", tags: Sequence[str] = ()) -> APIRouter:
    """Return a router whose routes are lean and need a key of any role."""
    kind: type[APIRoute] = LeanRoute
    return APIRouter(prefix=prefix, tags=list(tags), route_class=kind, responses={**ERROR_ANSWERS})


def _refusal(place: str, error: ValidationError, *names: str) -> Exception:
    """Return the error that FastAPI would raise."""
    problems = error.errors(include_url=False)
    if problems[0]["type"] == "json_invalid":
        why = problems[0].get("ctx", {}).get("error", "it is not")
        return HTTPException(400, f"the body must be JSON: {why}")
    return RequestValidationError(
        [{**problem, "loc": (place, *names, *problem["loc"])} for problem in problems]
    )
