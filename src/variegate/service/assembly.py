"""The service put together: settings in, an application out."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from variegate.catalogue import Catalogue
from variegate.service.app import create_app
from variegate.service.backroom import Messenger
from variegate.service.backroom.process import pays
from variegate.service.desk import Desk
from variegate.service.desk.desk import Submit
from variegate.service.metrics import Metrics
from variegate.service.parts import arms_of, catalogue_of, rules_of, warm_arms
from variegate.service.routes import desk_routes
from variegate.service.settings import Settings
from variegate.store import Store


def build_app(settings: Settings) -> FastAPI:
    """Open the catalogue and the store and return the service over them.

    The service closes the store when it stops.
    """
    metrics, store = Metrics(), Store.open(settings.store)
    messenger = None
    try:
        if pays(settings):
            messenger = Messenger(settings, observer(metrics))
            messenger.begin()
        catalogue = catalogue_of(settings)
        submit = None if messenger is None else messenger.submit
        desk = desk_of(settings, catalogue, store, metrics, submit)
        warm_arms(arms_of(settings), catalogue)
    except BaseException:
        if messenger is not None:
            messenger.abandon()
        store.close()
        raise

    metrics.watch_waiting(lambda: desk.waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with store:
            if messenger is not None:
                await messenger.open()
            desk.start()
            try:
                yield
            finally:
                desk.stop()
                if messenger is not None:
                    await messenger.close()

    return create_app(
        settings,
        store=store,
        routers=desk_routes(desk),
        lifespan=lifespan,
        metrics=metrics,
        checks=[] if messenger is None else [messenger.check],
    )


def check_startable(settings: Settings) -> None:
    """Raise what would keep every process of the service from starting."""
    with Store.open(settings.store) as store:
        desk_of(settings, catalogue_of(settings), store, Metrics())


def desk_of(
    settings: Settings,
    catalogue: Catalogue,
    store: Store,
    metrics: Metrics,
    submit: Submit | None = None,
) -> Desk:
    """Return the desk that the settings describe."""
    return Desk(
        catalogue,
        store,
        arms_of(settings),
        rules_of(settings),
        patience=settings.timeout_seconds,
        observe=observer(metrics),
        submit=submit,
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
    }
    return lambda name, value: tell[name](value)
