"""Input that means harm, or is broken, is refused in the one shape of errors, and harms nothing."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from tests.service.shell import problem
from tests.service.whole import service
from variegate.engine import RecommendRequest

JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}
MOST = 200_000
#: What an answer would have in it that reveals the machine, the code or the database.
SECRETS = ("Traceback", ".py", "/tmp", "/home", "site-packages", "sqlite", "SELECT", "INSERT")  # noqa: S108


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Call a service that knows the user ann and the item-0 to item-11."""
    with service(tmp_path_factory.mktemp("hostile"), max_body=MOST) as (app, engine):
        asyncio.run(engine.recommend(RecommendRequest("ann")))
        yield TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.fixture(autouse=True)
def _still_answers(client: TestClient) -> Iterator[None]:
    yield
    assert client.get("/v1/users/ann").json()["user"] == "ann"
    assert client.post("/v1/users/somebody/slates").status_code == 201


@pytest.fixture
def slate(client: TestClient) -> str:
    """Return a list of ann's without feedback."""
    answer = client.post("/v1/users/ann/slates", json={"allow_repeats": True})
    return str(answer.json()["slate_id"])


def refused(answer: Any, *statuses: int) -> dict[str, str]:
    """Return the error of a refused request, which is short and reveals nothing."""
    assert answer.status_code in statuses, answer.text[:300]
    assert len(answer.content) < 1500
    assert [secret for secret in SECRETS if secret in answer.text] == []
    return problem(answer)


@pytest.mark.parametrize(
    "user",
    [
        "'; DROP TABLE users; --",
        '" OR "1"="1',
        "ann' UNION ALL",
        "%",
        "_",
        "😀",
        "\u202egnp.exe",
        "\ufeff",
        "e\u0301",
        "null",
        "$(reboot)",
        "{{7*7}}",
        "<script>",
        "ann?k=1#x;y&z",
        "../../etc/passwd",
        "~" * 200,
    ],
)
def test_odd_ids_are_ids(client: TestClient, user: str) -> None:
    address = f"/v1/users/{quote(user, safe='')}"

    given = client.post(f"{address}/slates")

    assert (given.status_code, given.json()["user"]) == (201, user)
    assert client.get(address).json()["user"] == user
    assert len(client.get(f"{address}/history").json()["slates"]) == 1
    assert client.delete(address).json() == {"user": user, "forgotten": True}
    assert client.get(address).status_code == 404


@pytest.mark.parametrize(
    ("quoted", "status"),
    [
        ("%00", 400),
        ("a%00b", 400),
        ("%FF%FE", 400),
        ("%ED%A0%80", 400),
        ("a%0D%0AX-Evil%3A%201", 422),
        ("%1B%5B2J", 422),
        ("x" * 201, 422),
        ("x" * 10_000, 422),
        ("%F0%9F%98%80" * 3000, 422),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/users/{}/slates"), ("GET", "/v1/users/{}")]
)
def test_ids_that_cannot_be_are_refused(
    client: TestClient, method: str, path: str, quoted: str, status: int
) -> None:
    refused(client.request(method, path.format(quoted)), status)


@pytest.mark.parametrize("quoted", ["..%2F..%2Fetc%2Fpasswd", "%00", "%27%20OR%201%3D1", "x" * 999])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/items/{}", None),
        ("DELETE", "/v1/items/{}", None),
        ("POST", "/v1/slates/{}/feedback", {}),
        ("GET", "/v1/users/ann/history?before={}&limit=0", None),
        ("GET", "/v1/items?search={}&after=-1", None),
    ],
)
def test_ids_that_name_nothing_find_nothing(
    client: TestClient, method: str, path: str, body: Any, quoted: str
) -> None:
    refused(client.request(method, path.format(quoted), json=body), 400, 404, 422)


