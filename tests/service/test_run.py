"""The service as a process: its socket, its limits, its beginning and its end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from fastapi import Request

from variegate.engine.settings import Settings
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.service.app import create_app
from variegate.service.keys import make_key, revoke_key
from variegate.service.protocol import LimitedProtocol
from variegate.service.routing import read_router
from variegate.service.run import bind_socket, check_exposure, local_url
from variegate.store import Store

ALL = "0.0.0.0"  # noqa: S104


class HastyProtocol(LimitedProtocol):
    """Waits for a head as long as a test may take."""

    header_timeout = 0.2


@pytest.fixture
def port(store: Store) -> Iterator[int]:
    """Answer in a thread, and return the port."""
    router = read_router()

    @router.post("/size")
    async def size(request: Request) -> int:
        return len(await request.body())

    settings = Settings(port=0, timeout_seconds=0.2)
    app = create_app(settings, store=store, routers=[router])
    listener = bind_socket(settings)
    server = uvicorn.Server(uvicorn.Config(app, http=HastyProtocol, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()


def talk(port: int, *pieces: bytes) -> bytes:
    """Return all that is answered until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_head_that_does_not_end_is_given_up(port: int) -> None:
    assert talk(port, b"GET /v1/ping HTTP/1.1\r\nHost: 127.0.0.1\r\nX-") == b""


def test_connection_that_says_nothing_is_given_up(port: int) -> None:
    assert talk(port) == b""


def test_head_that_grows_too_large_is_refused(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(b"GET /v1/ping HTTP/1.1\r\nX-Long: ")
        for _ in range(70):
            connection.sendall(b"x" * 1000)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 431 ")


def test_head_in_two_pieces_is_answered(port: int) -> None:
    rest = b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"

    assert talk(port, b"GET /v1/ping", rest).startswith(b"HTTP/1.1 200 ")


def test_body_that_does_not_come_is_given_up(port: int) -> None:
    head = b"POST /v1/size HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n12345"

    answer = talk(port, head)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"the body must be sent within 0.2 seconds"' in answer


@pytest.mark.parametrize("line", [b"GET /\xff HTTP/1.1", b"GET \x00 HTTP/1.1", b"nonsense"])
def test_request_line_that_is_none_is_malformed(port: int, line: bytes) -> None:
    assert talk(port, line + b"\r\nHost: 127.0.0.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_connection_serves_many_requests(port: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    statuses = []
    for _ in range(3):
        connection.request("GET", "/v1/ping")
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()

    assert statuses == [200, 200, 200]


def test_busy_port_is_reported_in_a_line() -> None:
    with bind_socket(Settings(port=0)) as listener:
        port = listener.getsockname()[1]

        with pytest.raises(
            InputError, match=rf"`port` {port} is in use at 127\.0\.0\.1: stop what"
        ):
            bind_socket(Settings(port=port))


@pytest.mark.parametrize("host", ["no such host", "192.0.2.1", "x" * 300])
def test_host_that_is_not_here_is_reported(host: str) -> None:
    with pytest.raises(InputError, match="`host` must be an address of this machine, got"):
        bind_socket(Settings(host=host, port=0))


@pytest.mark.parametrize("host", ["127.0.0.1", ALL])
def test_address_can_be_opened_from_here(host: str) -> None:
    with bind_socket(Settings(host=host, port=0)) as listener:
        assert local_url(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_service_for_others_wants_a_key(store: Store, tmp_path: Path) -> None:
    settings = Settings(host=ALL, store=f"sqlite:///{tmp_path}/store.db")
    message = r"`host` 0\.0\.0\.0 lets others .* `variegate keys make .* --allow-anonymous"

    with pytest.raises(InputError, match=message):
        check_exposure(settings)
    _, row = make_key(store, "admin", "me")
    check_exposure(settings)
    revoke_key(store, row.id)

    with pytest.raises(InputError, match=message):
        check_exposure(settings)


def test_password_is_not_reported_with_the_missing_key(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "open", lambda _: store)

    with pytest.raises(InputError, match=r"postgresql://me:\*\*\*@db/shop") as caught:
        check_exposure(Settings(host=ALL, store="postgresql://me:hunter2@db/shop"))

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("settings", [{"host": "::1"}, {"host": ALL, "allow_anonymous": True}])
def test_service_for_this_machine_or_reported_so_wants_none(settings: dict[str, object]) -> None:
    check_exposure(Settings(**settings, store="postgresql://nobody@nowhere.invalid/x"))  # type: ignore[arg-type]


@contextmanager
def running(tmp_path: Path, *options: str) -> "Iterator[subprocess.Popen[str]]":
    catalogue = tmp_path / "tiny.npz"
    rows = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6]]
    Catalogue(list("abcd"), rows, "cosine").save(catalogue)
    command = [sys.executable, "-m", "variegate", "serve", "--port", "0", "--k", "2"]
    files = ["--catalogue", str(catalogue), "--store", f"sqlite:///{tmp_path}/run.db"]
    process = subprocess.Popen(
        [*command, *files, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "VARIEGATE_CONFIG": ""},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def asked(address: str, path: str) -> tuple[int, str]:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.mark.parametrize(
    "options", [(), pytest.param(("--workers", "2"), marks=pytest.mark.slow)], ids=["one", "two"]
)
def test_process_says_where_it_is_answers_and_ends_well(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    with running(tmp_path, *options) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.partition(" at ")[2].split()[0]
        ping = asked(address, "/v1/ping")
        numbers = asked(address, "/metrics")[1]
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=60)

    assert line == f"variegate is running at {address} (API documentation: {address}/docs)\n"
    assert ping == (200, '{"status":"ok"}')
    assert 'variegate_requests_total{method="GET",route="/v1/ping",status="200"} 1.0' in numbers
    assert (process.returncode, rest) == (0, "")
    routes = [json.loads(entry)["route"] for entry in errors.splitlines()]
    assert routes == ["/v1/ping", "/metrics"]
