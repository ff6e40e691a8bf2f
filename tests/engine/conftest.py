"""Stores for the core of the service: SQLite; tests that take `any_store` run on both."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.engine.shop import Shop
from variegate.policies.warmup import warm
from variegate.store import Store

#: Opens a new store of a kind
Opening = Callable[[str], Store]


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    warm()


@pytest.fixture
def url_of(
    tmp_path: Path, empty_store_file: Path, request: pytest.FixtureRequest
) -> Callable[[str], str]:
    """Give the address of an empty store of a kind; of those in PostgreSQL a test has one."""
    numbers = iter(range(100))

    def address(kind: str) -> str:
        if kind == "postgres":
            return str(request.getfixturevalue("postgres_url"))
        file = tmp_path / f"store{next(numbers)}.db"
        shutil.copy(empty_store_file, file)
        return f"sqlite:///{file}?durability=normal"

    return address


@pytest.fixture
def opening(url_of: Callable[[str], str]) -> Iterator[Opening]:
    with ExitStack() as stack:
        yield lambda kind: stack.enter_context(Store.open(url_of(kind)))


@pytest.fixture
def store(opening: Opening) -> Store:
    return opening("sqlite")


@pytest.fixture(params=["sqlite", "postgres"])
def any_store(request: pytest.FixtureRequest, opening: Opening) -> Store:
    return opening(request.param)


@pytest.fixture
def shop(store: Store) -> Shop:
    return Shop(store)
