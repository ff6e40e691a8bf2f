"""Errors as answers: their statuses, their shape, their words."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, HTTPException, Query
from fastapi.testclient import TestClient
from pydantic import BaseModel, Field

from tests.service.shell import calling, problem
from variegate.engine.codecs import format_value
from variegate.errors import (
    ConflictError,
    DataError,
    InputError,
    MissingExtraError,
    NotFoundError,
    StateError,
    StoreError,
)
from variegate.service.routing import read_router
from variegate.store import Store

ERRORS = {
    "input": InputError("`k` must be from 1 to 9, got 10"),
    "data": DataError("line 3: not JSON"),
    "state": StateError("`state` is one of 'mmr'"),
    "not_found": NotFoundError("no user has the id 'x\ud800'"),
    "conflict": ConflictError("position 2 was rewarded 1 before, got 0"),
    "store": StoreError("the disk is full"),
    "extra": MissingExtraError("needs polars"),
    "deep": RecursionError("maximum recursion depth exceeded"),
    "teapot": HTTPException(418, "short and stout"),
    "nothing": HTTPException(304),
}


class RecommendRequest(BaseModel, extra="forbid"):
    k: Annotated[int, Field(ge=1, le=100)] = 10
    names: list[Annotated[str, Field(max_length=3)]] = []
    weights: dict[str, float] = {}


def routes() -> APIRouter:
    router = read_router()

    @router.get("/raise/{name}")
    async def fail(name: str) -> None:
        raise ERRORS[name]

    @router.post("/echo")
    async def request(body: RecommendRequest, limit: Annotated[int, Query(ge=1)] = 1) -> int:
        return body.k * limit

    return router


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with Store.open(f"sqlite:///{tmp_path_factory.mktemp('errors')}/store.db") as store:
        yield calling(store, routes())


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("input", 422, "invalid"),
        ("data", 422, "invalid"),
        ("state", 409, "conflict"),
        ("conflict", 409, "conflict"),
        ("store", 503, "unavailable"),
        ("teapot", 418, "about:blank"),
    ],
)
def test_error_becomes_its_answer(client: TestClient, name: str, status: int, code: str) -> None:
    answer = client.get(f"/v1/raise/{name}")

    assert answer.status_code == status
    detail = problem(answer)
    assert (detail["kind"], detail["detail"]) == (
        code,
        getattr(ERRORS[name], "detail", str(ERRORS[name])),
    )


def test_text_that_cannot_be_sent_is_spelt(client: TestClient) -> None:
    answer = client.get("/v1/raise/not_found")

    assert answer.status_code == 404
    assert problem(answer)["detail"] == "no user has the id 'x\\ud800'"


def test_store_error_says_when_to_come_back(client: TestClient) -> None:
    assert client.get("/v1/raise/store").headers["retry-after"] == "1"


def test_missing_part_is_the_services_own_fault(client: TestClient) -> None:
    answer = client.get("/v1/raise/extra")

    assert (answer.status_code, problem(answer)["kind"]) == (500, "internal")
    assert "polars" not in answer.text


def test_answer_without_a_body_has_none(client: TestClient) -> None:
    answer = client.get("/v1/raise/nothing")

    assert (answer.status_code, answer.content) == (304, b"")


def test_deep_nesting_is_malformed(client: TestClient) -> None:
    assert client.get("/v1/raise/deep").status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/v1/nothing", 404, "there is nothing at this path: see /docs"),
        ("GET", "/v1/ping/", 404, "there is nothing at this path: see /docs"),
        ("PUT", "/v1/ping", 405, "this path does not accept PUT: see /docs"),
    ],
)
def test_routing_errors_have_the_same_shape(
    client: TestClient, method: str, path: str, status: int, message: str
) -> None:
    answer = client.request(method, path)

    assert (answer.status_code, problem(answer)["detail"]) == (status, message)


def test_wrong_method_tells_the_right_one(client: TestClient) -> None:
    assert client.put("/v1/ping").headers["allow"] == "GET"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"k": 101}, "`k` must be less than or equal to 100, got 101"),
        ({"k": "many"}, "`k` must be a valid integer, got 'many'"),
        ({"K": 1}, "`K` is not a known field"),
        ({"names": ["long name"]}, "`names.0` must have at most 3 characters, got 'long name'"),
        ({"names": "abc"}, "`names` must be a valid list, got 'abc'"),
        (
            {"weights": {"a": [], "b": []}},
            "`weights.a` must be a valid number, got a list; "
            "`weights.b` must be a valid number, got a list",
        ),
        ([], "the body must be an object, got a list"),
    ],
)
def test_field_that_will_not_do_is_named(client: TestClient, body: Any, message: str) -> None:
    answer = client.post("/v1/echo", json=body)

    assert (answer.status_code, problem(answer)["detail"]) == (422, message)


def test_query_that_will_not_do_is_named(client: TestClient) -> None:
    answer = client.post("/v1/echo?limit=0", json={})

    assert problem(answer)["detail"] == "`limit` must be greater than or equal to 1, got '0'"


def test_missing_body_is_reported(client: TestClient) -> None:
    answer = client.post("/v1/echo")

    assert (answer.status_code, problem(answer)["detail"]) == (422, "the body is missing")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "the body must be JSON: Expecting property name enclosed in double quotes"),
        (b'{"k": "\xff"}', "the body must be JSON in UTF-8"),
        (b"[" * 100_000, "the body must be JSON that is nested less deeply"),
        (b'{"k": ' + b"9" * 5000 + b"}", "the body must be JSON"),
    ],
    ids=["broken", "not UTF-8", "deep", "long number"],
)
def test_body_that_cannot_be_read_is_malformed(
    client: TestClient, content: bytes, message: str
) -> None:
    answer = client.post("/v1/echo", content=content, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400
    assert problem(answer)["detail"].startswith(message)


@pytest.mark.parametrize(
    "body",
    [{"k": "x" * 100_000}, {"x" * 100_000: 1}, {"names": ["y" * 100_000]}, {"k": 10**4000}],
    ids=["value", "name", "part", "number"],
)
def test_much_input_is_not_echoed(client: TestClient, body: Any) -> None:
    answer = client.post("/v1/echo", json=body)

    assert answer.status_code == 422
    assert len(answer.content) < 600


def test_half_a_surrogate_pair_is_answered(client: TestClient) -> None:
    answer = client.post(
        "/v1/echo",
        content=json.dumps({"names": ["\ud800\ud800\ud800\ud800"], "\udc00": 1}),
        headers={"Content-Type": "application/json"},
    )

    assert answer.status_code == 422
    assert problem(answer)["kind"] == "invalid"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_other_kinds_of_body_are_refused(client: TestClient, kind: str) -> None:
    answer = client.post("/v1/echo", content=b"{}", headers={"Content-Type": kind})

    assert answer.status_code == 415
    assert problem(answer)["detail"] == "the body must be sent as Content-Type: application/json"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), (1.5, "1.5"), ({"a": 1}, "an object"), ([1], "a list")],
)
def test_values_are_shown_shortly(value: object, text: str) -> None:
    assert format_value(value) == text
