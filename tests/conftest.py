"""For every test: hypothesis without a clock, which a busy machine would trip over; PostgreSQL."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.postgres import Postgres, PostgresUnavailableError, fresh_database, postgres_server

settings.register_profile("variegate", deadline=None, derandomize=True)
settings.load_profile("variegate")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Return a PostgreSQL server, one for all tests of a process, or skip."""
    try:
        with postgres_server() as server:
            yield server
    except PostgresUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """Return the address of an empty database."""
    return fresh_database(postgres)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of an empty store of each kind; `sqlite_url` is for those who ask."""
    address: str = request.getfixturevalue(f"{request.param}_url")
    return address
