"""Whatever the service's own OpenAPI lets be asked, the answer is one that it speaks of."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.whole import service
from variegate.engine import Feedback, RecommendRequest

#: For each route and kind of request: a quick run, the same requests every time.
EXAMPLES = 15
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
#: These take nothing that could be wrong.
PLAIN = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/v1/ping"),
    ("GET", "/v1/export"),
    ("GET", "/v1/catalogue"),
    ("GET", "/v1/report"),
]
ASKED = [
    ("POST", "/v1/users/{user}/slates"),
    ("POST", "/v1/slates"),
    ("POST", "/v1/slates/{slate}/feedback"),
    ("POST", "/v1/users/{user}/events"),
    ("GET", "/v1/users/{user}"),
    ("GET", "/v1/users/{user}/history"),
    ("DELETE", "/v1/users/{user}"),
    ("POST", "/v1/import"),
    ("GET", "/v1/items"),
    ("GET", "/v1/items/{item}"),
    ("POST", "/v1/items"),
    ("POST", "/v1/items/import"),
    ("PUT", "/v1/items/{item}"),
    ("PATCH", "/v1/items/{item}"),
    ("DELETE", "/v1/items/{item}"),
    ("GET", "/v1/policies/{policy}/prior"),
    ("POST", "/v1/policies/{policy}/prior"),
    ("DELETE", "/v1/policies/{policy}/prior"),
]
#: Requests as the schema has them, and requests that break it.
KINDS = [
    *((*route, GenerationMode.POSITIVE) for route in PLAIN + ASKED),
    *((*route, GenerationMode.NEGATIVE) for route in ASKED),
]


@schemathesis.serializer("application/x-ndjson")
def as_it_is(_: schemathesis.SerializationContext, value: object) -> bytes:
    """Send lines as they were made up; what is no text is sent as it reads."""
    return str(value).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def known() -> dict[str, str]:
    """Return ids that the service knows, by the name that routes have for them."""
    return {"user": "ann", "item": "item-3", "policy": "lmdp"}


@pytest.fixture(scope="module")
def api(
    tmp_path_factory: pytest.TempPathFactory, known: dict[str, str]
) -> Iterator[schemathesis.BaseSchema]:
    """Return the schema that the service itself gives, over one user with two lists."""
    with service(tmp_path_factory.mktemp("schema"), mix=0.2) as (app, engine):

        async def lists() -> str:
            first = await engine.recommend(RecommendRequest("ann"))
            await engine.feedback(Feedback(first["slate_id"], {first["items"][0]["id"]: 1.0}))
            return str((await engine.recommend(RecommendRequest("ann")))["slate_id"])

        known["slate"] = asyncio.run(lists())
        # Keys that are made up would be refused before anything else is looked at.
        generation = GenerationConfig(with_security_parameters=False)
        projects = ProjectsConfig(default=ProjectConfig(generation=generation))
        config = SchemathesisConfig(seed=1, projects=projects)
        yield schemathesis.openapi.from_asgi("/openapi.json", app, config=config)


def test_every_route_is_tried(api: schemathesis.BaseSchema) -> None:
    found = [(method.upper(), path) for path in api for method in api[path]]

    assert sorted(found) == sorted(PLAIN + ASKED)


@pytest.mark.parametrize(("method", "path", "kind"), KINDS)
def test_every_answer_is_in_the_schema(
    api: schemathesis.BaseSchema,
    known: dict[str, str],
    method: str,
    path: str,
    kind: GenerationMode,
) -> None:
    answers = []

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(api[path][method].as_strategy(generation_mode=kind), st.booleans())
    def ask(case: schemathesis.Case[Any], is_known: bool) -> None:
        own = {name: known[name] for name in case.path_parameters if name in known and is_known}
        case.path_parameters.update(own)
        answers.append(case.call_and_validate(checks=CHECKS).status_code)

    ask()

    assert answers
