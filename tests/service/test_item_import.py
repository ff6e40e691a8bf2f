"""Many items in one request: the lines of the answer, the statuses, and clients that hang up."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.service.caller import Caller, error
from tests.service.whole import service
from variegate.data.build import content_catalogue
from variegate.engine import bulk_items
from variegate.model.item_table import ItemTable
from variegate.schemas import ItemsProgress, RejectedItem

CSV = "text/csv; charset=utf-8"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    ids = tuple(f"b{number}" for number in range(12))
    catalogue = content_catalogue(
        ItemTable(
            ids, ids, numbers={"price": np.arange(12.0)}, lists={"tags": (("war",), ("sea",)) * 6}
        )
    )
    with service(tmp_path_factory.mktemp("bulk"), items=catalogue) as parts:
        yield Caller(*parts)


def send(shop: Caller, body: str, kind: str = CSV, query: str = "") -> Any:
    headers = {"content-type": kind, "x-api-key": shop.keys["admin"]}
    return shop.client.post(f"/v1/items/import{query}", content=body.encode(), headers=headers)


def test_answer_has_each_rejected_line_and_the_counts(shop: Caller) -> None:
    table = "sku,name,price,tags,cost\nn1,One,5,war,1\nn2,Two,five,sea,1\n"

    answer = send(shop, table, query="?id_column=sku&title_column=name")

    rejected, _first, last = map(json.loads, answer.text.splitlines())
    assert RejectedItem.model_validate(rejected).line == 3
    assert rejected["message"] == "`attributes.price` must be a number, got 'five'"
    assert ItemsProgress.model_validate_json(answer.text.splitlines()[-1]).done
    counts = {"lines": 2, "added": 1, "changed": 0, "unchanged": 0, "rejected": 1}
    assert last == {**counts, "done": True, "ignored_columns": ["cost"]}
    assert shop.get("GET", "/v1/items/n1")["title"] == "One"
    assert shop.send("GET", "/v1/items/n2").status_code == 404


@pytest.mark.parametrize(
    ("kind", "body", "status", "words"),
    [
        ("application/json", "{}", 415, "must be application/x-ndjson or text/csv, got 'applic"),
        (CSV, "sku\nn1\n", 422, "no column 'id' of ids among 'sku'"),
    ],
)
def test_what_is_no_table_is_refused_as_a_whole(
    shop: Caller, kind: str, body: str, status: int, words: str
) -> None:
    answer = send(shop, body, kind)
    assert words in error(answer, status)


def test_error_in_the_middle_is_the_last_line(shop: Caller) -> None:
    lines = [
        json.dumps({"id": item, "retired": True}) for item in shop.engine.snapshot().catalogue.ids
    ]
    answer = send(shop, "\n".join(lines), "application/x-ndjson")
    last = json.loads(answer.text.splitlines()[-1])
    assert last["error"]["type"] == "/problems/conflict"
    assert "the last item cannot be retired" in last["error"]["detail"]


def test_what_was_written_is_shown_although_the_client_is_gone(
    shop: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_items, "PIECE", 1)
    body = b"".join(b'{"id":"g%d","attributes":{"price":3}}\n' % n for n in range(200))
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/items/import",
        "raw_path": b"/v1/items/import",
        "query_string": b"",
        "headers": [
            (b"content-type", b"application/x-ndjson"),
            (b"x-api-key", shop.keys["admin"].encode()),
        ],
        "client": ("127.0.0.1", 1),
    }

    async def hang_up() -> None:
        parts = [{"type": "http.request", "body": body}]
        gone = asyncio.Event()

        async def receive() -> Any:
            if parts:
                return parts.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def sent(message: Any) -> None:
            if message.get("body"):
                gone.set()

        await shop.app(scope, receive, sent)

    asyncio.run(hang_up())

    assert shop.get("GET", "/v1/items/g0")["id"] == "g0"
    assert shop.send("GET", "/v1/items/g199").status_code == 404
    again = send(shop, body.decode(), "application/x-ndjson").text.splitlines()[-1]
    assert json.loads(again)["rejected"] == 0
    assert shop.get("GET", "/v1/items/g199")["id"] == "g199"
