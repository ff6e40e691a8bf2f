"""One service for all tests of the clients that only talk to it, each with its own users."""

from collections.abc import Iterator
from functools import cache

import httpcore2
import pytest

from tests.client.asking import Asking
from tests.client.serving import Stumbling, service, stumbling


@pytest.fixture(scope="session", autouse=True)
def _one_tls_context() -> Iterator[None]:
    """Read the machine's certificates once: that takes longer than a call of a new client."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a service over the bundled films."""
    with service(tmp_path_factory.mktemp("service")) as url:
        yield url


@pytest.fixture
def proxy(address: str) -> Iterator[Stumbling]:
    """Return a proxy in front of the service that misbehaves on request."""
    with stumbling(address) as made:
        yield made


@pytest.fixture
def ask(address: str) -> Asking:
    """Return what calls the service through a client."""
    return Asking("sync", address)


@pytest.fixture(params=["sync", "async"])
def both(request: pytest.FixtureRequest, address: str) -> Asking:
    """Return what calls the service through each of the clients."""
    return Asking(request.param, address)


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    """Return a user that no other test knows."""
    return f"user of {request.node.name}"
