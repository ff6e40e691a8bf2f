"""The service's shell without its work: an application over a store in a folder of its own."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from fastapi.testclient import TestClient

from variegate.engine.settings import Settings
from variegate.service.app import create_app
from variegate.service.metrics import Metrics
from variegate.store import Store

#: Makes a client of a new application: routers first, then settings.
Calling = Callable[..., TestClient]


def calling(store: Store, *routers: APIRouter, **settings: Any) -> TestClient:
    """Return a client whose requests come from this machine, by its name."""
    app = create_app(Settings(**settings), store=store, routers=routers, metrics=Metrics())
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def problem(answer: Any) -> dict[str, str]:
    """Return the error of an answer, which has nothing else."""
    (name, content), *rest = answer.json().items()
    assert (name, rest) == ("error", [])
    assert set(content) == {"code", "message", "request_id"}
    assert content["request_id"] == answer.headers["x-request-id"]
    return dict(content)


def numbers(client: TestClient, **headers: str) -> dict[str, float]:
    """Return the values of /metrics, by series."""
    lines = client.get("/metrics", headers=headers).text.splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}
