"""The service put together: settings in, an application out."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from variegate.catalogue import Catalogue
from variegate.policies.warming import warm_policy
from variegate.service.app import create_app
from variegate.service.desk import Arms, Desk, Rules
from variegate.service.metrics import Metrics
from variegate.service.routes import desk_routes
from variegate.service.settings import Settings
from variegate.store import Store


def build_app(settings: Settings) -> FastAPI:
    """Open the catalogue and the store and return the service over them.

    The service closes the store when it stops.
    """
    catalogue, arms = catalogue_of(settings), arms_of(settings)
    for name in arms.names:
        warm_policy(arms.new_policy(name, catalogue))  # no user waits for the compiler
    store, metrics = Store.open(settings.store), Metrics()
    try:
        desk = desk_of(settings, catalogue, store, metrics)
    except BaseException:
        store.close()
        raise

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        desk.start()
        try:
            yield
        finally:
            desk.stop()
            store.close()

    return create_app(
        settings, store=store, routers=desk_routes(desk), lifespan=lifespan, metrics=metrics
    )


def check_startable(settings: Settings) -> None:
    """Raise what would keep every process of the service from starting."""
    with Store.open(settings.store) as store:
        desk_of(settings, catalogue_of(settings), store, Metrics())


def catalogue_of(settings: Settings) -> Catalogue:
    """Return the catalogue of the settings, or the bundled films."""
    if settings.catalogue is not None:
        return Catalogue.load(settings.catalogue)
    from variegate.films import film_catalogue

    return film_catalogue()


def desk_of(settings: Settings, catalogue: Catalogue, store: Store, metrics: Metrics) -> Desk:
    """Return the desk that the settings describe."""
    return Desk(
        catalogue,
        store,
        arms_of(settings),
        rules_of(settings),
        patience=settings.timeout_seconds,
        observe=_observer(metrics),
    )


def arms_of(settings: Settings) -> Arms:
    """Return the policies of the settings."""
    return Arms(settings.policies, settings.split, settings.seed)


def rules_of(settings: Settings) -> Rules:
    """Return how lists are given and feedback is taken."""
    names = Rules.__dataclass_fields__
    return Rules(**{name: getattr(settings, name) for name in names})


def _observer(metrics: Metrics) -> Callable[[str, float], None]:
    tell = {
        "recommend": metrics.recommend_seconds.observe,
        "learn": metrics.learn_seconds.observe,
        "batch": metrics.batch_size.observe,
        "slates": metrics.slates.inc,
        "feedback": metrics.feedback.inc,
        "new_users": metrics.new_users.inc,
    }
    return lambda name, value: tell[name](value)
