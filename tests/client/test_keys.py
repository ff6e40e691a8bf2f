"""Keys: who is let in, and what the client says to those who are not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.asking import Asking
from tests.client.serving import service
from variegate.client import AsyncClient, Client
from variegate.errors import InputError
from variegate.service.keys import make_key
from variegate.store import Store


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Return the address of a service with keys, and a client's key."""
    folder: Path = tmp_path_factory.mktemp("locked")
    with Store.open(f"sqlite:///{folder}/store.db") as store:
        key, _ = make_key(store, "client", "shop")
    with service(folder) as url:
        yield url, key


def test_a_key_opens(ask: Asking, locked: tuple[str, str]) -> None:
    url, key = locked

    assert len(ask.at(url, key=key)("recommend", "ana", 2).ids) == 2


def test_without_a_key_nothing_is_answered(ask: Asking, locked: tuple[str, str]) -> None:
    with pytest.raises(InputError, match=r"`key`: a key is needed.*\(request .+\)$"):
        ask.at(locked[0])("ping")


def test_a_client_may_not_do_what_needs_an_admin(ask: Asking, locked: tuple[str, str]) -> None:
    url, key = locked

    with pytest.raises(InputError, match="`key`: this needs a key with the role admin"):
        ask.at(url, key=key)("report")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("key", ["", "two words", "line\n", "clé"])
def test_what_cannot_be_a_key_is_refused_and_not_told(
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
