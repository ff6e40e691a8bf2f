"""Stores of a test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import Postgres, PostgresUnavailableError, fresh_database, postgres_server
from variegate.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a new store in a file."""
    with Store.open(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Return a PostgreSQL server, or skip."""
    try:
        with postgres_server() as server:
            yield server
    except PostgresUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """Return the address of a file that is not there yet."""
    return f"sqlite:///{tmp_path}/service.db"


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """Return the address of an empty database."""
    return fresh_database(postgres)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of an empty store of each kind."""
    address: str = request.getfixturevalue(f"{request.param}_url")
    return address
