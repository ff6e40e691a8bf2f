"""/docs: it works with no internet, and under our own Content-Security-Policy."""

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import pytest
import uvicorn
from fastapi.testclient import TestClient
from pydantic import BaseModel

from tests.service.shell import calling
from tests.service.whole import service
from variegate.engine.settings import Settings
from variegate.schemas import (
    BatchRequest,
    EventRequest,
    FeedbackRequest,
    NewItem,
    SlateRequest,
)
from variegate.service.app import create_app
from variegate.store import Store


class Page(HTMLParser):
    """What a page asks for, and what of it is inline."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open = tag
        for name, value in attrs:
            if name in ("src", "href") and value is not None:
                self.addresses.append(value)
            if name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}")

    def handle_data(self, data: str) -> None:
        if self._open in ("script", "style") and data.strip():
            self.inline.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._open = ""


@pytest.fixture
def client(store: Store) -> TestClient:
    return calling(store)


def test_page_has_nothing_inline(client: TestClient) -> None:
    assert Page(client.get("/docs").text).inline == []


def test_page_asks_this_machine_alone_and_gets_everything(client: TestClient) -> None:
    addresses = Page(client.get("/docs").text).addresses

    own = [urljoin("/docs", address) for address in addresses if not address.startswith("data:")]
    assert set(own) == {
        "/docs/swagger-ui.css",
        "/docs/swagger-ui-bundle.js",
        "/docs/start.js",
        "/openapi.json",
    }
    assert [client.get(address).status_code for address in own] == [200] * len(own)


def test_files_are_what_they_say(client: TestClient) -> None:
    script, style = client.get("/docs/swagger-ui-bundle.js"), client.get("/docs/swagger-ui.css")

    assert script.headers["content-type"].startswith("text/javascript")
    assert style.headers["content-type"].startswith("text/css")
    assert "SwaggerUIBundle" in script.text
    assert client.get("/docs/start.js").text.startswith("SwaggerUIBundle({")


@pytest.mark.parametrize("name", ["../app.py", "redoc.standalone.js", "..%2Fcore.py", ""])
def test_no_other_file_is_given(client: TestClient, name: str) -> None:
    assert client.get(f"/docs/{name}").status_code == 404


def test_styles_ask_nobody(client: TestClient) -> None:
    styles = client.get("/docs/swagger-ui.css").text

    asked = re.findall(r"url\(\s*[\"']?(.{5})", styles)
    assert set(asked) == {"data:"}


def test_every_operation_declares_the_errors_and_the_keys(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()

    operations = {
        (path, method): operation
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    assert ("/v1/ping", "get") in operations
    shape = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operation in operations.values():
        assert operation["responses"]["4XX"]["content"] == shape
        assert operation["responses"]["5XX"]["content"] == shape
    secured = {path for (path, _), operation in operations.items() if "security" in operation}
    assert secured == {"/v1/ping", "/metrics"}
    assert set(schema["components"]["securitySchemes"]) == {"bearer", "header"}
    assert "HTTPValidationError" not in schema["components"]["schemas"]


@pytest.fixture
def address(store: Store) -> Iterator[str]:
    config = uvicorn.Config(create_app(Settings(), store=store), port=0, log_config=None)
    server = uvicorn.Server(config)
    listener = config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_browser_shows_the_routes_and_complains_of_nothing(address: str) -> None:
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    options = ["--enable-logging=stderr", "--virtual-time-budget=20000", f"{address}/docs"]

    seen = subprocess.run([*command, *options], capture_output=True, text=True, check=True)

    assert 'data-path="/v1/ping"' in seen.stdout
    assert "CONSOLE" not in seen.stderr


def test_examples_of_request_bodies_are_valid() -> None:
    bodies: list[type[BaseModel]] = [
        SlateRequest,
        BatchRequest,
        FeedbackRequest,
        EventRequest,
        NewItem,
    ]
    for model in bodies:
        (example,) = model.model_json_schema()["examples"]
        assert model.model_validate(example).model_dump(exclude_unset=True) == example


def test_generated_clients_get_short_names_of_methods(tmp_path: Path) -> None:
    with service(tmp_path) as (app, _):
        schema = app.openapi()
    names = {one["operationId"] for path in schema["paths"].values() for one in path.values()}

    assert {"recommend", "feedback", "user", "history", "items", "forget", "report"} <= names
    assert len(names) == sum(map(len, schema["paths"].values()))
