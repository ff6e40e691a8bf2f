"""Keys: made, checked, revoked; who is let in where."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient

from tests.service.shell import calling, numbers, problem
from variegate.engine.settings import Settings
from variegate.errors import InputError, NotFoundError, StoreError
from variegate.service.app import create_app
from variegate.service.keys import KeyCache, list_keys, make_key, new_key, revoke_key
from variegate.service.routing import (
    admin_router,
    read_router,
    request_context,
    write_router,
)
from variegate.store import Reader, Store


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FlakyStore(Store):
    """A store that can go away."""

    def __init__(self, store: Store) -> None:
        super().__init__(store._database)
        self.is_away = False

    @contextmanager
    def reading(self, *, timeout: float | None = None) -> Iterator[Reader]:
        if self.is_away:
            raise StoreError("the database is away")
        with super().reading(timeout=timeout) as reader:
            yield reader


def routes() -> list[APIRouter]:
    readers, writers, admins = read_router(), write_router(), admin_router()

    @readers.get("/for-readers")
    async def for_readers() -> str:
        return "read"

    @writers.get("/for-writers")
    async def for_writers() -> str:
        return "write"

    @admins.get("/for-admins")
    async def for_admins() -> str:
        return "admin"

    return [readers, writers, admins]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_key_is_reported_once_and_kept_as_a_hash(store: Store) -> None:
    key, row = make_key(store, "write", " shop ")

    prefix, own_id, secret = key.split("_")
    assert (prefix, own_id, row.name) == ("vgk", row.id, "shop")
    assert len(secret) == 48
    (kept,) = list_keys(store)
    assert kept == row
    assert secret not in repr(kept)


def test_keys_differ() -> None:
    assert len({new_key("write", "x", now=0.0)[0] for _ in range(100)}) == 100


@pytest.mark.parametrize(
    ("role", "name", "message"),
    [
        ("root", "x", "`role` must be one of read, write, admin, got 'root'"),
        ("write", "", "`name` must be a line of 1 to 100 characters, got ''"),
        ("write", "a\nb", "`name` must be a line"),
        ("write", "x" * 101, "`name` must be a line"),
    ],
)
def test_key_that_cannot_be_made(role: str, name: str, message: str) -> None:
    with pytest.raises((InputError, NotFoundError), match=message):
        new_key(role, name, now=0.0)


def test_ring_knows_good_keys_alone(store: Store) -> None:
    key, row = make_key(store, "admin", "me")
    ring = KeyCache(store)
    ring.load()

    assert ring.check(key) == row
    wrong = [
        "",
        "vgk",
        key[:-1],
        key + "0",
        key.upper(),
        key.replace("vgk", "xyz"),
        f" {key}",
        "é_é_é",
    ]
    assert [ring.check(text) for text in wrong] == [None] * len(wrong)


def test_revoked_key_is_refused_within_two_seconds(store: Store) -> None:
    key, row = make_key(store, "write", "shop")
    clock = Clock()
    ring = KeyCache(store, clock=clock)
    asyncio.run(ring.refresh())
    assert ring.check(key) is not None

    assert revoke_key(store, row.id) == row
    clock.now = 2.01
    assert ring.is_stale
    asyncio.run(ring.refresh())

    assert ring.check(key) is None
    assert ring.has_keys


def test_fresh_ring_does_not_ask_the_store(store: Store) -> None:
    clock = Clock()
    ring = KeyCache(store, clock=clock)
    ring.load()

    clock.now = 0.99
    assert not ring.is_stale
    clock.now = 1.01
    assert ring.is_stale


def test_whole_key_can_be_given_to_revoke(store: Store) -> None:
    key, row = make_key(store, "write", "shop")

    assert revoke_key(store, key).id == row.id
    assert list_keys(store)[0].revoked is not None


def test_unknown_key_cannot_be_revoked_and_its_secret_is_not_reported(store: Store) -> None:
    with pytest.raises(NotFoundError, match=r"no key has the id 'abc': see") as caught:
        revoke_key(store, "vgk_abc_topsecret")

    assert "topsecret" not in str(caught.value)


def test_known_keys_hold_while_the_store_is_away(store: Store) -> None:
    key, _ = make_key(store, "write", "shop")
    clock, flaky = Clock(), FlakyStore(store)
    ring = KeyCache(flaky, clock=clock)
    asyncio.run(ring.refresh())

    flaky.is_away, clock.now = True, 100.0
    asyncio.run(ring.refresh())

    assert ring.check(key) is not None


def test_store_that_was_never_reached_is_reported() -> None:
    class Away(FlakyStore):
        def __init__(self) -> None:
            self.is_away = True

    with pytest.raises(StoreError, match="the store that holds the keys cannot be reached"):
        asyncio.run(KeyCache(Away()).refresh())


def test_without_keys_everybody_here_is_admin(store: Store) -> None:
    assert calling(store, *routes()).get("/v1/for-admins").json() == "admin"


def test_without_keys_a_listener_for_others_lets_nobody_in(store: Store) -> None:
    client = calling(store, *routes(), host="0.0.0.0")  # noqa: S104

    assert client.get("/v1/for-readers").status_code == 401


def test_reported_so_it_lets_everybody_in(store: Store) -> None:
    client = calling(store, *routes(), host="0.0.0.0", allow_anonymous=True)  # noqa: S104

    answer = client.get("/v1/for-admins", headers={"Host": "shop.example"})

    assert answer.json() == "admin"


@pytest.mark.parametrize(
    ("role", "path", "status"),
    [
        ("read", "/v1/for-readers", 200),
        ("read", "/v1/for-writers", 403),
        ("read", "/metrics", 200),
        ("write", "/v1/for-readers", 200),
        ("write", "/v1/for-writers", 200),
        ("write", "/v1/for-admins", 403),
        ("admin", "/v1/for-writers", 200),
        ("admin", "/v1/for-admins", 200),
    ],
)
def test_role_decides(store: Store, role: str, path: str, status: int) -> None:
    key, _ = make_key(store, role, "x")
    client = calling(store, *routes())

    assert client.get(path, headers=bearer(key)).status_code == status
    assert client.get(path, headers={"X-API-Key": key}).status_code == status


def test_refusal_of_a_client_says_the_role(store: Store) -> None:
    key, _ = make_key(store, "write", "x")

    answer = calling(store, *routes()).get("/v1/for-admins", headers=bearer(key))

    assert problem(answer)["detail"] == "this needs a key with the role admin"


@pytest.mark.parametrize("path", ["/v1/for-readers", "/v1/for-admins", "/v1/ping", "/metrics"])
def test_without_a_key_the_answer_says_how_to_send_one(store: Store, path: str) -> None:
    make_key(store, "write", "x")

    answer = calling(store, *routes()).get(path)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer <key>" in problem(answer)["detail"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs", "/openapi.json"])
def test_probes_and_docs_need_no_key(store: Store, path: str) -> None:
    make_key(store, "write", "x")

    assert calling(store, *routes()).get(path).status_code == 200


def test_wrong_key_is_refused_and_counted(store: Store) -> None:
    key, _ = make_key(store, "write", "x")
    client = calling(store, *routes())

    answer = client.get("/v1/ping", headers=bearer(key + "0"))
    client.get("/v1/ping")

    assert answer.status_code == 401
    assert problem(answer)["detail"] == "the key is unknown or revoked"
    found = numbers(client, **bearer(key))
    assert found['variegate_refused_total{reason="bad_key"}'] == 1
    assert found['variegate_refused_total{reason="no_key"}'] == 1


@pytest.mark.parametrize(
    "headers", [bearer("vgk_a_b"), {"X-API-Key": "x"}, {"X-API-Key": ""}], ids=str
)
def test_unknown_key_is_refused_even_where_none_is_needed(
    store: Store, headers: dict[str, str]
) -> None:
    assert calling(store).get("/v1/ping", headers=headers).status_code == 401


def test_other_ways_to_authorise_are_no_keys(store: Store) -> None:
    headers = {"Authorization": "Basic bWU6cHc="}
    assert calling(store).get("/v1/ping", headers=headers).status_code == 200
    key, _ = make_key(store, "write", "x")

    assert calling(store).get("/v1/ping", headers=headers).status_code == 401
    assert calling(store).get("/v1/ping", headers={**headers, "X-API-Key": key}).status_code == 200


def test_service_stays_closed_when_every_key_was_revoked(store: Store) -> None:
    _, row = make_key(store, "write", "x")
    revoke_key(store, row.id)

    assert calling(store, *routes()).get("/v1/ping").status_code == 401


def test_stranger_does_not_get_a_body_read(store: Store) -> None:
    make_key(store, "write", "x")
    router = read_router()

    @router.post("/body")
    async def take(body: dict[str, int]) -> int:
        return len(body)

    answer = calling(store, router).post("/v1/body", content=b"not JSON")

    assert answer.status_code == 401


def test_rate_is_counted_by_key(store: Store) -> None:
    keys = [make_key(store, "write", name)[0] for name in "ab"]
    client = calling(store, rate=0.001, burst=1)

    statuses = [client.get("/v1/ping", headers=bearer(key)).status_code for key in (*keys, *keys)]

    assert statuses == [200, 200, 429, 429]


def test_route_learns_who_calls(store: Store) -> None:
    from fastapi import Request

    router = read_router()

    @router.get("/me")
    async def me(request: Request) -> list[str]:
        call = request_context(request)
        return [call.key.name if call.key else "", str(call.role)]

    key, _ = make_key(store, "write", "shop")

    assert calling(store, router).get("/v1/me", headers=bearer(key)).json() == ["shop", "write"]


def test_store_that_is_away_gives_503(store: Store) -> None:
    flaky = FlakyStore(store)
    flaky.is_away = True
    client = TestClient(
        create_app(Settings(), store=flaky),
        base_url="http://127.0.0.1",
        raise_server_exceptions=False,
    )

    answers = {path: client.get(path) for path in ("/v1/ping", "/readyz", "/healthz")}

    assert {path: answer.status_code for path, answer in answers.items()} == {
        "/v1/ping": 503,
        "/readyz": 503,
        "/healthz": 200,
    }
    assert answers["/v1/ping"].headers["retry-after"] == "1"
    assert problem(answers["/readyz"])["detail"] == "the service is not ready: see its log"
    assert answers["/readyz"].headers["retry-after"] == "1"


def test_route_that_says_nothing_of_keys_is_not_taken(store: Store) -> None:
    router = APIRouter()

    @router.get("/v1/oops")
    async def oops() -> None: ...

    with pytest.raises(InputError, match=r"got the public route /v1/oops"):
        create_app(Settings(), store=store, routers=[router])


def test_key_of_an_earlier_version_writes(store: Store) -> None:
    key, row = new_key("write", "old", now=0.0)
    with store.batch() as batch:
        batch.add_key(row._replace(role="client"))
    client = calling(store, *routes())

    assert client.get("/v1/for-writers", headers=bearer(key)).status_code == 200
    assert client.get("/v1/for-admins", headers=bearer(key)).status_code == 403
    assert [one.role for one in list_keys(store)] == ["write"]
