"""The ASGI application: settings in, an application with its engine, routes and middleware out."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.middleware.cors import CORSMiddleware

from variegate.demo.routes import add_page_routes
from variegate.demo.static import add_page_files
from variegate.demo.views import Demo
from variegate.engine import Engine
from variegate.engine.factory import (
    create_executor,
    create_replica,
    load_catalogue,
    open_store,
    warm_policies,
)
from variegate.engine.process import EngineProxy, uses_engine_process
from variegate.engine.replicas import Replica
from variegate.engine.settings import Settings
from variegate.engine.tracing import BatchTracer, close_tracing, open_tracing
from variegate.errors import InputError
from variegate.service.docs import add_docs, add_problems
from variegate.service.errors import ERROR_RESPONSES, add_error_handlers
from variegate.service.examples import add_examples
from variegate.service.keys import KeyCache
from variegate.service.metrics import Metrics
from variegate.service.middleware import Guard
from variegate.service.problems import CONTENT_TYPE
from variegate.service.responses import CoalescingPool, computed_response
from variegate.service.routes.admin import operator_routers
from variegate.service.routes.batches import batch_router
from variegate.service.routes.health import PROBES, health_routers
from variegate.service.routes.items import item_routers
from variegate.service.routes.slates import slate_router
from variegate.service.routes.users import user_routers
from variegate.service.routing import (
    SECURITY_SCHEMES,
    FastRouteMiddleware,
    KeyRoute,
    admin_router,
    read_router,
)
from variegate.service.site import Site
from variegate.store import Store

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

#: Reads that run at the same time. Each takes turns at the interpreter: with more, the event loop,
#: which handles probes and slates, would get too few.
N_THREADS: Final = 8
#: The default of `max_body` for an open catalogue: 200 candidates with vectors of 768 numbers as
#: text take about 3 MB.
OPEN_MAX_BODY: Final = 16_000_000
_CORS_HEADERS: Final = [
    "authorization",
    "content-type",
    "idempotency-key",
    "x-api-key",
    "x-request-id",
]
_NO_TELEMETRY: Final[TelemetryConfig] = {
    "auto_configure": False,
    "tracing": False,
    "metrics": False,
    "logs": False,
}

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def build_app(settings: Settings) -> FastAPI:
    """Open the catalogue and the store, and return the application over them.

    The application closes the store when it stops.
    """
    metrics = Metrics()
    tracing = open_tracing() if settings.traces else None
    store, process = open_store(settings, metrics.observe), None
    try:
        replica = create_replica(settings, store)
        replica.join()
        replica.log_connections(1 + uses_engine_process(settings), settings.workers)
        if uses_engine_process(settings):
            process = EngineProxy(settings, metrics.observe, metrics.count_engine_restart)
            process.begin()
        catalogue = load_catalogue(settings)
        if catalogue.is_open:
            settings = _for_open_catalogue(settings)
        tracer = None if tracing is None else BatchTracer(tracing)
        observe = metrics.observe if tracer is None else tracer.observing(metrics.observe)
        executor = create_executor(settings, catalogue, store, observe, replica)
        engine = Engine(executor, timeout=settings.timeout_seconds, worker=process, tracer=tracer)
        if process is None:  # otherwise the first view that needs a compiled loop loads it
            warm_policies(settings, catalogue)
    except BaseException:
        if process is not None:
            process.abandon()
        store.close()
        raise

    metrics.watch_queue(lambda: engine.waiting)

    app = create_app(
        settings,
        store=store,
        routers=api_routers(engine, page=settings.page),
        lifespan=_lifespan(store, engine, process, replica, tracing),
        metrics=metrics,
        checks=[engine.check],
        tracing=tracing,
    )
    app.state.check_engine = engine.check_worker
    return app


def _for_open_catalogue(settings: Settings) -> Settings:
    """Return settings for requests with vectors, without the page, which shows a catalogue."""
    changes: dict[str, Any] = {"page": False}
    if "max_body" not in settings.model_fields_set:
        changes["max_body"] = OPEN_MAX_BODY
    return settings.model_copy(update=changes)


def check_startable(settings: Settings) -> None:
    """Raise what would keep every worker from starting."""
    catalogue = load_catalogue(settings)
    if settings.traces:
        close_tracing(open_tracing())
    with Store.open(settings.store) as store, create_replica(settings, store) as replica:
        Engine(create_executor(settings, catalogue, store, Metrics().observe, replica))


def create_app(
    settings: Settings,
    *,
    store: Store,
    routers: Sequence[APIRouter] = (),
    lifespan: Lifespan | None = None,
    metrics: Metrics | None = None,
    checks: Sequence[Callable[[], None]] = (),
    tracing: "TracerProvider | None" = None,
) -> FastAPI:
    """Return the application; it reads no environment and opens nothing.

    Parameters
    ----------
    store
        Holds the keys; `/readyz` checks that it can be reached.
    routers
        Made by `read_router`, `write_router`, `admin_router` or `fast_router`.
    lifespan
        Opens what the server needs when it starts, and closes it when it stops.
    metrics
        By default new ones.
    checks
        Further checks of `/readyz`: each raises StoreError if the service is not ready.
    tracing
        Gets a span of each request.
    """
    app = FastAPI(
        title="variegate",
        summary="Recommendations that learn what each user likes, and how much diversity.",
        version=version("variegate"),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_limit_threads(lifespan),
        telemetry=_NO_TELEMETRY,
    )
    metrics = metrics or Metrics()
    keys = KeyCache(store)
    app.state.settings, app.state.metrics, app.state.keys = settings, metrics, keys
    check_roles(routers)
    for router in (*health_routers([store.ping, *checks], metrics), *routers):
        # Not `include_router`, which looks each route up twice per request.
        app.router.routes.extend(router.routes)
    public, script_hashes = _add_pages(app, settings)
    add_error_handlers(app)
    app.add_middleware(FastRouteMiddleware, routes=app.routes)
    guarded = {"unlimited": public, "script_hashes": script_hashes}
    app.add_middleware(Guard, settings=settings, keys=keys, metrics=metrics, **guarded)
    if settings.cors_origins:
        _add_cors(app, settings.cors_origins)
    if tracing is not None:
        _add_tracing(app, tracing, public)
    _declare_security(app)
    return app


def api_routers(engine: Engine, *, page: bool = True) -> list[APIRouter]:
    """Return the routes over an engine; with `page`, also those of the page."""
    pool = CoalescingPool()
    routers = [
        slate_router(engine),
        batch_router(engine),
        *user_routers(engine),
        *item_routers(engine),
        *operator_routers(engine, pool),
    ]
    if page:
        reading, admin = read_router(tags=["page"]), admin_router(tags=["page"])
        add_page_routes(reading, admin, Demo(engine), partial(computed_response, pool))
        routers += [reading, admin]
    return routers


def check_roles(routers: Sequence[APIRouter]) -> None:
    """Raise InputError for a route without a role."""
    for route in (route for router in routers for route in router.routes):
        if not isinstance(route, KeyRoute):
            path = getattr(route, "path", route)
            raise InputError(
                "`routers` must be made by read_router, write_router or admin_router, got the "
                f"public route {path}"
            )


def _limit_threads(lifespan: Lifespan | None) -> Lifespan:
    @asynccontextmanager
    async def limited(app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = N_THREADS
        async with nullcontext() if lifespan is None else lifespan(app):
            yield

    return limited


def _lifespan(
    store: Store,
    engine: Engine,
    process: EngineProxy | None,
    replica: Replica,
    tracing: "TracerProvider | None",
) -> Lifespan:
    """Return the lifespan that starts the engine with the server and stops them together."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with store:
            if process is not None:
                await process.open()
                replica.leave_quietly()  # the engine process writes, not this one
            engine.start()
            following = asyncio.create_task(engine.follow_items())
            try:
                yield
            finally:
                following.cancel()
                engine.stop()
                if process is None:
                    replica.leave_quietly()
                else:
                    await process.close()
                if tracing is not None:
                    await asyncio.to_thread(close_tracing, tracing)

    return lifespan


