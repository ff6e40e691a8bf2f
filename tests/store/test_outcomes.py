"""Not done, or not known: what is raised where a commit, or the answer to it, is lost."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.postgres import Postgres
from tests.proxy import Proxy, proxy_to
from tests.store.making import add_users
from variegate.errors import InputError, OutcomeUnknownError, StoreError
from variegate.store import Store
from variegate.store.sqlite import SqliteDatabase

#: Seconds for a statement
LIMIT = 1.0
#: Seconds in which a failure comes on a busy machine too; without the limit it would take 30
SOON = 10.0


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
def store(proxy: Proxy, counted: list[str]) -> Iterator[Store]:
    with Store.open(proxy.url, timeout=LIMIT, count=counted.append) as opened:
        add_users(opened, "ada")
        yield opened


def everybody(url: str) -> list[str]:
    with Store.open(url) as store, store.reading() as reader:
        return [row.id for row in reader.all_users(None, 99)]


def raised(work: Callable[[], object]) -> tuple[type[BaseException], float]:
    """Return what work raises, and after how many seconds."""
    start = time.monotonic()
    with pytest.raises(StoreError) as caught:
        work()
    return caught.type, time.monotonic() - start


def test_commit_that_is_lost_with_the_connection_has_an_unknown_outcome(
    store: Store, proxy: Proxy, postgres_url: str, counted: list[str]
) -> None:
    proxy.mode = "lose_commit"

    kind, _ = raised(lambda: add_users(store, "bob"))

    assert kind is OutcomeUnknownError
    assert everybody(postgres_url) == ["ada"]
    assert counted == ["outcome_unknown"]


@pytest.mark.parametrize("mode", ["lose_answer", "keep_answer"])
def test_commit_whose_answer_is_lost_has_an_unknown_outcome(
    store: Store, proxy: Proxy, postgres_url: str, mode: str, counted: list[str]
) -> None:
    proxy.mode = mode

    kind, seconds = raised(lambda: add_users(store, "bob"))

    assert kind is OutcomeUnknownError
    assert everybody(postgres_url) == ["ada", "bob"]
    assert counted == ["outcome_unknown"]
    assert seconds < SOON


def test_statement_that_nobody_answers_is_given_up_and_nothing_is_done(
    store: Store, proxy: Proxy, postgres_url: str, counted: list[str]
) -> None:
    with store.batch():  # the question whether the connection is alive is answered
        proxy.mode = "swallow"
        kind, seconds = raised(lambda: add_users(store, "bob"))

        assert kind is StoreError
        assert counted == ["timeout"]
        assert seconds < SOON
        proxy.mode = "forward"
    assert everybody(postgres_url) == ["ada"]


@pytest.mark.parametrize("idle", [0.0, 1000.0])
def test_connection_that_was_idle_and_is_dead_is_given_up_in_time(
    store: Store,
    proxy: Proxy,
    counted: list[str],
    idle: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("variegate.store.postgres._IDLE_SECONDS", idle)
    store.ping()
    proxy.mode = "swallow"

    kind, seconds = raised(store.ping)

    assert (kind, counted) == (StoreError, ["timeout"])
    assert seconds < SOON


def test_database_that_does_not_answer_is_tried_by_one_at_a_time(
    store: Store, proxy: Proxy, counted: list[str]
) -> None:
    proxy.mode = "swallow"
    raised(store.ping)
    trial = threading.Thread(target=lambda: raised(store.ping))
    trial.start()
    while trial.is_alive() and not store._database._trial.locked():
        time.sleep(0.01)

    _, seconds = raised(store.ping)

    assert seconds < LIMIT / 2
    trial.join()
    proxy.mode = "forward"
    store.ping()
    store.ping()
    assert set(counted) == {"timeout"}


def test_statements_may_have_longer_where_a_transaction_asks_for_it(store: Store) -> None:
    slow = "SELECT pg_sleep(1.1)"
    with store._database.reading(5.0) as transaction:
        transaction.rows(slow)
    timeout = pytest.raises(StoreError, match="statement timeout")
    with timeout, store._database.reading() as transaction:
        transaction.rows(slow)


def test_server_that_is_stopped_in_its_tracks_is_given_up_in_time(
    postgres: Postgres, postgres_url: str
) -> None:
    with Store.open(postgres_url, timeout=LIMIT) as store:
        add_users(store, "ada")
        with postgres.frozen():
            kind, seconds = raised(lambda: add_users(store, "bob"))
        assert kind is StoreError
        assert seconds < SOON
        add_users(store, "bob")
    assert everybody(postgres_url) == ["ada", "bob"]


def test_connection_that_the_server_ended_before_the_commit_has_done_nothing(
    store: Store, postgres_url: str
) -> None:
    import psycopg

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
        with store.batch() as batch:
            batch.set_meta("half", "done")
            end_connections()
            time.sleep(0.05)

    kind, _ = raised(work)

    assert kind is StoreError


@pytest.mark.parametrize(
    ("code", "is_undone"),
    [
        (sqlite3.SQLITE_FULL, True),
        (sqlite3.SQLITE_BUSY, True),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, True),
        (sqlite3.SQLITE_READONLY, True),
        (sqlite3.SQLITE_IOERR_WRITE, True),
        (sqlite3.SQLITE_IOERR_FSYNC, False),
        (sqlite3.SQLITE_IOERR_SHMMAP, False),
        (sqlite3.SQLITE_NOMEM, False),
    ],
)
def test_commit_to_a_file_is_rolled_back_where_its_last_page_was_not_written(
    tmp_path: Path, code: int, is_undone: bool
) -> None:
    database = SqliteDatabase(tmp_path / "store.db", create=True, durable=True, timeout=1.0)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    try:
        assert database._is_rolled_back(error) is is_undone
        assert not database._is_rolled_back(sqlite3.OperationalError("of no code"))
    finally:
        database.close()


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("inf"), float("nan")])
def test_timeout_must_be_seconds(tmp_path: Path, timeout: float) -> None:
    with pytest.raises(InputError, match="`timeout` must be a number of seconds above 0"):
        Store.open(str(tmp_path / "store.db"), timeout=timeout)
