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


def problem(answer: Any) -> dict[str, Any]:
    """Return the content of an error, with its `kind`, in the format of all errors."""
    content: dict[str, Any] = answer.json()
    fields = {"type", "title", "status", "detail", "request_id"}
    assert fields <= set(content) <= fields | {"errors"}
    assert answer.headers["content-type"] == "application/problem+json"
    assert content["status"] == answer.status_code
    assert content["request_id"] == answer.headers["x-request-id"]
    return content | {"kind": content["type"].rpartition("/")[2]}


def numbers(client: TestClient, **headers: str) -> dict[str, float]:
    """Return the values of /metrics, by series."""
    lines = client.get("/metrics", headers=headers).text.splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}
