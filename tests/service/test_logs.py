"""Logs: what a line holds, and what it never holds."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import APIRouter

from tests.service.shell import calling
from variegate.engine.logs import (
    RequestLog,
    TimeFormatter,
    access_log,
    configure_logs,
    current_request,
    log_request,
    redact,
)
from variegate.service.keys import make_key
from variegate.service.routing import read_router
from variegate.store import Store


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    names = ("uvicorn.error", "uvicorn", "asyncio")
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in names}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    access_log.handlers.clear()
    access_log.propagate = True
    logging.getLogger("uvicorn.access").disabled = False
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def logged(stream: io.StringIO) -> list[dict[str, Any]]:
    for handler in access_log.handlers:
        handler.flush()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    # The test's client, in the same process, logs too.
    return [line for line in lines if not line.get("logger", "").startswith("httpx")]


def routes() -> APIRouter:
    router = read_router()

    @router.get("/users/{user}")
    async def user(user: str) -> str:
        logging.getLogger("variegate.test").warning("a user was looked at")
        if user == "broken":
            raise KeyError("vgk_1234_topsecret")
        return user

    return router


def test_request_is_one_line_with_the_route_and_without_the_user(store: Store) -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)

    calling(store, routes()).get("/v1/users/alice@example.com", headers={"X-Request-ID": "r1"})

    record, line = logged(stream)
    assert record["message"] == "a user was looked at"
    assert record["request_id"] == "r1"
    assert set(line) == {
        "time", "level", "message", "request_id", "method", "route", "status", "ms",
    }  # fmt: skip
    assert (line["method"], line["route"], line["status"]) == ("GET", "/v1/users/{user}", 200)
    assert line["request_id"] == "r1"
    assert 0 < line["ms"] < 60_000
    assert "alice" not in f"{record}{line}"


def test_line_has_the_id_of_the_key_and_nothing_more_of_it(store: Store) -> None:
    key, row = make_key(store, "write", "shop")
    stream = io.StringIO()
    configure_logs("debug", "json", stream)

    calling(store, routes()).get("/v1/ping", headers={"Authorization": f"Bearer {key}"})

    assert [line["key"] for line in logged(stream) if line["message"] == "request"] == [row.id]
    assert key.split("_")[2] not in stream.getvalue()


def test_stack_is_logged_without_secrets(store: Store) -> None:
    stream = io.StringIO()
    configure_logs("error", "json", stream)

    calling(store, routes()).get("/v1/users/broken", headers={"X-Request-ID": "r2"})

    (line,) = logged(stream)
    assert (line["level"], line["message"], line["request_id"]) == (
        "error", "a request failed", "r2",
    )  # fmt: skip
    assert "KeyError: 'vgk_1234_***'" in line["stack"]


def test_unknown_path_is_not_logged(store: Store) -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)

    calling(store).get("/v1/alice")

    (line,) = logged(stream)
    assert (line["route"], line["status"]) == ("unmatched", 404)


@pytest.mark.parametrize(("level", "lines"), [("info", 0), ("debug", 1)])
def test_probes_are_logged_for_debugging_alone(store: Store, level: str, lines: int) -> None:
    stream = io.StringIO()
    configure_logs(level, "json", stream)

    calling(store).get("/healthz")

    own = [line for line in logged(stream) if line["message"] == "request"]
    assert len(own) == lines


def test_text_says_the_same() -> None:
    stream = io.StringIO()
    configure_logs("info", "text", stream)
    token = current_request.set("r3")

    async def both() -> None:
        logging.getLogger("variegate.x").error("two\nlines", extra={"fields": {"a": 1}})
        log_request(logging.INFO, RequestLog("r3", "GET", "/v1/ping", 200, 1.5, ""))

    asyncio.run(both())
    current_request.reset(token)
    for handler in access_log.handlers:
        handler.flush()

    first, second = stream.getvalue().splitlines()
    assert first.split(" ", 1)[1] == r"error   two\nlines a=1 request_id=r3"
    assert second.split(" ", 1)[1] == (
        "info    request request_id=r3 method=GET route=/v1/ping status=200 ms=1.5"
    )


def test_text_has_the_stack_below() -> None:
    stream = io.StringIO()
    configure_logs("info", "text", stream)

    try:
        raise KeyError("x")
    except KeyError:
        logging.getLogger("variegate.x").exception("it broke")

    assert stream.getvalue().splitlines()[-1] == "KeyError: 'x'"


def test_lines_are_written_soon_without_being_asked() -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)

    async def wait_for_lines() -> None:
        for number in range(3):
            log_request(logging.INFO, RequestLog(str(number), "GET", "/", 200, 1.0, ""))
        async with asyncio.timeout(5):
            while stream.getvalue().count("\n") < 3:
                await asyncio.sleep(0.001)

    asyncio.run(wait_for_lines())

    assert [line["request_id"] for line in logged(stream)] == ["0", "1", "2"]


def test_others_logging_gets_requests_as_records(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        log_request(logging.INFO, RequestLog("r", "GET", "/", 200, 1.0, "k"))

    (record,) = caplog.records
    assert record.fields["key"] == "k"  # type: ignore[attr-defined]


def test_server_is_quiet_unless_debugging() -> None:
    configure_logs("info", "json", io.StringIO())

    assert not logging.getLogger("uvicorn.error").isEnabledFor(logging.INFO)
    assert logging.getLogger("uvicorn.access").disabled


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        ("nothing here", "nothing here"),
        ("key vgk_ab12_deadbeef!", "key vgk_ab12_***!"),
        ("vgk_a_b_c vgk_d_e", "vgk_a_*** vgk_d_***"),
        ("postgresql+psycopg://me:p%40ss@db/x", "postgresql+psycopg://me:***@db/x"),
        ("http://127.0.0.1:8000/docs", "http://127.0.0.1:8000/docs"),
    ],
)
def test_secrets_are_starred(line: str, clean: str) -> None:
    assert redact(line) == clean


def test_times_are_iso_in_utc() -> None:
    moments = TimeFormatter()

    assert moments.format(0.9999) == "1970-01-01T00:00:00.999Z"
    assert moments.format(86_400.25) == "1970-01-02T00:00:00.250Z"
