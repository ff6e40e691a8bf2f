"""The header `Idempotency-Key` of a request for a list, through the whole service."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.service.shell import problem
from tests.service.whole import service
from tools.soak.process import Process, started
from tools.soak.run import settings_of


@pytest.fixture
def page(tmp_path: Path) -> Iterator[TestClient]:
    with service(tmp_path) as (app, _engine):
        yield TestClient(app, base_url="http://127.0.0.1")


def asked(page: TestClient, key: str, user: str = "ann", **body: Any) -> Any:
    return page.post(f"/v1/users/{user}/slates", json=body, headers={"Idempotency-Key": key})


def test_same_key_gets_the_same_answer(page: TestClient) -> None:
    first = asked(page, "order 66", k=2, details=True)
    again = asked(page, "order 66", k=2, details=True)
    other = asked(page, "order 67", k=2, details=True)

    assert first.status_code == again.status_code == 201
    assert again.content == first.content
    assert other.json()["slate_id"] != first.json()["slate_id"]


def happened(page: TestClient, key: str, **body: Any) -> Any:
    return page.post("/v1/users/ann/events", json=body, headers={"Idempotency-Key": key})


def test_event_is_learnt_once_under_a_key(page: TestClient) -> None:
    item, other = (one["id"] for one in asked(page, "a", k=2).json()["items"])
    first = happened(page, "order 17", rewards={item: 1})
    learnt = page.get("/v1/users/ann").json()["learnt"]

    again = happened(page, "order 17", rewards={item: 1})
    in_body = happened(page, "order 17", rewards={item: 1}, event="order 17")

    assert first.status_code == 200
    assert first.json() == again.json() == in_body.json()
    assert page.get("/v1/users/ann").json()["learnt"] == learnt
    assert happened(page, "order 17", rewards={other: 1}).status_code == 409
    two_keys = happened(page, "order 17", rewards={item: 1}, event="order 18")
    assert two_keys.status_code == 422
    assert problem(two_keys)["detail"] == (
        "`Idempotency-Key` must be absent or the same as `event` 'order 18', got 'order 17'"
    )


def test_same_key_in_place_of_a_list_is_no_conflict(page: TestClient) -> None:
    first = asked(page, "a").json()["slate_id"]

    second = asked(page, "b", instead_of=first)

    assert asked(page, "b", instead_of=first).content == second.content
    assert len(page.get("/v1/users/ann/history").json()["slates"]) == 2


def test_another_body_under_the_same_key_is_refused(page: TestClient) -> None:
    asked(page, "a", k=2)

    refused = asked(page, "a", k=3)

    assert refused.status_code == 409
    assert "`Idempotency-Key` 'a' was used for another request" in problem(refused)["detail"]


@pytest.mark.parametrize("key", ["", "x" * 201, "caf\u00e9", "tab\there"])
def test_key_must_be_printable_and_short(page: TestClient, key: str) -> None:
    refused = page.post(
        "/v1/users/ann/slates", headers=[(b"Idempotency-Key", key.encode("latin-1"))]
    )

    assert refused.status_code == 422
    assert "Idempotency-Key" in problem(refused)["detail"]
    assert page.get("/v1/users/ann").status_code == 404


def test_header_is_in_the_schema(page: TestClient) -> None:
    operation = page.get("/openapi.json").json()["paths"]["/v1/users/{user}/slates"]["post"]

    (header,) = [one for one in operation["parameters"] if one["in"] == "header"]
    assert (header["name"], header["required"]) == ("Idempotency-Key", False)


def sent(process: Process, user: str) -> dict[str, Any]:
    connection = HTTPConnection(*process.address, timeout=20)
    try:
        headers = {"Idempotency-Key": "one", "Content-Type": "application/json"}
        connection.request("POST", f"/v1/users/{user}/slates", "{}", headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 201, body
        found: dict[str, Any] = json.loads(body)
        return found
    finally:
        connection.close()


def test_two_replicas_give_one_list_and_a_kill_does_not_change_it(url: str, tmp_path: Path) -> None:
    folder, near = str(tmp_path), settings_of(url, tmp_path, engine_process=False)
    with (
        started(settings_of(url, tmp_path, engine_process=True), folder) as one,
        started(near, folder) as two,
        ThreadPoolExecutor(8) as pool,
    ):
        answers = list(pool.map(lambda number: sent((one, two)[number % 2], "ann"), range(8)))
        given = sent(one, "bob")
        one.kill()

        assert sent(two, "bob") == given
    assert len({answer["slate_id"] for answer in answers}) == 1
