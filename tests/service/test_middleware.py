"""What every request passes: ids, limits, headers, and the last resort."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import APIRouter, Request
from fastapi.testclient import TestClient
from starlette.responses import StreamingResponse
from starlette.types import Message, Scope

from tests.service.shell import calling, problem
from variegate.service.middleware import (
    SECURITY_HEADERS,
    Exchange,
    RateLimiter,
    is_malformed,
    rate_client,
)
from variegate.service.routing import RequestContext, read_router, request_context
from variegate.store import Store


def routes() -> APIRouter:
    router = read_router()

    @router.post("/size")
    async def size(request: Request) -> int:
        return len(await request.body())

    @router.post("/import")
    async def take_much(request: Request) -> int:
        request_context(request).max_body = 10_000
        return len(await request.body())

    @router.get("/broken/{user}")
    async def broken(user: str) -> None:
        raise KeyError(f"secret of {user}")

    @router.get("/half")
    async def half() -> StreamingResponse:
        async def parts() -> Any:
            yield b"a"
            raise KeyError("secret")

        return StreamingResponse(parts())

    return router


@pytest.fixture
def client(store: Store) -> TestClient:
    return calling(store, routes(), max_body=1000)


@pytest.mark.parametrize("sane", ["a", "x" * 64, "0f-A_b.9"])
def test_sane_request_id_is_kept(client: TestClient, sane: str) -> None:
    answer = client.get("/v1/ping", headers={"X-Request-ID": sane})

    assert answer.headers["x-request-id"] == sane


@pytest.mark.parametrize("mad", ["", "x" * 65, "a b", 'a"', "a\tb", "é"])
def test_other_request_id_is_replaced(client: TestClient, mad: str) -> None:
    answers = [client.get("/v1/ping", headers={b"X-Request-ID": mad.encode()}) for _ in range(2)]

    first, second = (answer.headers["x-request-id"] for answer in answers)
    assert mad != first != second


@pytest.mark.parametrize("given", ["vgk_0f0f_" + "a" * 48, "x-VGK_1_2", "vgk_"])
def test_key_sent_as_request_id_is_neither_logged_nor_sent_back(
    client: TestClient, given: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")

    answer = client.get("/v1/ping", headers={"X-Request-ID": given})

    assert given not in str(answer.headers)
    assert "vgk_" not in caplog.text.lower()
    assert "vgk_" not in str([vars(record) for record in caplog.records]).lower()


@pytest.mark.parametrize("path", ["/v1/ping", "/healthz", "/nothing", "/docs", "/v1/broken/x"])
def test_every_answer_has_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers

    for name, value in SECURITY_HEADERS:
        assert headers[name.decode()] == value.decode()
    assert "unsafe" not in headers["content-security-policy"]


def test_pages_may_load_images_from_the_origins_in_the_settings(store: Store) -> None:
    client = calling(store, image_origins=("https://cdn.shop.example",))

    page, api = (client.get(path).headers["content-security-policy"] for path in ("/", "/v1/ping"))

    assert "; img-src 'self' data: https://cdn.shop.example; " in page
    assert "shop.example" not in api


def test_answers_about_users_are_not_cached(client: TestClient) -> None:
    assert client.get("/v1/ping").headers["cache-control"] == "no-store"
    assert "cache-control" not in client.get("/healthz").headers


def test_body_up_to_the_limit_is_taken(client: TestClient) -> None:
    assert client.post("/v1/size", content=b"x" * 1000).json() == 1000


def pieces(number: int) -> Iterator[bytes]:
    yield from (b"x" * 100 for _ in range(number))


def test_body_in_pieces_up_to_the_limit_is_taken(client: TestClient) -> None:
    assert client.post("/v1/size", content=pieces(10)).json() == 1000


@pytest.mark.parametrize("content", [b"x" * 1001, pieces(11)], ids=["at once", "in pieces"])
def test_body_above_the_limit_is_refused(client: TestClient, content: Any) -> None:
    answer = client.post("/v1/size", content=content)

    assert answer.status_code == 413
    assert problem(answer)["detail"] == "the body must have at most 1000 bytes"
    assert answer.headers["connection"] == "close"


def test_route_can_take_more(client: TestClient) -> None:
    assert client.post("/v1/import", content=b"x" * 5000).json() == 5000
    assert client.post("/v1/import", content=b"x" * 10_001).status_code == 413


async def never() -> Message:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


async def nowhere(_: Message) -> None:
    return


def test_slow_body_is_given_up() -> None:
    exchange = Exchange(RequestContext("id", 1000), {}, never, nowhere, timeout=0.001)

    with pytest.raises(Exception, match=r"within 0\.001 seconds") as caught:
        asyncio.run(exchange.receive())

    assert getattr(caught.value, "status_code", 0) == 408


def test_waiting_for_the_end_of_a_connection_has_no_limit() -> None:
    messages: list[Message] = [
        {"type": "http.request", "body": b""},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        # The body is there at once; the end lets the loop turn, which a limit of 0 would use.
        for _ in range(3 * (2 - len(messages))):
            await asyncio.sleep(0)
        return messages.pop(0)

    async def both() -> list[str]:
        exchange = Exchange(RequestContext("id", 1000), {}, receive, nowhere, timeout=0.0)
        return [(await exchange.receive())["type"] for _ in range(2)]

    assert asyncio.run(both()) == ["http.request", "http.disconnect"]


def test_exception_tells_the_log_and_nobody_else(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.get("/v1/broken/alice")

    assert answer.status_code == 500
    assert problem(answer)["kind"] == "internal"
    assert "secret" not in answer.text
    (record,) = (record for record in caplog.records if record.levelno == logging.ERROR)
    assert record.exc_info is not None
    assert "secret of alice" in str(record.exc_info[1])


def test_exception_after_the_head_is_logged_too(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    client.get("/v1/half")

    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "a request failed"
    ]


@pytest.mark.parametrize(
    "path", ["/v1/%ff", "/v1/%c3%28", "/v1/a%00b", "/v1/ping?a=%ff", "/v1/ping?a=%00"]
)
def test_bytes_that_are_no_text_are_refused(client: TestClient, path: str) -> None:
    answer = client.get(path)

    assert answer.status_code == 400
    assert problem(answer)["kind"] == "malformed"


@pytest.mark.parametrize("path", ["/v1/%EF%BF%BD", "/v1/é", "/v1/ping?id=%C3%A9"])
def test_text_of_all_kinds_is_let_through(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in (200, 404)


def test_path_without_its_raw_form_is_read_as_it_is() -> None:
    scope: Scope = {"path": "/v1/\ufffd", "query_string": b""}

    assert not is_malformed(scope)


def test_requests_above_the_rate_wait(store: Store) -> None:
    client = calling(store, rate=0.001, burst=2)

    statuses = [client.get("/v1/ping").status_code for _ in range(2)]
    late = client.get("/v1/ping")

    assert statuses == [200, 200]
    assert late.status_code == 429
    assert problem(late)["detail"] == "more than 0.001 requests per second: try again later"
    assert 900 < int(late.headers["retry-after"]) <= 1000


def test_probes_are_never_limited(store: Store) -> None:
    client = calling(store, rate=0.001, burst=1)

    assert {client.get("/healthz").status_code for _ in range(3)} == {200}


def test_refusals_are_counted(store: Store) -> None:
    client = calling(store, rate=0.001, burst=2)
    for _ in range(4):
        client.get("/v1/ping")

    text = client.app.state.metrics.text().decode()  # type: ignore[attr-defined]

    assert 'variegate_refused_total{reason="rate"} 2.0' in text


def test_bucket_lets_no_more_than_its_rate() -> None:
    limiter = RateLimiter(rate=10, size=3)

    taken = sum(limiter.acquire("a", now=step / 100) == 0 for step in range(1001))

    assert taken == 3 + 10 * 10


def test_bucket_is_no_fuller_after_a_long_rest() -> None:
    limiter = RateLimiter(rate=10, size=2)
    limiter.acquire("a", now=0.0)

    assert [limiter.acquire("a", now=1000.0) for _ in range(3)] == [0.0, 0.0, pytest.approx(0.1)]


def test_buckets_are_bounded_and_forget_who_was_longest_away() -> None:
    limiter = RateLimiter(rate=1e-9, size=1)
    limiter.acquire("first", now=0.0)
    limiter.acquire("second", now=0.0)
    limiter.acquire("first", now=0.0)
    for number in range(9_999):
        limiter.acquire(str(number), now=0.0)

    assert limiter.acquire("first", now=0.0) > 0
    assert limiter.acquire("second", now=0.0) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2001:db8::1", "2001:db8::ffff:1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::2"),
    ],
)
def test_addresses_of_one_client(one: str, other: str) -> None:
    assert rate_client(one) == rate_client(other)


@pytest.mark.parametrize(
    ("one", "other"), [("2001:db8::1", "2001:db8:0:1::1"), ("10.0.0.1", "10.0.0.2"), (":x", ":y")]
)
def test_addresses_of_two_clients(one: str, other: str) -> None:
    assert rate_client(one) != rate_client(other)


def test_refusals_can_be_read_by_a_configured_page(store: Store) -> None:
    client = calling(store, cors_origins=("https://shop.example",), rate=0.001, burst=1)
    headers = {"Origin": "https://shop.example"}
    client.get("/v1/ping", headers=headers)

    answer = client.get("/v1/ping", headers=headers)

    assert answer.status_code == 429
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"


def test_cors_is_off_by_default(client: TestClient) -> None:
    preflight = client.options(
        "/v1/ping",
        headers={"Origin": "https://a.example", "Access-Control-Request-Method": "GET"},
    )

    assert preflight.status_code == 405
    assert "access-control-allow-origin" not in preflight.headers
