"""What a client is made of: its address, its key, its HTTP library."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.client.asking import Asking
from tests.client.serving import service
from variegate.client import AsyncClient, Client
from variegate.client.transport import LineBuffer
from variegate.errors import InputError, MissingExtraError, StoreError
from variegate.service.keys import make_key
from variegate.store import Store


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Return the address of a service with keys, and a client's key."""
    folder: Path = tmp_path_factory.mktemp("locked")
    with Store.open(f"sqlite:///{folder}/store.db") as store:
        key, _ = make_key(store, "write", "shop")
    with service(folder) as url:
        yield url, key


def test_a_key_opens(ask: Asking, locked: tuple[str, str]) -> None:
    url, key = locked

    assert len(ask.at(url, key=key)("recommend", "ana", 2).ids) == 2


def test_without_a_key_nothing_is_answered(ask: Asking, locked: tuple[str, str]) -> None:
    with pytest.raises(InputError, match=r"`key`: a key is required.*\(request .+\)$"):
        ask.at(locked[0])("ping")


def test_a_client_may_not_do_what_needs_an_admin(ask: Asking, locked: tuple[str, str]) -> None:
    url, key = locked

    with pytest.raises(InputError, match="`key`: this needs a key with the role admin"):
        ask.at(url, key=key)("drop_prior", "lmdp")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("key", ["", "two words", "line\n", "clé"])
def test_what_cannot_be_a_key_is_refused_and_not_reported(
    kind: type[Client | AsyncClient], key: str
) -> None:
    with pytest.raises(InputError, match=r"^`key` must be as `variegate keys make` printed it"):
        kind("http://127.0.0.1:1", key)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_key_is_not_shown(kind: type[Client | AsyncClient]) -> None:
    assert repr(kind("http://h:1/", "vgk_secret")) == f"{kind.__name__}('http://h:1')"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8000", "ftp://h", "http://", "http://h/?a=1", "http://me:pw@h", 8000]
)
def test_an_address_must_be_one(kind: type[Client | AsyncClient], url: str) -> None:
    with pytest.raises(InputError, match=r"`url` must be like http://127.0.0.1:8000, got"):
        kind(url)


def test_lines_are_split_at_newlines_alone() -> None:
    lines = LineBuffer()

    assert lines.feed(b'{"a": "\xe2\x80\xa8') == []
    assert lines.feed(b'"}\n{"b') == [b'{"a": "\xe2\x80\xa8"}']
    assert lines.feed(b'": 1}\n\n') == [b'{"b": 1}']
    lines.check_complete()


def test_half_a_line_is_reported() -> None:
    lines = LineBuffer()
    lines.feed(b'{"a"')

    with pytest.raises(StoreError, match="was cut off in the middle of a line"):
        lines.check_complete()


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
    "largest_distances": {},
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
    code = "import sys; from variegate.client import AsyncClient, Client; print(*sys.modules)"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "variegate.client.client" in loaded
    assert {"httpx2", "fastapi", "psycopg", "numpy"} & set(loaded) == set()
