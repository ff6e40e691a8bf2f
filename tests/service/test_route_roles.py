"""Who may call which route: those for admins change or show more than one user's lists."""

from collections.abc import Iterator

import pytest

from tests.service.caller import Caller, error
from tests.service.whole import service


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with service(tmp_path_factory.mktemp("roles")) as whole:
        yield Caller(*whole)


ADMIN = frozenset(
    {
        ("DELETE", "/v1/users/{user}"),
        ("GET", "/v1/export"),
        ("POST", "/v1/import"),
        ("POST", "/v1/items"),
        ("PUT", "/v1/items/{item:path}"),
        ("DELETE", "/v1/items/{item:path}"),
        ("POST", "/v1/policies/{policy}/prior"),
        ("DELETE", "/v1/policies/{policy}/prior"),
    }
)
WRITE = frozenset(
    {
        ("POST", "/v1/users/{user}/slates"),
        ("POST", "/v1/slates"),
        ("POST", "/v1/slates/{slate}/feedback"),
        ("POST", "/v1/users/{user}/events"),
    }
)
READ = frozenset(
    {
        ("GET", "/v1/report"),
        ("GET", "/v1/policies/{policy}/prior"),
        ("GET", "/v1/users/{user}"),
        ("GET", "/v1/users/{user}/history"),
        ("GET", "/v1/catalogue"),
        ("GET", "/v1/items"),
        ("GET", "/v1/items/{item:path}"),
    }
)


def path_of(template: str) -> str:
    for part in ("{user}", "{slate}", "{item:path}", "{policy}"):
        template = template.replace(part, "x")
    return template


def test_all_of_these_routes_are_there(caller: Caller) -> None:
    there = {(method, route.path) for route in caller.routes() for method in route.methods or ()}
    assert there >= ADMIN | WRITE | READ


@pytest.mark.parametrize(("method", "path"), sorted(ADMIN))
def test_writers_may_not_call_what_is_for_admins(caller: Caller, method: str, path: str) -> None:
    answer = caller.send(method, path_of(path), role="write")
    assert "needs a key with the role admin" in error(answer, 403)


@pytest.mark.parametrize(("method", "path"), sorted(WRITE))
def test_writers_may_call_what_readers_may_not(caller: Caller, method: str, path: str) -> None:
    answer = caller.send(method, path_of(path), role="read")
    assert "needs a key with the role write" in error(answer, 403)
    answer = caller.send(method, path_of(path), role="write")
    assert answer.status_code in (200, 201, 400, 404, 422)


@pytest.mark.parametrize(("method", "path"), sorted(READ))
def test_readers_may_call_the_rest(caller: Caller, method: str, path: str) -> None:
    answer = caller.send(method, path_of(path), role="read")
    assert answer.status_code in (200, 400, 404)


@pytest.mark.parametrize(("method", "path"), sorted(ADMIN | WRITE | READ))
def test_nobody_may_call_anything_without_a_key(caller: Caller, method: str, path: str) -> None:
    before = caller.engine.counts()
    answer = caller.send(method, path_of(path), role=None)
    assert "a key is required" in error(answer, 401)
    assert caller.engine.counts() == before
