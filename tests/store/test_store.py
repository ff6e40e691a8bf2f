"""Which databases can be opened as a store, and the errors of the others."""

import sqlite3
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from tests.postgres import Postgres
from tests.store.factories import add_users, in_one_batch, user
from variegate.errors import InputError, MissingExtraError, StoreError
from variegate.store import Batch, Store

SECRET = "hunter2"  # noqa: S105 (must not appear in messages)


def value_of(batch: Batch, query: str) -> object:
    """Return the one value that a query selects."""
    ((value,),) = batch._transaction.rows(query)
    return value


@pytest.mark.parametrize("prefix", ["", "sqlite:///"])
def test_path_is_a_sqlite_file(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "the store's 100% file?.db"
    url = f"{prefix}{path}".replace("?", "" if prefix else "?")

    with Store.open(url) as store:
        add_users(store, "ada")

    (file,) = tmp_path.iterdir()
    assert file.read_bytes().startswith(b"SQLite format 3")
    with Store.open(str(file), create=False) as store, store.reading() as reader:
        assert reader.users(["ada"]) == {"ada": user("ada")}


def test_relative_path_stays_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open("sqlite:///here.db") as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        add_users(store, "ada")

    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["here.db"]


@pytest.mark.parametrize(
    ("query", "level"), [("", 2), ("?durability=full", 2), ("?durability=normal", 1)]
)
def test_durability_is_set_by_the_address(tmp_path: Path, query: str, level: int) -> None:
    with Store.open(f"sqlite:///{tmp_path}/file{query}") as store, store.batch() as batch:
        assert value_of(batch, "PRAGMA synchronous") == level
        assert value_of(batch, "PRAGMA journal_mode") == "wal"


def test_one_batch_need_not_wait_for_the_disk(url: str) -> None:
    is_file = url.startswith("sqlite")
    asked = "PRAGMA synchronous" if is_file else "SHOW synchronous_commit"
    found = []
    with Store.open(url.removesuffix("?durability=normal")) as store:
        for durable in (True, False, True):
            with store.batch(durable=durable) as batch:
                found.append(value_of(batch, asked))
                batch.set_meta("durable", str(durable))
            with store.reading() as reader:
                assert reader.meta("durable") == str(durable)

    assert found == ([2, 1, 2] if is_file else ["on", "off", "on"])


@pytest.mark.parametrize(
    ("query", "committed"), [("", "on"), ("&durability=normal", "off")], ids=["full", "normal"]
)
def test_postgres_has_timeouts(postgres_url: str, query: str, committed: str) -> None:
    shown = ("lock_timeout", "statement_timeout", "transaction_isolation", "synchronous_commit")
    with Store.open(postgres_url + query) as store, store.batch() as batch:
        found = [value_of(batch, f"SHOW {name}") for name in shown]

    assert found == ["5s", "27s", "read committed", committed]


def test_address_can_set_other_timeouts(postgres_url: str) -> None:
    url = f"{postgres_url}&options=-c%20lock_timeout%3D70ms&application_name=shop"
    with Store.open(url) as store, store.batch() as batch:
        assert value_of(batch, "SHOW lock_timeout") == "70ms"
        assert value_of(batch, "SHOW application_name") == "shop"


@pytest.mark.parametrize(
    "url", ["sqlite://", ":memory:", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true"]
)
def test_store_in_memory_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"^`url` must name a file: a store in memory is lost"):
        Store.open(url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"mysql://me:{SECRET}@host/db", r"^`url` must be a file, .*, got one of 'mysql'$"),
        (f"postgresql+asyncpg://me:{SECRET}@host/db", r"got one of 'postgresql\+asyncpg'$"),
        (
            f"postgresql://me:{SECRET}@host:port/db",
            r"^`url` must have a number as its port$",
        ),
        (f"postgresql://me:x@{SECRET}@host/db", r"^`url` must have the @ of a password .* %40$"),
        (f"sqlite://{SECRET}/file.db", r"^`url` must have three slashes"),
        (
            "sqlite:///file.db?mode=ro",
            r"^`url` of SQLite .* only parameter, got mode$",
        ),
        (
            "postgresql://me@db/shop?connections=1",
            r"^`connections` must be from 2 to 1000, got '1'$",
        ),
        ("sqlite:///file.db?durability=none", r"^`durability` must be full or normal, got 'none'$"),
        (f"postgresql://host/db?no={SECRET}", r"^`url` must be .* with parameters of libpq"),
        ("://", r"^`url` must be a file"),
    ],
)
def test_wrong_address_is_refused(url: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        Store.open(url)

    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/db",
        f"postgres://127.0.0.1:1/db?user=me&password={SECRET}",
        f"postgresql://me:{SECRET}@/db?host=/nowhere/{SECRET}",
        f"postgresql://me@127.0.0.1:1/db?sslmode={SECRET}&sslpassword={SECRET}",
    ],
    ids=["password", "query", "socket", "setting"],
)
def test_missing_server_is_reported_without_secrets(url: str) -> None:
    with pytest.raises(StoreError, match=r"^postgresql://(127.0.0.1:1)?/db: ") as caught:
        Store.open(url)

    text = "".join(traceback.format_exception(caught.value))
    assert SECRET not in text
    assert "\n" not in str(caught.value)


