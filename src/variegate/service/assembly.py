"""The service put together: settings in, an application out."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from variegate.engine import Engine
from variegate.engine.opening import (
    catalogue_of,
    experiment_of,
    open_store,
    replica_of,
    rules_of,
    warm_policies,
)
from variegate.engine.process import EngineProxy, has_process
from variegate.engine.replicas import Replica
from variegate.engine.settings import Settings
from variegate.model.catalogue import Catalogue
from variegate.service.app import Lifespan, create_app
from variegate.service.metrics import ERROR_KINDS, Metrics
from variegate.service.routes import api_routes
from variegate.store import Store


def build_app(settings: Settings) -> FastAPI:
    """Open the catalogue and the store and return the service over them.

    The service closes the store when it stops.
    """
    metrics = Metrics()
    observe = observer(metrics)
    store, process = open_store(settings, observe), None
    try:
        replica = replica_of(settings, store)
        replica.join()
        if has_process(settings):
            process = EngineProxy(settings, observe, metrics.engine_restart)
            process.begin()
        catalogue = catalogue_of(settings)
        engine = create_engine(
            settings, catalogue, store, metrics, process=process, replica=replica
        )
        warm_policies(experiment_of(settings), catalogue)
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
    with Store.open(settings.store) as store, replica_of(settings, store):
        create_engine(settings, catalogue_of(settings), store, Metrics())


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
        experiment_of(settings),
        rules_of(settings),
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