BODIES = {
    "huge": (b'{"event": "' + b"x" * MOST + b'"}', 413),
    "deep lists": (b"[" * 100_000, 400),
    "deep and closed": (b'{"rewards":' + b"[" * 90_000 + b"]" * 90_000 + b"}", 400),
    "deep objects": (b'{"a":' * 30_000, 400),
    "UTF-16": ('{"rewards": {}}'.encode("utf-16"), 400),
    "UTF-32": ('{"rewards": {}}'.encode("utf-32"), 400),
    "byte order mark": (b"\xef\xbb\xbf{}", 400),
    "no UTF-8": (b'{"event": "\xff\xfe"}', 400),
    "Latin-1": ('{"event": "é"}'.encode("latin-1"), 400),
    "NUL": (b'{"event": "\x00"}', 400),
    "nothing": (b"", 400),
    "cut off": (b'{"rewards": {', 400),
    "two values": (b"{} {}", 400),
    "comment": (b"{} // yes", 400),
    "5,000 digits": (b'{"rewards": {"item-1": ' + b"9" * 5000 + b"}}", 400),
    "lone surrogate": (b'{"event": "\\ud800"}', 400),
    "escaped NUL": (b'{"event": "\\u0000"}', 422),
    "NaN": (b'{"rewards": {"item-1": NaN}}', 422),
    "infinity": (b'{"rewards": {"item-1": -Infinity}}', 422),
    "beyond floats": (b'{"rewards": {"item-1": 1e999}}', 422),
    "400 digits": (b'{"rewards": {"item-1": ' + b"9" * 400 + b"}}", 422),
    "truth": (b'{"rewards": {"item-1": true}}', 422),
    "text": (b'{"rewards": {"item-1": "1"}}', 422),
    "above 1": (b'{"rewards": {"item-1": 1.0000001}}', 422),
    "below 0": (b'{"rewards": {"item-1": -1e-300}}', 422),
    "list": (b"[]", 422),
    "null": (b"null", 422),
    "number": (b"1e5", 422),
    "unknown key": (b'{"__proto__": {"rewards": {}}}', 422),
    "10 kB of name": (b'{"' + b"x" * 10_000 + b'": 1}', 422),
    "items of others": (b'{"rewards": {"x\' OR 1": 1}}', 404),
    "the same key twice": (b'{"rewards": {}, "rewards": {"nothing": 1}}', 404),
}


@pytest.mark.parametrize("name", BODIES)
def test_feedback_that_will_not_do_is_refused(client: TestClient, slate: str, name: str) -> None:
    content, status = BODIES[name]

    refused(client.post(f"/v1/slates/{slate}/feedback", content=content, headers=JSON), status)

    (newest, *_) = client.get("/v1/users/ann/history").json()["slates"]
    assert (newest["slate_id"], newest["answered"]) == (slate, False)


@pytest.mark.parametrize(
    "body",
    [
        {"k": 10**30},
        {"k": 0},
        {"k": True},
        {"k": 2.5},
        {"k": "2"},
        {"k": [2]},
        {"candidates": True},
        {"candidates": []},
        {"candidates": {"item-1": 1}},
        {"candidates": ["item-1"] * 10_001},
        {"candidates": ["'; --"]},
        {"exclude": [f"item-{number}" for number in range(12)]},
        {"diversity": {"scale": -1}},
        {"diversity": {"scale": True}},
        {"diversity": {"floor": {"nothing": 1}}},
        {"diversity": {"floor": 2, "ceiling": 1}},
        {"explain": 1},
        {"user": "somebody else"},
    ],
    ids=str,
)
def test_invalid_list_requests_are_refused(client: TestClient, body: Any) -> None:
    refused(client.post("/v1/users/ann/slates", json=body), 404, 422)


