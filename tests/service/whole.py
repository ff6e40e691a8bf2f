"""The real service in this process: a small shop, its engine, its routes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI

from variegate import Catalogue
from variegate.engine import Engine
from variegate.engine.factory import create_executor
from variegate.engine.settings import Settings
from variegate.model.distances import difference, hamming, jaccard
from variegate.service.app import api_routers, create_app
from variegate.service.metrics import Metrics
from variegate.store import Store

ITEMS = 12


def shop() -> Catalogue:
    """Return twelve items with a distance of every kind that takes values of its own."""
    rng = np.random.default_rng(5)
    return Catalogue(
        [f"item-{number}" for number in range(ITEMS)],
        rng.uniform(-0.5, 0.5, (ITEMS, 3)),
        [
            "cosine",
            jaccard([["tea"], ["rye", "jam"], ["tea", "jam"]] * 4, name="kinds"),
            hamming(["red", "green"] * 6, name="colour"),
            difference(np.linspace(1.0, 9.0, ITEMS), name="price"),
        ],
        titles=[f"Item {number}" for number in range(ITEMS)],
        attributes={"maker": ["us", "them"] * 6},
    )


@contextmanager
def service(
    folder: Path, *, items: Catalogue | None = None, **options: Any
) -> Iterator[tuple[FastAPI, Engine]]:
    """Give an application that answers everybody, and its engine; stop both in the end."""
    store_url = f"sqlite:///{folder}/whole.db"
    settings = Settings(store=store_url, allow_anonymous=True, k=3, **options)
    with Store.open(settings.store) as store:
        metrics = Metrics()
        executor = create_executor(
            settings, shop() if items is None else items, store, metrics.observe
        )
        engine = Engine(executor, timeout=settings.timeout_seconds)
        engine.start()
        try:
            yield (
                create_app(
                    settings,
                    store=store,
                    routers=api_routers(engine, page=settings.page),
                    metrics=metrics,
                ),
                engine,
            )
        finally:
            engine.stop()
