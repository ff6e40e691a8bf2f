"""The ASGI application: the guard, the errors, the routes that every service has."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.metadata import version
from typing import Any, Final, Literal, Protocol

from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI, HTTPException, Response
from fastapi.telemetry import TelemetryConfig
from pydantic import BaseModel
from starlette.middleware.cors import CORSMiddleware

from variegate.engine.settings import Settings
from variegate.errors import InputError
from variegate.service.access import SECURITY_SCHEMES, ClientRoute, client_router, open_router
from variegate.service.docs import add_docs
from variegate.service.errors import add_error_handlers
from variegate.service.guard import Guard
from variegate.service.keys import KeyRing, KeyStore
from variegate.service.lean import Shortcut
from variegate.service.metrics import CONTENT_TYPE, Metrics
from variegate.service.readiness import Readiness
from variegate.service.static import add_page

#: What load balancers ask; never limited, never behind a key.
PROBES: Final = ("/healthz", "/readyz")
#: Reads that run at the same time. Each of them takes its turn at the interpreter: with more, the
#: event loop, which answers probes and lists, would get too few.
THREADS: Final = 8
_SENT_HEADERS: Final = [
    "authorization",
    "content-type",
    "idempotency-key",
    "x-api-key",
    "x-request-id",
]
_SOON: Final = {"Retry-After": "1"}
_NO_TELEMETRY: Final[TelemetryConfig] = {
    "auto_configure": False,
    "tracing": False,
    "metrics": False,
    "logs": False,
}

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


class ServiceStore(KeyStore, Protocol):
    """What the shell asks of a store."""

    def ping(self) -> None: ...


class Fine(BaseModel):
    """All is well."""

    status: Literal["ok"] = "ok"


def create_app(
    settings: Settings,
    *,
    store: ServiceStore,
    routers: Sequence[APIRouter] = (),
    lifespan: Lifespan | None = None,
    metrics: Metrics | None = None,
    checks: Sequence[Callable[[], None]] = (),
) -> FastAPI:
    """Return the service; nothing is read from the environment, nothing is opened.

    Parameters
    ----------
    store
        Keeps the keys; `/readyz` asks whether it can be reached.
    routers
        Of `client_router` or `admin_router`.
    lifespan
        What is opened when the server starts and closed when it stops.
    metrics
        Where the routes count; new ones, if not given.
    checks
        What else `/readyz` asks: each raises StoreError where the service is not ready.
    """
    app = FastAPI(
        title="variegate",
        summary="Recommendations that learn what each user likes, and how varied a list they want.",
        version=version("variegate"),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_with_few_threads(lifespan),
        telemetry=_NO_TELEMETRY,
    )
    metrics = metrics or Metrics()
    keys = KeyRing(store)
    app.state.settings, app.state.metrics, app.state.keys = settings, metrics, keys
    check_marked(routers)
    for router in (_probes([store.ping, *checks], metrics), _yardstick(), *routers):
        # Not `include_router`: it looks each route up twice at each request.
        app.router.routes.extend(router.routes)
    add_docs(app)
    page = add_page(app)
    add_error_handlers(app)
    app.add_middleware(Shortcut, routes=app.routes)
    app.add_middleware(
        Guard, settings=settings, keys=keys, metrics=metrics, unlimited=(*PROBES, *page)
    )
    if settings.cors_origins:
        _allow_pages(app, settings.cors_origins)
    _declare_keys(app)
    return app


def _with_few_threads(lifespan: Lifespan | None) -> Lifespan:
    @asynccontextmanager
    async def limited(app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = THREADS
        async with nullcontext() if lifespan is None else lifespan(app):
            yield

    return limited


def check_marked(routers: Sequence[APIRouter]) -> None:
    """Raise InputError for a route that forgot to say who may call it."""
    for route in (route for router in routers for route in router.routes):
        if not isinstance(route, ClientRoute):
            path = getattr(route, "path", route)
            raise InputError(
                f"`routers` must be of client_router or admin_router, got the open route {path}"
            )


def _probes(checks: Sequence[Callable[[], None]], metrics: Metrics) -> APIRouter:
    router = open_router(tags=["operation"])
    readiness = Readiness(checks)

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz")
    async def healthz() -> Fine:
        """Say that the process is alive."""
        return Fine()

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz")
    async def readyz() -> Fine:
        """Say that the store can be reached; 503 while it cannot."""
        if not await readiness.is_ready():
            # Anybody may ask: where the store is and what is wrong with it is in the log alone.
            raise HTTPException(503, "the service is not ready: its log says why", _SOON)
        return Fine()

    closed = client_router(prefix="", tags=["operation"])

    @closed.get("/metrics", response_class=Response, responses={200: _METRICS_ANSWER})
    async def metrics_text() -> Response:
        """Return the service's numbers as Prometheus reads them."""
        # Not among the reads: they may all wait for a store that is away.
        return Response(await asyncio.to_thread(metrics.text), media_type=CONTENT_TYPE)

    router.routes.extend(closed.routes)
    return router


_METRICS_ANSWER: Final[dict[str, Any]] = {
    "description": "Prometheus text.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


def _yardstick() -> APIRouter:
    router = client_router(tags=["operation"])

    @router.get("/ping")
    async def ping() -> Fine:
        """Do nothing: a way to try a key, and what the load test compares with."""
        return Fine()

    return router


def _allow_pages(app: FastAPI, origins: Sequence[str]) -> None:
    # Around the guard, so that pages can read its refusals too.
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=_SENT_HEADERS,
        expose_headers=["x-request-id", "retry-after"],
    )


def _declare_keys(app: FastAPI) -> None:
    """Let the OpenAPI say how a key is sent."""
    make = app.openapi

    def openapi() -> dict[str, Any]:
        schema = make()
        schema.setdefault("components", {})["securitySchemes"] = SECURITY_SCHEMES
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