FEATURES = [0.1, 0.2, 0.3]
DISTANCES = {"kinds": ["tea"], "colour": "red", "price": 3}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": ""}, "`items.0.id` must have at least 1 character"),
        ({"id": "\u202ex"}, "`id` must be 1 to 200 printable characters"),
        ({"id": "a\nb"}, "`items.0.id` must match pattern"),
        ({"title": "x" * 1001}, "`items.0.title` must have at most 1000 characters"),
        ({"features": FEATURES[:2]}, "`features` must be 3 numbers"),
        ({"features": [1e7, 0, 0]}, "`items.0.features.0` must be less than or equal to 1000000"),
        ({"features": [True, 0, 0]}, "`items.0.features.0` must be a valid number, got true"),
        ({"features": {"nothing": 1.0}}, "`features` must be among"),
        ({"attributes": {"nothing": 1}}, "`attributes` must be among ['maker'], got 'nothing'"),
        (
            {"attributes": {"maker": {"a": {}}}},
            "`items.0.attributes.maker` must be text of at most 10000 characters, a finite number, "
            "a whole number of at most 64 bits, true, false, null, or a list of these, got an "
            "object",
        ),
        ({"distances": {}}, "`distances` must have a value for 'kinds'"),
        ({"distances": {**DISTANCES, "price": True}}, "distance `price` must have a number"),
        (
            {"distances": {**DISTANCES, "price": -1e16}},
            "`distances.price` must be numbers of at most 1e+15 in size, got 1e+16",
        ),
        (
            {"distances": {**DISTANCES, "price": 10**400}},
            "`items.0.distances.price` must be text of at most 10000 characters, a finite number, "
            "a whole number of at most 64 bits, true, false, null, or a list of these, got "
            "a number of more",
        ),
        ({"distances": {**DISTANCES, "kinds": "tea"}}, "distance `kinds` must have a list"),
        (
            {"distances": {**DISTANCES, "kinds": [f"k{n}" for n in range(1001)]}},
            "`distances.kinds` must be at most 1000 labels, got 1001",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_items_that_will_not_do_are_refused(
    client: TestClient, change: dict[str, Any], words: str
) -> None:
    item = {"id": "new", "features": FEATURES, "distances": DISTANCES, **change}

    message = refused(client.post("/v1/items", json={"items": [item]}), 422)["detail"]

    assert message.startswith(words)
    assert client.get("/v1/items?limit=100").json()["total"] == 12


USER = {
    "variegate": 1,
    "user": "moved",
    "policy": "lmdh",
    "created": 1.0,
    "changed": 1.0,
    "slates": 0,
    "state": None,
    "shown": [],
    "lists": [],
    "events": [],
}


@pytest.mark.parametrize(
    "content",
    [
        b"nonsense",
        b"[" * 100_000,
        b"[]\n",
        b"{}\n",
        "{}".encode("utf-16"),
        b"\xff\xff\n",
        json.dumps({**USER, "variegate": 2}).encode(),
        json.dumps({**USER, "variegate": 3}).encode(),
        json.dumps({**USER, "user": "a\0b"}).encode(),
        json.dumps({**USER, "user": "\ud800"}).encode(),
        json.dumps({**USER, "created": float("nan")}).encode(),
        json.dumps({**USER, "slates": 10**30}).encode(),
        json.dumps({**USER, "shown": [["nothing", 1]]}).encode(),
        json.dumps({**USER, "shown": [["item-1", -1]]}).encode(),
        json.dumps({**USER, "state": {"policy": "lmdh", "version": 1, "arrays": 3}}).encode(),
        json.dumps({**USER, "lists": [{"id": "x"}]}).encode(),
        json.dumps({**USER, "events": [{"time": "x"}]}).encode(),
        json.dumps(USER).encode() + b"\n" + json.dumps({**USER, "user": "ann"}).encode(),
    ],
    ids=lambda content: content[:50].decode("latin-1"),
)
def test_imports_that_will_not_do_leave_nothing(client: TestClient, content: bytes) -> None:
    refused(client.post("/v1/import", content=content, headers=LINES), 400, 404, 409, 422)

    assert client.get("/v1/users/moved").status_code == 404


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/xml", "multipart/form-data; boundary=x", "application/x-ndjson"],
)
@pytest.mark.parametrize(
    "path", ["/v1/users/ann/slates", "/v1/slates/x/feedback", "/v1/items"], ids=str
)
def test_bodies_of_other_kinds_are_refused(client: TestClient, path: str, kind: str) -> None:
    refused(client.post(path, content=b"{}", headers={"Content-Type": kind}), 415, 422)


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "OPTIONS", "PATCH", "G" * 300])
def test_methods_that_make_no_sense_are_refused(client: TestClient, method: str) -> None:
    detail = refused(client.request(method, "/v1/users/ann"), 405)

    assert detail["kind"] == "method_not_allowed"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer " + "x" * 5000},
        {"Authorization": "bearer \xff\xfe"},
        {"X-API-Key": "'; DROP TABLE keys; --"},
        {"X-API-Key": "vgk_../../etc_x"},
    ],
    ids=str,
)
def test_keys_that_are_none_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}

    refused(client.get("/v1/users/ann", headers=raw), 401)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Length": "-5"},
        {"Content-Length": "1e9"},
        {"Accept": "image/png"},
        {"X-Request-ID": "a' OR 1"},
        {"X-Forwarded-For": "' OR 1"},
        {"Range": "bytes=0-1"},
        {"Cookie": "x" * 8000},
        {"Content-Encoding": "gzip"},
    ],
    ids=str,
)
def test_headers_that_make_no_sense_change_nothing(
    client: TestClient, headers: dict[str, str]
) -> None:
    answer = client.get("/v1/users/ann", headers=headers)

    assert (answer.status_code, answer.json()["user"]) == (200, "ann")
