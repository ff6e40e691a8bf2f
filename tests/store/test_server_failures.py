"""What can happen to a server: away, back again, slow, gone in the midst of a batch."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from tests.postgres import Postgres
from tests.store.making import add_users, event, in_one_batch, user
from variegate.errors import StoreError
from variegate.store import Batch, Store

AWAY = r"^postgresql:///fresh_\d+: .+"


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    with Store.open(postgres_url) as opened:
        add_users(opened, "ada")
        yield opened


@contextmanager
def stopped(server: Postgres) -> Iterator[None]:
    server.stop()
    try:
        yield
    finally:
        server.start()


def everybody(store: Store) -> list[str]:
    with store.reading() as reader:
        return [row.id for row in reader.all_users(None, 99)]


def test_server_that_is_away_is_told_and_used_again_when_it_is_back(
    store: Store, postgres: Postgres
) -> None:
    with stopped(postgres):
        with pytest.raises(StoreError, match=AWAY):
            store.ping()
        with pytest.raises(StoreError, match=AWAY):
            add_users(store, "bob")

    store.ping()
    assert everybody(store) == ["ada"]
    add_users(store, "bob")
    assert everybody(store) == ["ada", "bob"]


def test_server_that_was_away_between_two_batches_is_not_noticed(
    store: Store, postgres: Postgres
) -> None:
    with stopped(postgres):
        pass

    add_users(store, "bob")

    assert everybody(store) == ["ada", "bob"]


def test_server_that_goes_in_the_midst_of_a_batch_keeps_nothing(
    store: Store, postgres: Postgres
) -> None:
    def go_on(batch: Batch) -> None:
        with stopped(postgres), pytest.raises(StoreError, match=AWAY) as caught:
            batch.add_events([event()])
        assert "\n" not in str(caught.value)

    with pytest.raises(StoreError, match=AWAY):
        in_one_batch(store, lambda batch: batch.ensure_users([user("bob")]), go_on)

    assert everybody(store) == ["ada"]


def test_server_that_goes_before_the_last_step_keeps_nothing(
    store: Store, postgres: Postgres
) -> None:
    def restart(_batch: Batch) -> None:
        with stopped(postgres):
            pass

    with pytest.raises(StoreError, match=AWAY):
        in_one_batch(store, lambda batch: batch.ensure_users([user("bob")]), restart)

    assert everybody(store) == ["ada"]


def test_lock_that_another_keeps_is_given_up(store: Store, postgres_url: str) -> None:
    quick = f"{postgres_url}&options=-c%20lock_timeout%3D50ms"
    with Store.open(quick) as other, store.batch() as batch:
        batch.lock_users(["ada"])
        with pytest.raises(StoreError, match="canceling statement due to lock timeout"):
            in_one_batch(other, lambda batch: batch.lock_users(["ada"]))

        assert everybody(other) == ["ada"]


def test_statement_that_takes_too_long_is_given_up(store: Store, postgres_url: str) -> None:
    quick = f"{postgres_url}&options=-c%20statement_timeout%3D50ms"
    with Store.open(quick) as other, store.batch() as batch:
        batch.lock_users(["ada"])
        with pytest.raises(StoreError, match="canceling statement due to statement timeout"):
            in_one_batch(other, lambda batch: batch.forget_user("ada"))


def test_server_that_takes_no_writes_is_told_and_used_when_it_does(
    new_postgres_url: str,
) -> None:
    url = new_postgres_url
    Store.open(url).close()
    with read_only(url), Store.open(url) as other:
        with pytest.raises(StoreError, match="cannot execute INSERT in a read-only transaction"):
            add_users(other, "bob")
        with read_only(url, "off"):
            add_users(other, "bob")

        assert everybody(other) == ["bob"]


@contextmanager
def read_only(url: str, value: str = "on") -> Iterator[None]:
    """Let a server refuse writes, as one does that follows another."""
    name = url.partition("?")[0].rpartition("/")[2]
    setting = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(setting.format(sql.Identifier(name), sql.Literal(value)))
    yield
