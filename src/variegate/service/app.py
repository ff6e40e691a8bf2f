"""The ASGI application: the guard, the errors, the routes that every service has."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from importlib.metadata import version
from typing import Any, Final, Protocol

from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.middleware.cors import CORSMiddleware

from variegate.demo.routes import add_page_routes
from variegate.demo.static import add_page
from variegate.demo.views import Demo
from variegate.engine import Engine
from variegate.engine.factory import (
    create_experiment,
    create_replica,
    create_rules,
    load_catalogue,
    open_store,
    warm_policies,
)
from variegate.engine.process import EngineProxy, uses_engine_process
from variegate.engine.replicas import Replica
from variegate.engine.settings import Settings
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.service.docs import add_docs
from variegate.service.errors import add_error_handlers
from variegate.service.keys import KeyRing, KeyStore
from variegate.service.metrics import ERROR_KINDS, Metrics
from variegate.service.middleware import Guard
from variegate.service.responses import SmallPool, worked_out
from variegate.service.routes.admin import prior_routes, report_routes
from variegate.service.routes.health import PROBES, health_routes
from variegate.service.routes.items import item_routes
from variegate.service.routes.slates import slate_routes
from variegate.service.routes.users import user_routes
from variegate.service.routing import (
    SECURITY_SCHEMES,
    ClientRoute,
    Shortcut,
    admin_router,
    client_router,
)
from variegate.store import Store

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
    for router in (health_routes([store.ping, *checks], metrics), *routers):
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


def build_app(settings: Settings) -> FastAPI:
    """Open the catalogue and the store and return the service over them.

    The service closes the store when it stops.
    """
    metrics = Metrics()
    observe = observer(metrics)
    store, process = open_store(settings, observe), None
    try:
        replica = create_replica(settings, store)
        replica.join()
        if uses_engine_process(settings):
            process = EngineProxy(settings, observe, metrics.engine_restart)
            process.begin()
        catalogue = load_catalogue(settings)
        engine = create_engine(
            settings, catalogue, store, metrics, process=process, replica=replica
        )
        warm_policies(create_experiment(settings), catalogue)
    except BaseException:
        if process is not None:
            process.abandon()
        store.close()
        raise

    metrics.watch_waiting(lambda: engine.waiting)

    return create_app(
        settings,
        store=store,
        routers=api_routes(engine),
        lifespan=_lifespan(store, engine, process, replica),
        metrics=metrics,
        checks=[engine.check],
    )


def api_routes(engine: Engine) -> list[APIRouter]:
    """Return every route of the service that is about its work."""
    pool = SmallPool()
    page, page_admin = client_router(tags=["page"]), admin_router(tags=["page"])
    add_page_routes(page, page_admin, Demo(engine), partial(worked_out, pool))
    return [
        *slate_routes(engine),
        *user_routes(engine),
        *item_routes(engine),
        *report_routes(engine, pool),
        *prior_routes(engine, pool),
        page,
        page_admin,
    ]


def _lifespan(
    store: Store, engine: Engine, process: EngineProxy | None, replica: Replica
) -> Lifespan:
    """Return what starts the engine with the server, and ends both together."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with store:
            if process is not None:
                await process.open()
                replica.leave_quietly()  # the engine process is the one that writes
            engine.start()
            try:
                yield
            finally:
                engine.stop()
                if process is None:
                    replica.leave_quietly()
                else:
                    await process.close()

    return lifespan


def check_startable(settings: Settings) -> None:
    """Raise what would keep every process of the service from starting."""
    catalogue = load_catalogue(settings)
    with Store.open(settings.store) as store, create_replica(settings, store) as replica:
        create_engine(settings, catalogue, store, Metrics(), replica=replica)


def create_engine(
    settings: Settings,
    catalogue: Catalogue,
    store: Store,
    metrics: Metrics,
    *,
    process: EngineProxy | None = None,
    replica: Replica | None = None,
) -> Engine:
    """Return the engine that the settings describe, over an engine process if one is given."""
    return Engine(
        catalogue,
        store,
        create_experiment(settings),
        create_rules(settings),
        timeout=settings.timeout_seconds,
        observe=observer(metrics),
        replica=replica,
        worker=process,
    )


def observer(metrics: Metrics) -> Callable[[str, float], None]:
    """Return what counts the things that the executor observes."""
    tell = {
        "recommend": metrics.recommend_seconds.observe,
        "learn": metrics.learn_seconds.observe,
        "batch": metrics.batch_size.observe,
        "slates": metrics.slates.inc,
        "feedback": metrics.feedback.inc,
        "new_users": metrics.new_users.inc,
        **{f"store_error {kind}": _counter(metrics, kind) for kind in ERROR_KINDS},
    }
    return lambda name, value: tell[name](value)


def _counter(metrics: Metrics, kind: str) -> Callable[[float], None]:
    return lambda _one: metrics.store_error(kind)
