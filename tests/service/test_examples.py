"""The examples in OpenAPI: every route has them, and a service answers as they say."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.likeness import MORE, differences
from tests.extras import needs
from tests.service.caller import Caller
from tests.service.whole import service
from variegate.data import film_catalogue

pytestmark = needs("bokeh_sampledata")

JSON = "application/json"
#: Calls in this order are answered as the examples say; the rest needs another past.
CALLS = [
    ("POST", "/v1/users/{user}/slates"),
    ("POST", "/v1/slates/{slate}/feedback"),
    ("POST", "/v1/users/{user}/events"),
    ("GET", "/v1/users/{user}"),
    ("GET", "/v1/users/{user}/history"),
    ("POST", "/v1/items"),
    ("PUT", "/v1/items/{item}"),
    ("PATCH", "/v1/items/{item}"),
    ("DELETE", "/v1/items/{item}"),
    ("GET", "/v1/policies/{policy}/prior"),
    ("DELETE", "/v1/policies/{policy}/prior"),
]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with service(tmp_path_factory.mktemp("films"), items=film_catalogue()) as parts:
        yield Caller(*parts)


def operations(films: Caller) -> dict[tuple[str, str], dict[str, Any]]:
    paths = films.app.openapi()["paths"]
    return {(m.upper(), path): one for path, methods in paths.items() for m, one in methods.items()}


def example(parts: dict[str, Any]) -> Any:
    return parts["content"][JSON]["example"]


def response_example(operation: dict[str, Any]) -> Any:
    (status,) = (one for one in operation["responses"] if one.startswith("2"))
    return example(operation["responses"][status])


def with_more(value: Any) -> Any:
    """Return an example with a sign that its lists may go on."""
    if isinstance(value, list):
        return [*map(with_more, value), MORE]
    if isinstance(value, dict):
        return {name: with_more(one) for name, one in value.items()}
    return value


def test_each_json_body_has_an_example_of_its_model(films: Caller) -> None:
    missing = []
    for (method, path), operation in operations(films).items():
        parts = [operation.get("requestBody", {}), *operation["responses"].values()]
        missing += [
            f"{method} {path}"
            for part in parts
            if JSON in part.get("content", {}) and "example" not in part["content"][JSON]
        ]
    assert missing == []


def test_response_examples_fit_their_models(films: Caller) -> None:
    found, checked = operations(films), 0
    for route in films.routes():
        operation = found.get((min(route.methods or ()), route.path_format), {})
        for status, response in operation.get("responses", {}).items():
            if status.startswith("2") and JSON in response["content"]:
                own = route.responses.get(int(status), {})
                model = own.get("model", route.response_model)
                text = json.dumps(example(response))
                assert model.model_validate_json(text)
                checked += 1
    assert checked >= 15


def test_a_service_answers_as_the_examples_say(films: Caller) -> None:
    found, ids = operations(films), {"user": "ana", "item": "new-1", "policy": "lmdp"}
    wrong = []
    for method, path in CALLS:
        operation = found[method, path]
        body = example(operation["requestBody"]) if "requestBody" in operation else None
        answer = films.send(method, path.format(**ids), body)
        assert answer.status_code in (200, 201), answer.text
        ids.setdefault("slate", answer.json().get("slate_id", ""))
        wrong += differences(with_more(response_example(operation)), answer.json(), path)
    assert wrong == []
