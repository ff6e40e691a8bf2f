"""For every test: hypothesis without a clock, which a busy machine would trip over; PostgreSQL."""

import gc
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from tests.postgres import (
    Postgres,
    PostgresUnavailableError,
    emptied,
    fresh_database,
    postgres_server,
)

settings.register_profile("variegate", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("long", deadline=None, max_examples=1000)  # `make fuzz`
settings.load_profile("variegate")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect without the garbage collector, which would scan all tests again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests in the package only: the tests have none."""
    found = yield
    return [collector for collector in found if not isinstance(collector, DoctestModule)]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Return a PostgreSQL server, one for all tests of a process, or skip."""
    try:
        with postgres_server() as server:
            yield server
    except PostgresUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def empty_store_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with an empty store; to copy it takes less time than to make another."""
    from variegate.store import Store

    file = tmp_path_factory.mktemp("store") / "empty.db"
    Store.open(str(file)).close()
    return file


@pytest.fixture
def new_postgres_url(postgres: Postgres) -> str:
    """Return the address of a new database, without any table."""
    return fresh_database(postgres)


@pytest.fixture(scope="session")
def shared_database(postgres: Postgres) -> str:
    """Return the address of a store's database, made once for all tests of a process."""
    from variegate.store import Store

    url = fresh_database(postgres)
    Store.open(url).close()
    return url


@pytest.fixture
def postgres_url(shared_database: str) -> str:
    """Return the address of an empty store in the shared database."""
    return emptied(shared_database)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of an empty store of each kind; `sqlite_url` is for those who ask."""
    address: str = request.getfixturevalue(f"{request.param}_url")
    return address
