"""The service put together: settings in, an application out."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from variegate.engine import Desk
from variegate.engine.opening import (
    arms_of,
    catalogue_of,
    open_store,
    replica_of,
    rules_of,
    warm_arms,
)
from variegate.engine.process import EngineProxy, has_process
from variegate.engine.replicas import Replica
from variegate.engine.settings import Settings
from variegate.model.catalogue import Catalogue
from variegate.service.app import Lifespan, create_app
from variegate.service.metrics import ERROR_KINDS, Metrics
from variegate.service.routes import desk_routes
from variegate.store import Store


def build_app(settings: Settings) -> FastAPI:
    """Open the catalogue and the store and return the service over them.

    The service closes the store when it stops.
    """
    metrics = Metrics()
    observe = observer(metrics)
    store, engine = open_store(settings, observe), None
    try:
        replica = replica_of(settings, store)
        replica.join()
        if has_process(settings):
            engine = EngineProxy(settings, observe, metrics.engine_restart)
            engine.begin()
        catalogue = catalogue_of(settings)
        desk = desk_of(settings, catalogue, store, metrics, engine=engine, replica=replica)
        warm_arms(arms_of(settings), catalogue)
    except BaseException:
        if engine is not None:
            engine.abandon()
        store.close()
        raise

    metrics.watch_waiting(lambda: desk.waiting)

    return create_app(
        settings,
        store=store,
        routers=desk_routes(desk),
        lifespan=_lifespan(store, desk, engine, replica),
        metrics=metrics,
        checks=[desk.check],
    )


def _lifespan(store: Store, desk: Desk, engine: EngineProxy | None, replica: Replica) -> Lifespan:
    """Return what starts the engine with the server, and ends both together."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with store:
            if engine is not None:
                await engine.open()
                replica.leave_quietly()  # the engine process is the one that writes
            desk.start()
            try:
                yield
            finally:
                desk.stop()
                if engine is None:
                    replica.leave_quietly()
                else:
                    await engine.close()

    return lifespan


def check_startable(settings: Settings) -> None:
    """Raise what would keep every process of the service from starting."""
    with Store.open(settings.store) as store, replica_of(settings, store):
        desk_of(settings, catalogue_of(settings), store, Metrics())


def desk_of(
    settings: Settings,
    catalogue: Catalogue,
    store: Store,
    metrics: Metrics,
    *,
    engine: EngineProxy | None = None,
    replica: Replica | None = None,
) -> Desk:
    """Return the desk that the settings describe, over an engine process if one is given."""
    return Desk(
        catalogue,
        store,
        arms_of(settings),
        rules_of(settings),
        timeout=settings.timeout_seconds,
        observe=observer(metrics),
        replica=replica,
        worker=engine,
    )


def observer(metrics: Metrics) -> Callable[[str, float], None]:
    """Return what counts the things that a settler observes."""
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
