"""Routes: which role may call them, ids in their paths, and a fast path for the busiest.

An id is one percent-encoded segment of a path, whatever characters it has. A server passes on the
path decoded, where a slash of an id looks like a separator; so the path is decoded here, segment by
segment, and slashes inside segments stay encoded until the route is found.
"""

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

from variegate.service.errors import ERROR_RESPONSES, handle_error
from variegate.service.keys import ROLES, Role
from variegate.store.rows import KeyRow

#: The ways to send a key, for OpenAPI.
SECURITY_SCHEMES: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "Authorization: Bearer vgk_…"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
#: In a path: replaced by the id in the query.
PLACEHOLDER: Final = "~"
#: The query parameter with that id.
QUERY_NAME: Final = "id"
_REFUSALS: Final = {
    "no_key": "a key is required: send it as `Authorization: Bearer <key>` or `X-API-Key: <key>`",
    "bad_key": "the key is unknown or revoked",
    "origin": "as long as there is no key, only requests to this machine by its own name are "
    "accepted: make one (`variegate keys make`), or start with --allow-anonymous",
    "forwarded": "as long as there is no key, requests through a proxy are refused, since anybody "
    "could send them: make one (`variegate keys make`), or admit everybody with "
    "--allow-anonymous",
    "site": "as long as there is no key, pages of other sites are refused: make one "
    "(`variegate keys make`), or add the page's origin to `cors_origins`",
}
#: Refusals that a key is not the only remedy for.
_FORBIDDEN: Final = ("origin", "forwarded", "site")
_JSON_TYPES: Final = (b"application/json", b"")


class RequestContext:
    """What is known about a request before it is handled; in its scope as "context".

    Parameters
    ----------
    request_id
        From the client, or generated.
    max_body
        Maximum bytes of the body; a route that accepts more, such as an import, raises it before
        it reads.
    """

    __slots__ = ("key", "max_body", "refusal", "request_id", "role")

    def __init__(self, request_id: str, max_body: int) -> None:
        self.request_id = request_id
        self.max_body = max_body
        #: The key that was sent, if it is valid
        self.key: KeyRow | None = None
        #: The caller's role; None: only routes without a role
        self.role: Role | None = None
        #: Why there is no role, or why the request was refused
        self.refusal = "no_key"


def request_context(request: Request) -> RequestContext:
    """Return the context of a request."""
    context: RequestContext = request.scope["context"]
    return context


def require_role(context: RequestContext, role: Role) -> None:
    """Raise 401 or 403 unless the caller has the role, or one that may do more."""
    if context.role is not None:
        if ROLES.index(context.role) >= ROLES.index(role):
            return
        context.refusal = "role"
        raise HTTPException(403, f"this needs a key with the role {role}")
    if context.refusal in _FORBIDDEN:
        raise HTTPException(403, _REFUSALS[context.refusal])
    raise HTTPException(401, _REFUSALS[context.refusal], {"WWW-Authenticate": "Bearer"})


class KeyRoute(APIRoute):
    """A route for keys of any role, which reads; the key is checked before the body is read.

    Not a dependency: FastAPI would read and parse the body of an unknown caller first, and a
    dependency costs a fifth of an empty request.
    """

    role: ClassVar[Role] = "read"

    def __init__(self, *args: Any, **options: Any) -> None:
        security: dict[str, Any] = {"security": [{name: []} for name in SECURITY_SCHEMES]}
        options["openapi_extra"] = {**security, **(options.get("openapi_extra") or {})}
        super().__init__(*args, **options)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the path matches, and its parameters with ids decoded."""
        match, child_scope = super().matches(scope)
        if match is not Match.NONE and "%" in scope["path"]:
            values: dict[str, str] = child_scope["path_params"]
            values.update({name: decode_segment(value) for name, value in values.items()})
        return match, child_scope

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler behind the checks of the role and of the query's names."""
        handle, role = super().get_route_handler(), self.role
        taken = [field.alias for field in self.dependant.query_params]

        async def check_and_handle(request: Request) -> Response:
            require_role(request.scope["context"], role)
            if request.scope["query_string"]:
                _check_query(request, taken)
            return await handle(request)

        return check_and_handle


class WriteRoute(KeyRoute):
    """A route for keys that write: recommend, and report feedback."""

    role = "write"


class AdminRoute(KeyRoute):
    """A route for admin keys."""

    role = "admin"


