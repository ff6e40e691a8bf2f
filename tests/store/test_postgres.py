"""PostgreSQL that stops, restarts, hangs, or loses a commit or its answer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from tests.postgres import Postgres
from tests.proxy import Proxy, proxy_to
from tests.store.factories import add_users, event, in_one_batch, user
from variegate.errors import OutcomeUnknownError, StoreError
from variegate.store import Batch, Store

#: Seconds for a statement
LIMIT = 2.0
#: Seconds within which a failure comes even on a busy machine; without the limit it takes 30
SOON = 20.0
#: The message of a server that cannot be reached
AWAY = r"^postgresql:///fresh_\d+: .+"


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    with Store.open(postgres_url):
        pass
    with proxy_to(postgres_url) as opened:
        yield opened


@pytest.fixture
def counted() -> list[str]:
    return []


@pytest.fixture
def proxied(proxy: Proxy, counted: list[str]) -> Iterator[Store]:
    """Return a store behind the proxy, with a short timeout."""
    with Store.open(proxy.url, timeout=LIMIT, count=counted.append) as opened:
        add_users(opened, "ada")
        yield opened


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


def user_ids(store: Store) -> list[str]:
    with store.reading() as reader:
        return [row.id for row in reader.all_users(None, 99)]


def user_ids_at(url: str) -> list[str]:
    with Store.open(url) as store:
        return user_ids(store)


def raised(work: Callable[[], object]) -> tuple[type[BaseException], float]:
    """Return what work raises, and after how many seconds."""
    start = time.monotonic()
    with pytest.raises(StoreError) as caught:
        work()
    return caught.type, time.monotonic() - start


def test_commit_that_is_lost_with_the_connection_has_an_unknown_outcome(
    proxied: Store, proxy: Proxy, postgres_url: str, counted: list[str]
) -> None:
    proxy.mode = "lose_commit"

    kind, _ = raised(lambda: add_users(proxied, "bob"))

    assert kind is OutcomeUnknownError
    assert user_ids_at(postgres_url) == ["ada"]
    assert counted == ["outcome_unknown"]


@pytest.mark.parametrize("mode", ["lose_answer", "keep_answer"])
def test_commit_whose_answer_is_lost_has_an_unknown_outcome(
    proxied: Store, proxy: Proxy, postgres_url: str, mode: str, counted: list[str]
) -> None:
    proxy.mode = mode

    kind, seconds = raised(lambda: add_users(proxied, "bob"))

    assert kind is OutcomeUnknownError
    assert user_ids_at(postgres_url) == ["ada", "bob"]
    assert counted == ["outcome_unknown"]
    assert seconds < SOON


def test_statement_without_an_answer_times_out_and_changes_nothing(
    proxied: Store, proxy: Proxy, postgres_url: str, counted: list[str]
) -> None:
    with proxied.batch():  # the test of the idle connection is answered
        proxy.mode = "swallow"
        kind, seconds = raised(lambda: add_users(proxied, "bob"))

        assert kind is StoreError
        assert counted == ["timeout"]
        assert seconds < SOON
        proxy.mode = "forward"
    assert user_ids_at(postgres_url) == ["ada"]


@pytest.mark.parametrize("idle", [0.0, 1000.0])
def test_dead_idle_connection_times_out(
    proxied: Store,
    proxy: Proxy,
    counted: list[str],
    idle: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("variegate.store.postgres._IDLE_SECONDS", idle)
    proxied.ping()
    proxy.mode = "swallow"

    kind, seconds = raised(proxied.ping)

    assert (kind, counted) == (StoreError, ["timeout"])
    assert seconds < SOON


def test_database_that_does_not_answer_is_tried_by_one_transaction_at_a_time(
    proxied: Store, proxy: Proxy, counted: list[str]
) -> None:
    proxy.mode = "swallow"
    raised(proxied.ping)
    trial = threading.Thread(target=lambda: raised(proxied.ping))
    trial.start()
    while trial.is_alive() and not proxied._database._trial.locked():
        time.sleep(0.01)

    _, seconds = raised(proxied.ping)

    assert seconds < LIMIT / 2
    trial.join()
    proxy.mode = "forward"
    proxied.ping()
    proxied.ping()
    assert set(counted) == {"timeout"}


def test_transaction_can_have_a_longer_timeout(proxied: Store) -> None:
    slow = f"SELECT pg_sleep({LIMIT + 0.1})"
    with proxied._database.reading(10.0 * LIMIT) as transaction:
        transaction.rows(slow)
    timeout = pytest.raises(StoreError, match="statement timeout")
    with timeout, proxied._database.reading() as transaction:
        transaction.rows(slow)


def test_frozen_server_times_out(postgres: Postgres, postgres_url: str) -> None:
    with Store.open(postgres_url, timeout=LIMIT) as store:
        add_users(store, "ada")
        with postgres.frozen():
            kind, seconds = raised(lambda: add_users(store, "bob"))
        assert kind is StoreError
        assert seconds < SOON
        add_users(store, "bob")
    assert user_ids_at(postgres_url) == ["ada", "bob"]


def test_connection_closed_by_the_server_before_the_commit_changes_nothing(
    proxied: Store, postgres_url: str
) -> None:
    def end_connections() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            while other.execute(
                "SELECT 1 FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND backend_type = 'client backend'"
            ).fetchall():
                time.sleep(0.01)

    def work() -> None:
        with proxied.batch() as batch:
            batch.set_meta("half", "done")
            end_connections()
            time.sleep(0.05)

    kind, _ = raised(work)

    assert kind is StoreError


def test_stopped_server_is_reported_and_used_again_after_its_restart(
    store: Store, postgres: Postgres
) -> None:
    with stopped(postgres):
        with pytest.raises(StoreError, match=AWAY):
            store.ping()
        with pytest.raises(StoreError, match=AWAY):
            add_users(store, "bob")

    store.ping()
    assert user_ids(store) == ["ada"]
    add_users(store, "bob")
    assert user_ids(store) == ["ada", "bob"]


def test_restart_between_two_batches_is_not_noticed(store: Store, postgres: Postgres) -> None:
    with stopped(postgres):
        pass

    add_users(store, "bob")

    assert user_ids(store) == ["ada", "bob"]


def test_server_that_stops_during_a_batch_commits_nothing(store: Store, postgres: Postgres) -> None:
    def go_on(batch: Batch) -> None:
        with stopped(postgres), pytest.raises(StoreError, match=AWAY) as caught:
            batch.add_events([event()])
        assert "\n" not in str(caught.value)

    with pytest.raises(StoreError, match=AWAY):
        in_one_batch(store, lambda batch: batch.ensure_users([user("bob")]), go_on)

    assert user_ids(store) == ["ada"]


def test_restart_before_the_commit_commits_nothing(store: Store, postgres: Postgres) -> None:
    def restart(_batch: Batch) -> None:
        with stopped(postgres):
            pass

    with pytest.raises(StoreError, match=AWAY):
        in_one_batch(store, lambda batch: batch.ensure_users([user("bob")]), restart)

    assert user_ids(store) == ["ada"]


def test_wait_for_a_lock_times_out(store: Store, postgres_url: str) -> None:
    quick = f"{postgres_url}&options=-c%20lock_timeout%3D50ms"
    with Store.open(quick) as other, store.batch() as batch:
        batch.lock_users(["ada"])
        with pytest.raises(StoreError, match="canceling statement due to lock timeout"):
            in_one_batch(other, lambda batch: batch.lock_users(["ada"]))

        assert user_ids(other) == ["ada"]


def test_slow_statement_times_out(store: Store, postgres_url: str) -> None:
    quick = f"{postgres_url}&options=-c%20statement_timeout%3D50ms"
    with Store.open(quick) as other, store.batch() as batch:
        batch.lock_users(["ada"])
        with pytest.raises(StoreError, match="canceling statement due to statement timeout"):
            in_one_batch(other, lambda batch: batch.forget_user("ada"))


def test_read_only_server_is_reported_and_used_when_it_accepts_writes(
    new_postgres_url: str,
) -> None:
    url = new_postgres_url
    Store.open(url).close()
    with read_only(url), Store.open(url) as other:
        with pytest.raises(StoreError, match="cannot execute INSERT in a read-only transaction"):
            add_users(other, "bob")
        with read_only(url, "off"):
            add_users(other, "bob")

        assert user_ids(other) == ["bob"]


@contextmanager
def read_only(url: str, value: str = "on") -> Iterator[None]:
    """Let a server refuse writes, like a standby."""
    name = url.partition("?")[0].rpartition("/")[2]
    setting = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(setting.format(sql.Identifier(name), sql.Literal(value)))
    yield