def _add_pages(app: FastAPI, settings: Settings) -> tuple[list[str], list[str]]:
    """Add all pages; return the paths without keys, and the hashes of inline scripts."""
    add_docs(app)
    add_problems(app)
    public, script_hashes = list(PROBES), []
    if settings.page:
        public += add_page_files(app, settings.documentation is not None)
    if settings.documentation is not None:
        site = Site(settings.documentation)
        site.add_to(app)
        public += site.paths
        script_hashes = site.script_hashes()
    return public, script_hashes


def _add_cors(app: FastAPI, origins: Sequence[str]) -> None:
    # Around the guard, so that pages can read its refusals too.
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=_CORS_HEADERS,
        expose_headers=["x-request-id", "retry-after"],
    )


def _add_tracing(app: FastAPI, provider: "TracerProvider", untraced: Sequence[str]) -> None:
    from variegate.service.tracing import TracingMiddleware

    app.add_middleware(TracingMiddleware, provider=provider, untraced=untraced)


def _declare_security(app: FastAPI) -> None:
    """Add the ways to send a key, examples and the content type of errors to the OpenAPI schema."""
    original = app.openapi

    def openapi() -> dict[str, Any]:
        schema = original()
        schema.setdefault("components", {})["securitySchemes"] = SECURITY_SCHEMES
        add_examples(schema)
        for route in (one for path in schema["paths"].values() for one in path.values()):
            for status in ERROR_RESPONSES.keys() & route["responses"].keys():
                # FastAPI documents every response with the content type of a successful one.
                content = route["responses"][status]["content"]
                route["responses"][status]["content"] = {CONTENT_TYPE: next(iter(content.values()))}
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
