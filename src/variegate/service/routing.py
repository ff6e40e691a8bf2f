"""Who may call a route: what the guard knows of a request, and routes marked by role."""

from collections.abc import Callable, Coroutine, Sequence
from inspect import Parameter, signature
from typing import Any, ClassVar, Final, get_args
from urllib.parse import parse_qsl, unquote

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from variegate.service.errors import ERROR_ANSWERS, answer_to
from variegate.service.keys import Role
from variegate.store.rows import KeyRow

#: Stands for the id that the query names.
PLACEHOLDER: Final = "~"
#: Names the id in a query.
QUERY_NAME: Final = "id"


def routable(raw_path: bytes, query: bytes) -> str:
    """Return a path to find a route by; `decoded` gives the text of its segments.

    A segment that is `~` alone is replaced by the query's `id`, if there is one: for clients and
    proxies that decode %2F or that resolve the segments `.` and `..`.

    Examples
    --------
    >>> routable(b"/v1/users/a%2Fb%3F/history", b"")
    '/v1/users/a%2Fb?/history'
    >>> routable(b"/v1/users/~/history", b"id=a%2Fb")
    '/v1/users/a%2Fb/history'
    """
    segments = [unquote(segment) for segment in raw_path.decode("latin-1").split("/")]
    if PLACEHOLDER in segments:
        named = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
        segments[segments.index(PLACEHOLDER)] = named.get(QUERY_NAME, PLACEHOLDER)
    return "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)


def decoded(segment: str) -> str:
    """Return the text of a segment of a routable path.

    Examples
    --------
    >>> decoded("a%2Fb"), decoded("100%25")
    ('a/b', '100%')
    """
    return segment.replace("%2F", "/").replace("%25", "%")


#: The ways to send a key, as OpenAPI says it.
SECURITY_SCHEMES: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "Authorization: Bearer vgk_…"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_REFUSALS: Final = {
    "no_key": "a key is needed: send it as `Authorization: Bearer <key>` or `X-API-Key: <key>`",
    "bad_key": "the key is not known, or was revoked",
    "origin": "while no key was made, only requests to this machine by its own name are answered: "
    "make one (`variegate keys make`), or start with --allow-anonymous",
    "forwarded": "while no key was made, requests through a proxy are not answered, since anybody "
    "could send them: make one (`variegate keys make`), or let everybody in with "
    "--allow-anonymous",
    "site": "while no key was made, pages of other sites are not answered: make one "
    "(`variegate keys make`), or name the page's origin in `cors_origins`",
}
#: Refusals that another key, or one at all, is not the only remedy for
_FORBIDDEN: Final = ("origin", "forwarded", "site")


class Call:
    """What is known of a request before it is answered.

    Parameters
    ----------
    request_id
        The id that the client sent, or one that was made.
    max_body
        Bytes that may be sent; a route that takes more, such as an import, sets it higher
        before it reads.
    """

    __slots__ = ("key", "max_body", "refused", "request_id", "role")

    def __init__(self, request_id: str, max_body: int) -> None:
        self.request_id = request_id
        self.max_body = max_body
        #: The key that came, if it is good
        self.key: KeyRow | None = None
        #: What the caller may do; None: nothing that needs a key
        self.role: Role | None = None
        #: Why there is no role, or why the role was not enough
        self.refused = "no_key"


def call_of(request: Request) -> Call:
    """Return what the guard knows of a request."""
    call: Call = request.scope["call"]
    return call


def admit(call: Call, needs: Role) -> None:
    """Raise 401 or 403 unless the caller has the role; an admin may do all that a client may."""
    if call.role == needs or call.role == "admin":
        return
    if call.role is not None:
        call.refused = "role"
        raise HTTPException(403, f"this needs a key with the role {needs}")
    if call.refused in _FORBIDDEN:
        raise HTTPException(403, _REFUSALS[call.refused])
    raise HTTPException(401, _REFUSALS[call.refused], {"WWW-Authenticate": "Bearer"})


class ClientRoute(APIRoute):
    """A route for keys of any role; the key is checked before the body is read.

    A class and no dependency: FastAPI would read and parse the body of a stranger first, and
    it costs a fifth of an empty request.
    """

    needs: ClassVar[Role] = "client"

    def __init__(self, *args: Any, **options: Any) -> None:
        security: dict[str, Any] = {"security": [{name: []} for name in SECURITY_SCHEMES]}
        options["openapi_extra"] = {**security, **(options.get("openapi_extra") or {})}
        super().__init__(*args, **options)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the path is this route's, and the values in it: ids as they are stored."""
        match, found = super().matches(scope)
        if match is not Match.NONE and "%" in scope["path"]:
            values: dict[str, str] = found["path_params"]
            values.update({name: decoded(value) for name, value in values.items()})
        return match, found

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler behind the check."""
        handle, needs = super().get_route_handler(), self.needs

        async def handle_admitted(request: Request) -> Response:
            admit(request.scope["call"], needs)
            return await handle(request)

        return handle_admitted


class AdminRoute(ClientRoute):
    """A route for admin keys."""

    needs = "admin"


def client_router(*, prefix: str = "/v1", tags: Sequence[str] = ()) -> APIRouter:
    """Return a router whose routes need a key of any role."""
    return _router(ClientRoute, prefix, tags)


def admin_router(*, prefix: str = "/v1", tags: Sequence[str] = ()) -> APIRouter:
    """Return a router whose routes need an admin key."""
    return _router(AdminRoute, prefix, tags)


def open_router(*, tags: Sequence[str] = ()) -> APIRouter:
    """Return a router whose routes need no key."""
    return _router(APIRoute, "", tags)


def _router(route: type[APIRoute], prefix: str, tags: Sequence[str]) -> APIRouter:
    return APIRouter(prefix=prefix, tags=list(tags), route_class=route, responses={**ERROR_ANSWERS})


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