def test_missing_database_is_reported(postgres: Postgres) -> None:
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        Store.open(postgres.url("nowhere"))


def test_database_of_another_encoding_is_refused(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS latin")
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        name = connection.info.dbname

    with pytest.raises(StoreError, match="must be encoded in UTF8, is LATIN1"):
        Store.open(postgres_url.replace(name, "latin"))


def test_nothing_is_created_without_create(tmp_path: Path, new_postgres_url: str) -> None:
    with pytest.raises(StoreError, match="there is no store here"):
        Store.open(str(tmp_path / "file"), create=False)
    assert list(tmp_path.iterdir()) == []

    with pytest.raises(StoreError, match="there is no store here"):
        Store.open(new_postgres_url, create=False)


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere/file: the folder does not exist: create"):
        Store.open(str(tmp_path / "nowhere" / "file"))


def test_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open database file"):
        Store.open(str(tmp_path))


def test_file_of_another_kind_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader, " * 500)

    with pytest.raises(StoreError, match=r"letter\.txt: file is not a database"):
        Store.open(str(path))

    assert path.read_text() == "Dear reader, " * 500


@pytest.mark.parametrize("table", ["users (name)", "meta (key, value)", "meta (id, version)"])
def test_tables_of_another_application_are_refused_and_kept(tmp_path: Path, table: str) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {table}")
    connection.close()

    with pytest.raises(StoreError, match="holds tables of another application: use a data"):
        Store.open(str(path))

    connection = sqlite3.connect(path)
    assert len(connection.execute("SELECT * FROM sqlite_master").fetchall()) == 1
    connection.close()


def test_closed_store_says_so(store: Store) -> None:
    store.close()

    with pytest.raises(StoreError, match="the store was closed"):
        store.ping()
    with pytest.raises(StoreError, match="the store was closed"), store.batch():
        pass


@pytest.mark.parametrize("kind", ["sqlite_url", "new_postgres_url"])
def test_ping_reports_an_emptied_store(kind: str, request: pytest.FixtureRequest) -> None:
    with Store.open(request.getfixturevalue(kind)) as store:
        store.ping()
        in_one_batch(store, lambda batch: batch._transaction.change("DELETE FROM meta"))

        with pytest.raises(StoreError, match="has lost its contents: restore it from a backup"):
            store.ping()


def test_missing_driver_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "variegate.store.postgres", raising=False)

    with pytest.raises(MissingExtraError, match=r"psycopg: pip install 'variegate\[service\]'"):
        Store.open("postgresql://host/db")


def test_importing_the_store_does_not_load_psycopg() -> None:
    code = "import sys, variegate.store; print('psycopg' in sys.modules)"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert loaded.stdout == "False\n"


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("inf"), float("nan")])
def test_timeout_must_be_seconds(tmp_path: Path, timeout: float) -> None:
    with pytest.raises(InputError, match="`timeout` must be a number of seconds above 0"):
        Store.open(str(tmp_path / "store.db"), timeout=timeout)
