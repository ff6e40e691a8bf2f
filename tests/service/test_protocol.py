"""Connections that hang up, that never read, that are too many: over real sockets."""

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event
from typing import Any, ClassVar

import pytest
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.responses import StreamingResponse

from tests.service.listening import ask, listening
from tests.service.whole import service
from tests.waiting import PATIENCE, until
from variegate.engine.settings import Settings
from variegate.service.app import create_app
from variegate.service.protocol import RESERVE, LimitedProtocol, default_max_connections
from variegate.service.routes import health
from variegate.service.routing import read_router
from variegate.store import Store

MUCH = 20_000_000


class HastyProtocol(LimitedProtocol):
    """Waits as long as a test may take, and shows what is open."""

    write_timeout = 0.3
    min_idle = 0.1
    max_connections = 6
    open: ClassVar[set[LimitedProtocol]] = set()
    made: ClassVar[list[LimitedProtocol]] = []

    def connection_made(self, transport: Any) -> None:
        self.open.add(self)
        self.made.append(self)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.open.discard(self)
        super().connection_lost(exc)


def routes() -> APIRouter:
    router = read_router()

    @router.post("/size")
    async def size(request: Request) -> int:
        return len(await request.body())

    @router.get("/much")
    async def much() -> Response:
        return Response(bytes(MUCH))

    @router.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(iter(lambda: bytes(65_536), None))

    return router


@pytest.fixture
def app(store: Store) -> FastAPI:
    return create_app(Settings(timeout_seconds=30), store=store, routers=[routes()])


@pytest.fixture
def port(app: FastAPI) -> Iterator[int]:
    HastyProtocol.made.clear()
    with listening(app, HastyProtocol) as port:
        yield port


def connected(port: int, sent: bytes = b"") -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", port))
    connection.sendall(sent)
    return connection


def waited(event: Event) -> None:
    """Wait for a test's word, as a check of readiness that hangs."""
    event.wait(PATIENCE)


def head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""]).encode()


def counted(app: FastAPI, status: int) -> list[str]:
    lines = app.state.metrics.text().decode().splitlines()
    return [line for line in lines if f'status="{status}"' in line]


@pytest.mark.parametrize(
    "path", ["/v1/users/ann/slates", "/v1/slates/x/feedback", "/v1/items", "/v1/import"]
)
def test_client_that_hangs_up_in_its_body_is_gone(
    tmp_path: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with service(tmp_path) as (app, _), listening(app) as port:
        with connected(port, head("POST", path, "Content-Length: 1000") + b'{"a": 1'):
            ask(port, "GET", "/v1/ping")

        until(lambda: bool(counted(app, 499)))

        (line,) = counted(app, 499)
        assert line.endswith(" 1.0")
        assert "unmatched" not in line
        assert (counted(app, 400), counted(app, 500)) == ([], [])
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize("path", ["/v1/much", "/v1/stream"])
@pytest.mark.parametrize("line", ["Accept: */*", "Connection: close"])
def test_answer_that_is_not_read_is_given_up(port: int, path: str, line: str) -> None:
    with connected(port, head("GET", path, line)):
        until(lambda: HastyProtocol.made and not HastyProtocol.open)


def test_small_answers_that_are_not_read_are_given_up(port: int) -> None:
    many = 200 * head("GET", "/v1/ping")
    with connected(port) as connection, suppress(ConnectionError):
        while True:  # until the server reads no more, and then until it gives up
            connection.sendall(many)

    until(lambda: not HastyProtocol.open)


def test_answer_that_is_read_slowly_is_whole(port: int) -> None:
    got = 0
    with connected(port, head("GET", "/v1/much", "Connection: close")) as connection:
        while piece := connection.recv(2**20):
            got += len(piece)
            time.sleep(0.001)

    assert got > MUCH


def test_idle_connections_make_room(port: int) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(port)) for _ in range(6)]
        until(lambda: len(HastyProtocol.open) == 6)
        time.sleep(HastyProtocol.min_idle)

        assert [ask(port, "GET", "/v1/ping")[0] for _ in range(2)] == [200, 200]
        assert idle[0].recv(1) == b""  # the one that was idle for the longest time


def test_probes_are_answered_where_there_is_no_room(app: FastAPI, port: int) -> None:
    with ExitStack() as stack:
        request = head("POST", "/v1/size", "Content-Length: 2", "Connection: close") + b"x"
        busy = [stack.enter_context(connected(port, request)) for _ in range(6)]
        until(lambda: sum(one.cycle is not None for one in HastyProtocol.open) == 6)

        assert ask(port, "GET", "/healthz")[0] == 200
        assert ask(port, "GET", "/readyz")[0] == 200
        status, body = ask(port, "GET", "/v1/ping")
        assert (status, body["type"]) == (503, "/problems/unavailable")
        assert "too many connections" in body["detail"]

        for connection in busy:
            connection.sendall(b"y")
        answers = [b"".join(iter(lambda: one.recv(9999), b"")) for one in busy]  # noqa: B023
        assert all(answer.endswith(b"\r\n\r\n2") for answer in answers)
    assert len(counted(app, 503)) == 1


def test_probes_are_not_endless_either(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first probes must still wait when the last one comes, however long that takes.
    monkeypatch.setattr(health, "TIMEOUT_SECONDS", 600.0)
    going = Event()
    app = create_app(Settings(), store=store, checks=[lambda: waited(going)])
    with listening(app, HastyProtocol) as port, ExitStack() as stack:
        probe = head("GET", "/readyz", "Connection: close")
        for number in range(HastyProtocol.max_connections + RESERVE):
            stack.enter_context(connected(port, probe))
            until(lambda: sum(one.cycle is not None for one in HastyProtocol.open) > number)  # noqa: B023

        with connected(port) as last:
            assert last.recv(9999).startswith(b"HTTP/1.1 503 ")
        going.set()


def test_room_is_left_for_other_files() -> None:
    import resource

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, most))
        assert default_max_connections() == 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
