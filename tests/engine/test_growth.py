"""How much a store grows with each list and its report; see docs/explanation/safety.md."""

from pathlib import Path

import psycopg
import pytest

from tests.engine.shop import Shop
from tests.postgres import Postgres, fresh_database
from variegate.data.films import film_catalogue
from variegate.store import Store

#: Lists of ten films with their reports
LISTS = 100


def sizes_of(url: str) -> int:
    """Return the bytes that a store takes; in PostgreSQL, that its lists and events take.

    Former versions of users' rows stay there until it vacuums.
    """
    if url.startswith("sqlite"):
        return Path(url.removeprefix("sqlite:///")).stat().st_size
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT pg_total_relation_size('slates') + pg_total_relation_size('events')"
        ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/growth.db"
    server: Postgres = request.getfixturevalue("postgres")
    return fresh_database(server)


def test_a_list_with_its_report_takes_a_few_kilobytes(url: str) -> None:
    def live(lists: int) -> int:
        with Store.open(url) as store:
            shop = Shop(store, {"lmdp": "lmdp"}, items=film_catalogue(), k=10)
            for number in range(lists):
                shop.click(f"user {number % 20}", place=number % 10)
                shop.clock.now += 1
        return sizes_of(url)

    before = live(40)  # the users' own rows stay of one size
    each = (live(LISTS) - before) / LISTS

    assert 2000 < each < 5000, each
