"""Slates for many users in one request: each line is sent after its slate is stored."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.service.caller import Caller, error
from tests.service.whole import service
from variegate.engine import RecommendRequest
from variegate.schemas import FailedSlate, Slate
from variegate.service.routes.batches import MAX_WAITING, slate_lines
from variegate.service.routing import RequestContext


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with service(tmp_path_factory.mktemp("batches"), policies={"a": "lmdh"}) as whole:
        yield Caller(*whole)


def lines(caller: Caller, body: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    """Return the lines of a batch by user, once they are seen to be what the schema has."""
    headers = {"X-API-Key": caller.keys["write"]} | ({"Idempotency-Key": key} if key else {})
    answer = caller.client.post("/v1/slates", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    found = {}
    for line in answer.text.splitlines():
        content = json.loads(line)
        model = FailedSlate if "error" in content else Slate
        assert (
            model.model_validate_json(line).model_dump(mode="json", exclude_unset=True) == content
        )
        found[content["user"]] = content
    return found


def test_every_user_gets_a_list_that_is_stored(caller: Caller) -> None:
    users = [f"many-{number}" for number in range(40)]
    found = lines(caller, {"users": users, "k": 2, "where": {"attribute": "maker", "=": "us"}})

    assert found.keys() == set(users)
    for user in (users[0], users[-1]):
        (stored,) = caller.get("GET", f"/v1/users/{user}/history")["slates"]
        assert stored["slate_id"] == found[user]["slate_id"]
        assert [item["id"] for item in stored["items"]] == [i["id"] for i in found[user]["items"]]


def test_the_diversity_dial_is_that_of_every_list(caller: Caller) -> None:
    body = {"k": 3, "diversity": {"scale": 0.0, "floor": {"kinds": 1.0}}}
    found = lines(caller, {"users": ["dial-1", "dial-2"], **body})
    single = caller.get("POST", "/v1/users/dial-3/slates", body, status=201)
    for user in ("dial-1", "dial-2"):
        assert [one["id"] for one in found[user]["items"]] == [i["id"] for i in single["items"]]


def test_the_same_request_again_gives_the_same_lists(caller: Caller) -> None:
    first = lines(caller, {"users": ["ann", "ben"]}, "mail-1")
    # After a broken connection also those are asked for who may have had none.
    again = lines(caller, {"users": ["cyd", "ben", "ann"]}, "mail-1")

    assert {user: again[user] for user in ("ann", "ben")} == first
    assert caller.get("GET", "/v1/users/ann")["slates"] == 1
    single = caller.client.post(
        "/v1/users/cyd/slates",
        headers={"X-API-Key": caller.keys["write"], "Idempotency-Key": "mail-1"},
    )
    assert single.json() == again["cyd"]


def test_a_user_who_fails_does_not_stop_the_others(caller: Caller) -> None:
    lines(caller, {"users": ["fay"], "k": 3}, "mail-2")
    found = lines(caller, {"users": ["eve", "fay", "gus"], "k": 2}, "mail-2")

    assert [len(found[user]["items"]) for user in ("eve", "gus")] == [2, 2]
    assert found["fay"]["error"]["type"] == "/problems/conflict"
    assert found["fay"]["error"]["detail"].startswith("`Idempotency-Key` 'mail-2' was used for")
    assert found["fay"]["error"]["request_id"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"users": []}, "`users` must have at least 1 item"),
        ({"users": ["u"] * 1001}, "`users` must have at most 1000 items"),
        ({}, "`users` is missing"),
        (
            {"users": ["u", "v", "u"], "instead_of": "x", "k": 0},
            "`k` must be greater than or equal to 1, got 0; `instead_of` is of one user, and no "
            "option of a batch; `users` must be distinct, got 'u' 2 times",
        ),
        ({"users": ["u", ""], "k": 0}, "`k` must be greater than or equal to 1, got 0; `users.1`"),
        ({"users": ["u"], "k": 101}, "`k` must be from 1 to 100, got 101"),
        ({"users": ["u"], "where": {"attribute": "x", "=": 1}}, "`where` must name one of maker"),
        ({"users": ["u"], "constraints": {"at_most": {"x": 1}}}, "`constraints.at_most` must name"),
        ({"users": ["u"], "exclude": ["nope"], "strict": True}, "`exclude` must be known ids"),
        (
            {
                "users": ["u"],
                "k": 101,
                "diversity": {"floor": 2, "ceiling": 1},
                "where": {"attribute": "x", "=": 1},
                "constraints": {"at_most": {"y": 1}},
            },
            "`floor` must be at most `ceiling`, got 2.0 and 1.0; `k` must be from 1 to 100, got "
            "101; `where` must name one of maker, got 'x'; `constraints.at_most` must name one of "
            "maker, got 'y'",
        ),
        ({"users": ["u"], "diversity": {"scale": "2"}}, "`diversity.scale` must be a valid number"),
    ],
)
def test_what_is_wrong_for_everybody_is_refused_before_anything_is_made(
    caller: Caller, body: dict[str, Any], words: str
) -> None:
    before = caller.engine.counts()
    assert words in error(caller.send("POST", "/v1/slates", body), 422)
    assert caller.engine.counts() == before


def test_lines_come_as_they_are_made_and_end_with_the_connection(caller: Caller) -> None:
    asked = [RecommendRequest(f"late-{number}") for number in range(200)]
    before = caller.engine.counts()["slates"]

    async def first_line() -> None:
        stream = slate_lines(caller.engine, asked, RequestContext("r", 1))
        line = json.loads(await anext(stream))
        # It is stored by now, and most others are not begun.
        assert caller.engine.history(line["user"], 1, None)["slates"]
        await stream.aclose()  # type: ignore[attr-defined]
        await caller.engine.recommend(RecommendRequest("after"))

    asyncio.run(first_line())

    made = caller.engine.counts()["slates"] - before
    assert 2 <= made <= 3 * MAX_WAITING


def test_a_bug_costs_one_user_their_list_and_is_logged(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    # A user without an id is an error that nothing expects.
    asked = [RecommendRequest("right"), RecommendRequest(None)]  # type: ignore[arg-type]

    async def every_line() -> list[Any]:
        stream = slate_lines(caller.engine, asked, RequestContext("r", 1))
        return [json.loads(line) async for line in stream]

    found = {line["user"]: line for line in asyncio.run(every_line())}

    assert found["right"]["items"]
    assert found[None]["error"]["type"] == "/problems/internal"
    assert "a slate of a batch could not be made" in caplog.text
