"""The clients know what the service says: every route, every field; and more than that."""

import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from variegate.client import AsyncClient, Client, answers, routes
from variegate.client.reading import reading
from variegate.client.transport import Call, Lines
from variegate.errors import DataError, MissingExtraError, StoreError
from variegate.service import schemas

#: One call of every function that makes them.
CALLS: dict[str, Callable[[], Call[Any]]] = {
    "recommend": lambda: routes.recommend("_"),
    "feedback": lambda: routes.feedback("_", {}),
    "user": lambda: routes.user("_"),
    "history": lambda: routes.history("_"),
    "forget": lambda: routes.forget("_"),
    "export_users": routes.export_users,
    "import_users": lambda: next(routes.import_users([{}])),
    "catalogue": routes.catalogue,
    "items": routes.items,
    "item": lambda: routes.item("_"),
    "add_items": lambda: routes.add_items([]),
    "change_item": lambda: routes.change_item("_"),
    "retire_item": lambda: routes.retire_item("_"),
    "report": routes.report,
    "prior": lambda: routes.prior("_"),
    "fit_prior": lambda: routes.fit_prior("_"),
    "drop_prior": lambda: routes.drop_prior("_"),
    "metrics": routes.metrics,
    "ping": routes.ping,
    "alive": routes.alive,
    "ready": routes.ready,
}
PAIRS: list[tuple[type, type[BaseModel]]] = [
    (answers.Slate, schemas.SlateAnswer),
    (answers.ShownItem, schemas.ShownItem),
    (answers.Explanation, schemas.Explanation),
    (answers.Feedback, schemas.FeedbackAnswer),
    (answers.User, schemas.UserAnswer),
    (answers.Learnt, schemas.Learnt),
    (answers.Words, schemas.Words),
    (answers.Belief, schemas.Belief),
    (answers.PastSlate, schemas.PastSlate),
    (answers.PastItem, schemas.PastItem),
    (answers.Item, schemas.ItemAnswer),
    (answers.WholeItem, schemas.WholeItemAnswer),
    (answers.CatalogueFacts, schemas.CatalogueAnswer),
    (answers.Report, schemas.ReportAnswer),
    (answers.PolicyReport, schemas.PolicyReport),
    (answers.Difference, schemas.Difference),
    (answers.Interval, schemas.Interval),
    (answers.Prior, schemas.PriorAnswer),
    (answers.PriorWeight, schemas.PriorWeight),
    (routes.Diversity, schemas.DialBody),
]
WORDS = b'{"likes": "You like Japan.", "variety": "Not clear."}'


def test_every_route_has_a_method(address: str) -> None:
    paths = httpx2.get(f"{address}/openapi.json", timeout=60).json()["paths"]
    served = {
        (method.upper(), re.sub(r"\{\w+\}", "_", path)) for path in paths for method in paths[path]
    }

    made = {(call.method, call.path.split("?")[0]) for call in (make() for make in CALLS.values())}

    assert made == served


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_both_clients_have_every_method_described(kind: type) -> None:
    methods = {name: getattr(kind, name) for name in CALLS}
    assert [name for name, method in methods.items() if method.__name__ != name] == []
    assert [name for name, method in methods.items() if not inspect.getdoc(method)] == []
    firsts = {next(iter(inspect.signature(method).parameters)) for method in methods.values()}
    assert firsts == {"self"}


def test_methods_tell_their_arguments() -> None:
    assert str(inspect.signature(Client.feedback)).startswith("(self, /, slate: ")
    assert list(inspect.signature(Client("http://h").user).parameters) == ["user"]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda kind: kind.__name__)
def test_answers_have_the_services_fields(ours: Any, theirs: type[BaseModel]) -> None:
    assert [field.name for field in fields(ours)] == list(theirs.model_fields)


def test_a_field_of_a_newer_service_is_passed_over() -> None:
    found = reading(answers.Words)(WORDS[:-1] + b', "tomorrow": [1, {"a": null}]}')

    assert found == answers.Words("You like Japan.", "Not clear.")


def test_a_whole_number_will_do_for_a_number() -> None:
    belief = reading(answers.Belief)(b'{"name": "x", "weight": 1, "low": 0, "high": 2}')

    assert isinstance(belief.weight, float)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"<html>", "the answer must be JSON: `url` must be the address"),
        (b"\xff", "the answer must be JSON"),
        (b"[]", r"the answer's `body` must be an object, got \[\]"),
        (b'{"likes": "x"}', "the answer's `variety` must be there"),
        (b'{"likes": 3, "variety": "x"}', "the answer's `likes` must be text, got 3"),
    ],
)
def test_an_answer_of_another_kind_is_told(body: bytes, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        reading(answers.Words)(body)


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ('{"id": "a", "title": "b", "score": true}', "`items.score` must be a number, got True"),
        ('{"id": "a", "title": "b", "score": "1"}', "`items.score` must be a number, got '1'"),
        ('{"id": "a", "score": 1}', "`items.title` must be there"),
        ('{"id": "a", "title": "b", "score": 1, "explanation": 1}', "must be an object, got 1"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(place: str, complaint: str) -> None:
    body = f'{{"slate_id": "s", "user": "u", "policy": "p", "items": [{place}]}}'

    with pytest.raises(DataError, match=complaint):
        reading(answers.Slate)(body.encode())


def test_lines_are_split_at_newlines_alone() -> None:
    lines = Lines()

    assert lines.of(b'{"a": "\xe2\x80\xa8') == []
    assert lines.of(b'"}\n{"b') == [b'{"a": "\xe2\x80\xa8"}']
    assert lines.of(b'": 1}\n\n') == [b'{"b": 1}']
    lines.check_ended()


def test_half_a_line_is_told() -> None:
    lines = Lines()
    lines.of(b'{"a"')

    with pytest.raises(StoreError, match="broke off in the middle of a line"):
        lines.check_ended()


def test_a_client_of_ones_own_is_used_and_left_open() -> None:
    def respond(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"path": request.url.path, **CATALOGUE})

    with httpx2.Client(transport=httpx2.MockTransport(respond)) as http:
        with Client("https://shop.example/rec/", http=http) as client:
            assert client.catalogue().items == 3
        assert not http.is_closed


CATALOGUE = {
    "items": 3,
    "features": [],
    "distances": [],
    "attributes": [],
    "policies": {},
    "k": 1,
}


def test_an_async_client_of_ones_own_is_used_and_left_open() -> None:
    asked = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        return httpx2.Response(200, json=CATALOGUE)

    async def ask() -> bool:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond)) as http:
            async with AsyncClient("https://shop.example/rec/", http=http) as client:
                await client.catalogue()
            return http.is_closed

    assert asyncio.run(ask()) is False
    assert asked == ["https://shop.example/rec/v1/catalogue"]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_missing_extra_says_what_to_install(
    kind: type[Client | AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'variegate\[client\]'"):
        kind("http://127.0.0.1:8000")


def test_importing_the_client_loads_no_http_library() -> None:
    code = "import sys, variegate.client; print(*sys.modules)"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "variegate.client.client" in loaded
    assert {"httpx2", "pydantic", "fastapi"} & set(loaded) == set()