class FastRoute(WriteRoute):
    """A writing route with one path parameter and a JSON body, called without FastAPI's machinery.

    OpenAPI documents it as any other: path and body are declared in the endpoint's signature. The
    machinery that is left out takes longer than computing a slate. An optional header can be the
    endpoint's third parameter.
    """

    def __init__(self, path: str, endpoint: Any, **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        (self._name, path_value), (_, body), *rest = signature(endpoint).parameters.items()
        self._path_type: TypeAdapter[str] = TypeAdapter(path_value.annotation)
        self._body_type: TypeAdapter[Any] = TypeAdapter(body.annotation)
        self._needs_body = body.default is body.empty
        self._headers = [_header(parameter) for _, parameter in rest]
        #: How every path of this route ends
        self.path_end = path.rpartition("}")[2]
        self.app = self._handle

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._response(scope, receive)
        except Exception as error:  # re-raised if no handler is registered for it
            response = await handle_error(Request(scope, receive, send), error)
        await response(scope, receive, send)

    async def _response(self, scope: Scope, receive: Receive) -> Response:
        require_role(scope["context"], self.role)
        raw = await _read_body(receive)
        value = _parse("path", self._name, self._path_type, scope["path_params"][self._name])
        body = self._parse_body(scope, raw) if raw or self._needs_body else None
        headers = [self._parse_header(scope, *header) for header in self._headers]
        response: Response = await self.endpoint(value, body, *headers)
        return response

    def _parse_body(self, scope: Scope, raw: bytes) -> Any:
        header = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        content_type = header.partition(b";")[0].strip().lower()
        if content_type not in _JSON_TYPES:
            text = content_type.decode("latin-1")[:80]
            raise HTTPException(415, f"the body must be application/json, got {text!r}")
        try:
            return self._body_type.validate_json(raw)
        except ValidationError as error:
            raise _request_error("body", error) from None

    @staticmethod
    def _parse_header(
        scope: Scope, name: str, encoded_name: bytes, type_: TypeAdapter[str]
    ) -> str | None:
        value = next((value for header, value in scope["headers"] if header == encoded_name), None)
        return None if value is None else _parse("header", name, type_, value.decode("latin-1"))


class FastRouteMiddleware:
    """Calls fast routes directly, past the layers that all other routes need.

    Parameters
    ----------
    routes
        Of the application; the fast ones among them are used.
    """

    def __init__(self, app: ASGIApp, *, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._routes = [route for route in routes if isinstance(route, FastRoute)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call a fast route, or the application."""
        if scope["type"] == "http" and scope["method"] == "POST":
            path: str = scope["path"]
            for route in self._routes:
                if not path.endswith(route.path_end):
                    continue
                match, child_scope = route.matches(scope)
                if match is Match.FULL:
                    scope.update(child_scope)
                    await route.app(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def read_router(*, prefix: str = "/v1", tags: Sequence[str] = ()) -> APIRouter:
    """Return a router whose routes need a key of any role."""
    return _router(KeyRoute, prefix, tags)


def write_router(*, prefix: str = "/v1", tags: Sequence[str] = ()) -> APIRouter:
    """Return a router whose routes need a key with the role write or admin."""
    return _router(WriteRoute, prefix, tags)


def admin_router(*, prefix: str = "/v1", tags: Sequence[str] = ()) -> APIRouter:
    """Return a router whose routes need an admin key."""
    return _router(AdminRoute, prefix, tags)


def fast_router(*, prefix: str = "/v1", tags: Sequence[str] = ()) -> APIRouter:
    """Return a router of fast routes, which need a key with the role write or admin."""
    return _router(FastRoute, prefix, tags)


def public_router(*, tags: Sequence[str] = ()) -> APIRouter:
    """Return a router whose routes need no key."""
    return _router(APIRoute, "", tags)


def _router(route: type[APIRoute], prefix: str, tags: Sequence[str]) -> APIRouter:
    return APIRouter(
        prefix=prefix,
        tags=list(tags),
        route_class=route,
        responses={**ERROR_RESPONSES},
        generate_unique_id_function=lambda one: one.name,  # generated clients name methods so
    )


def routing_path(raw_path: bytes, query: bytes) -> str:
    """Return a path to match routes with; `decode_segment` returns the text of its segments.

    A segment that is `~` is replaced by the query's `id`, if there is one: for clients and proxies
    that decode %2F or resolve the segments `.` and `..`.

    Examples
    --------
    >>> routing_path(b"/v1/users/a%2Fb%3F/history", b"")
    '/v1/users/a%2Fb?/history'
    >>> routing_path(b"/v1/users/~/history", b"id=a%2Fb")
    '/v1/users/a%2Fb/history'
    """
    segments = [unquote(segment) for segment in raw_path.decode("latin-1").split("/")]
    if PLACEHOLDER in segments:
        values = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
        segments[segments.index(PLACEHOLDER)] = values.get(QUERY_NAME, PLACEHOLDER)
    return "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)


def decode_segment(segment: str) -> str:
    """Return the text of a segment of a routing path.

    Examples
    --------
    >>> decode_segment("a%2Fb"), decode_segment("100%25")
    ('a/b', '100%')
    """
    return segment.replace("%2F", "/").replace("%25", "%")


def _header(parameter: Parameter) -> tuple[str, bytes, TypeAdapter[str]]:
    """Return the name of a parameter's header, the name as ASGI has it, and its type."""
    (header,) = get_args(parameter.annotation)[1:]
    return header.alias, header.alias.lower().encode(), TypeAdapter(parameter.annotation)


def _parse(place: str, name: str, type_: TypeAdapter[str], value: str) -> str:
    try:
        return type_.validate_python(value)
    except ValidationError as error:
        raise _request_error(place, error, name) from None


async def _read_body(receive: Receive) -> bytes:
    """Return the body, which usually arrives in one piece."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _check_query(request: Request, taken: Sequence[str]) -> None:
    """Raise the error of unknown fields for names that a route would ignore."""
    names = f"the query may have {', '.join(taken)}" if taken else "the query must be empty"
    problems = [
        {"type": "value_error", "loc": ("query", name), "msg": f"`{name[:80]}` is unknown: {names}"}
        for name in dict.fromkeys(request.query_params)
        if name not in taken and name != QUERY_NAME
    ]
    if problems:
        raise RequestValidationError(problems)


def _request_error(place: str, error: ValidationError, *names: str) -> Exception:
    """Return the error that FastAPI would raise."""
    problems = error.errors(include_url=False)
    if problems[0]["type"] == "json_invalid":
        reason = problems[0].get("ctx", {}).get("error", "it is not")
        return HTTPException(400, f"the body must be JSON: {reason}")
    return RequestValidationError(
        [{**problem, "loc": (place, *names, *problem["loc"])} for problem in problems]
    )
