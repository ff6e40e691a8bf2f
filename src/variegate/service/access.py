"""Who may call a route: what the guard knows of a request, and routes marked by role."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, Final

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from variegate.service.errors import ERROR_ANSWERS
from variegate.service.keys import Role
from variegate.service.paths import decoded
from variegate.store.rows import KeyRow

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
