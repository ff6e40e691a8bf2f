"""Every id that can be stored can be addressed, over a real connection."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.service.listening import ask, listening
from tests.service.whole import service
from variegate.client import Client
from variegate.engine.codecs import check_id
from variegate.errors import InputError
from variegate.service.routing import decode_segment, routing_path

IDS = [
    "a/b",
    "/",
    "//",
    "/a/",
    "x/history",
    "x/slates",
    "a%2Fb",
    "%",
    "%25",
    "100%",
    "%zz",
    ".",
    "..",
    "../..",
    "a?b#c",
    "a b+c",
    "~",
    "~x",
    "é/\u4e2d",
    "a;b&c=d",
    "\\",
]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with service(tmp_path_factory.mktemp("paths")) as (app, _), listening(app) as port:
        yield port


def segment(text: str) -> str:
    return "%2E" * len(text) if not text.strip(".") else quote(text, safe="")


@pytest.mark.parametrize("user", IDS)
def test_user_is_found_under_any_id(port: int, user: str) -> None:
    address = f"/v1/users/{segment(user)}"

    status, given = ask(port, "POST", f"{address}/slates")
    assert (status, given["user"]) == (201, user)
    slate = given["slate_id"]
    assert ask(port, "GET", address)[1]["user"] == user
    history = ask(port, "GET", f"{address}/history")[1]
    assert (history["user"], [one["slate_id"] for one in history["slates"]]) == (user, [slate])
    assert ask(port, "GET", f"{address}/counterfactual?policy=mmr&slate={slate}")[0] == 200
    assert ask(port, "DELETE", address) == (200, {"user": user, "forgotten": True})
    assert ask(port, "GET", address)[0] == 404


@pytest.mark.parametrize("item", IDS)
def test_item_is_found_under_any_id(port: int, item: str) -> None:
    address = f"/v1/items/{segment(item)}"
    data: dict[str, Any] = {
        "features": [0.1, 0.2, 0.3],
        "distances": {"kinds": ["tea"], "colour": "red", "price": 3},
    }

    assert ask(port, "PUT", address, data)[1]["items"] == [item]
    assert ask(port, "GET", address)[1]["id"] == item
    assert ask(port, "DELETE", address)[0] == 200
    assert ask(port, "GET", address)[1]["retired"] is True


@pytest.mark.parametrize("user", IDS)
def test_query_names_an_id_where_the_path_cannot(port: int, user: str) -> None:
    named = quote(user, safe="")

    status, given = ask(port, "POST", f"/v1/users/~/slates?id={named}")
    assert (status, given["user"]) == (201, user)
    history = ask(port, "GET", f"/v1/users/~/history?limit=5&id={named}")[1]
    assert (history["user"], len(history["slates"])) == (user, 1)
    assert ask(port, "DELETE", f"/v1/users/~?id={named}")[1]["user"] == user


def test_query_without_an_id_names_nobody(port: int) -> None:
    assert ask(port, "GET", "/v1/users/~?id=")[0] == 404


@pytest.mark.parametrize("user", IDS)
def test_client_finds_any_id(port: int, user: str) -> None:
    with Client(f"http://127.0.0.1:{port}") as client:
        slate = client.recommend(user)
        assert slate.user == user
        assert client.user(user).user == user
        assert [one.slate_id for one in client.history(user)] == [slate.slate_id]
        client.forget(user)


def test_slashes_that_are_not_encoded_stay_separators(port: int) -> None:
    assert ask(port, "GET", "/v1/users/a/b")[0] == 404
    assert ask(port, "POST", "/v1/users/a/b/slates")[0] == 404


def test_path_is_decoded_once(port: int) -> None:
    assert ask(port, "POST", "/v1/users/%%32F/slates")[1]["user"] == "%2F"
    assert ask(port, "POST", "/v1/%75sers/plain/slates")[1]["user"] == "plain"


@pytest.mark.parametrize("text", IDS)
def test_routable_path_gives_the_id_back(text: str) -> None:
    path = routing_path(f"/v1/users/{segment(text)}".encode(), b"")

    assert decode_segment(path.removeprefix("/v1/users/")) == text
    assert path.count("/") == 3


@pytest.mark.parametrize("text", [*IDS, "x" * 200, "\u202e"])
def test_id_that_can_be_addressed_is_one(text: str) -> None:
    assert check_id("user", text) == text


@pytest.mark.parametrize("text", ["", "x" * 201, "a\nb", "a\n", "\x00", "\x7f", "\ud800", 3, None])
def test_other_ids_are_refused(text: Any) -> None:
    with pytest.raises(InputError, match="`user` must be text of 1 to 200 characters"):
        check_id("user", text)
