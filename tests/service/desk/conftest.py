"""Stores for the core of the service: SQLite; tests that take `any_store` run on both."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.postgres import Postgres, fresh_database
from tests.service.desk.shop import Shop
from variegate.policies.warming import warm
from variegate.store import Store

#: Opens a new store of a kind
Opening = Callable[[str], Store]


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    warm()


@pytest.fixture(scope="session")
def postgres_url(postgres: Postgres) -> str:
    """Return the address of one database for all tests: making one takes longer than a test."""
    return fresh_database(postgres)


@pytest.fixture
def url_of(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Give the address of an empty store of a kind; of those in PostgreSQL a test has one."""
    numbers = iter(range(100))

    def address(kind: str) -> str:
        if kind == "postgres":
            return emptied(request.getfixturevalue("postgres_url"))
        return f"sqlite:///{tmp_path / f'store{next(numbers)}.db'}?durability=normal"

    return address


def emptied(url: str) -> str:
    with Store.open(url), psycopg.connect(url) as connection:
        tables = (
            "users, slates, events, items, item_changes, keys, priors, sums, user_sums, replicas"
        )
        connection.execute(f"TRUNCATE {tables}")
        connection.execute("DELETE FROM meta WHERE key <> 'schema'")
    return url


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
