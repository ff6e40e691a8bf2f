"""What can happen to a file: gone, replaced, locked, full, not to be written, broken."""

import itertools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.store.making import add_users, in_one_batch, slate, user
from variegate.errors import StoreError
from variegate.store import Batch, Store
from variegate.store.sqlite import SqliteConnection, SqliteDatabase

GONE = r"store\.db: was removed or replaced: restart the service$"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{path}?durability=normal") as opened:
        add_users(opened, "ada")
        yield opened


@contextmanager
def on_each_connection(*pragmas: str) -> Iterator[None]:
    """Set something on every connection that is opened inside."""
    connect = SqliteDatabase._connect

    def connect_and_set(database: SqliteDatabase) -> SqliteConnection:
        connection = connect(database)
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteDatabase, "_connect", connect_and_set)
        yield


def remove(path: Path) -> None:
    path.unlink()


def remove_all(path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def replace_by_a_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def remove_the_log(path: Path) -> None:
    path.with_name("store.db-wal").unlink()


def replace_the_log(path: Path) -> None:
    remove_the_log(path)
    path.with_name("store.db-wal").touch()


def contents(path: Path) -> dict[str, bytes]:
    """Return what a start of the service would find; the marks of locks in -shm are no part."""
    return {
        file.name: file.read_bytes()
        for file in path.parent.iterdir()
        if not file.name.endswith("-shm")
    }


every_loss = pytest.mark.parametrize(
    "lose", [remove, remove_all, move, replace_by_a_copy, remove_the_log, replace_the_log]
)


@every_loss
def test_file_that_is_not_the_same_is_not_written(
    store: Store, path: Path, lose: Callable[[Path], None]
) -> None:
    lose(path)
    left = contents(path)

    with pytest.raises(StoreError, match=GONE):
        add_users(store, "bob")
    with pytest.raises(StoreError, match=GONE):
        store.ping()

    assert contents(path) == left


def test_file_that_is_gone_is_not_made_anew_by_a_new_connection(store: Store, path: Path) -> None:
    with store.batch():
        remove(path)
        with pytest.raises(StoreError, match=GONE):
            store.ping()

    assert not path.exists()


def test_file_that_comes_back_is_used_again(store: Store, path: Path) -> None:
    move(path)
    with pytest.raises(StoreError, match=GONE):
        add_users(store, "bob")
    path.with_name("moved.db").rename(path)

    add_users(store, "bob")

    with store.reading() as reader:
        assert reader.users(["ada", "bob"]).keys() == {"ada", "bob"}


def test_file_that_others_write_to_is_waited_for_and_then_given_up(path: Path) -> None:
    Store.open(str(path)).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with on_each_connection("busy_timeout = 100"), Store.open(str(path)) as store:
        with pytest.raises(StoreError, match=r"store\.db: database is locked$"):
            add_users(store, "ada")
        store.ping()
        other.execute("COMMIT")
        add_users(store, "ada")
    other.close()


def fill(store: Store) -> None:
    for number in itertools.count():
        add_users(store, f"user {number}", state=bytes(8000))


def test_full_disk_keeps_what_was_kept_and_goes_on_when_there_is_room(path: Path) -> None:
    with on_each_connection("max_page_count = 120"), Store.open(str(path)) as store:
        with pytest.raises(StoreError, match=r"store\.db: database or disk is full$"):
            fill(store)
        with store.reading() as reader:
            room = reader.counts()["users"]
            assert room > 10
            assert len(reader.users(f"user {number}" for number in range(room))) == room

        in_one_batch(store, lambda batch: batch.forget_user("user 0"))
        add_users(store, "again", state=bytes(8000))

        with store.reading() as reader:
            assert reader.counts()["users"] == room


def test_full_disk_inside_a_batch_that_goes_on_keeps_nothing(path: Path) -> None:
    def overfill(batch: Batch) -> None:
        with pytest.raises(StoreError, match="database or disk is full"):
            batch.add_slates([slate(f"01{n}", features=bytes(8000)) for n in range(200)])
        # By now SQLite has given up the transaction and would keep this by itself.
        with pytest.raises(StoreError, match="database or disk is full"):
            batch.set_meta("half", "done")

    with on_each_connection("max_page_count = 120"), Store.open(str(path)) as store:
        with pytest.raises(StoreError, match="database or disk is full"):
            in_one_batch(store, lambda batch: batch.ensure_users([user("ada")]), overfill)

        with store.reading() as reader:
            assert reader.counts() == {"users": 0, "slates": 0, "answered": 0, "events": 0}
            assert reader.meta("half") is None
        add_users(store, "ada")


def test_store_that_must_not_be_written_can_be_read(path: Path) -> None:
    with Store.open(str(path)) as store:
        add_users(store, "ada")
    with Store.open(str(path)) as store:
        # What SQLite says if the disk was mounted for reading only while the store was open.
        for connection in store._database._pool._idle:
            connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="attempt to write a readonly database"):
            add_users(store, "bob")
        with store.reading() as reader:
            assert reader.users(["ada", "bob"]) == {"ada": user("ada")}


@contextmanager
def not_as_root() -> Iterator[None]:
    """Run as somebody whom the permissions of files bind."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_file_without_permission_to_write_is_told() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        Store.open(str(path)).close()
        path.chmod(0o444)
        path.parent.chmod(0o555)
        try:
            with not_as_root(), pytest.raises(StoreError, match=r"store\.db: .*(readonly|unable)"):
                Store.open(str(path))
        finally:
            path.parent.chmod(0o755)


def test_broken_file_is_told(path: Path) -> None:
    with Store.open(str(path)) as store:
        add_users(store, *(f"user {number}" for number in range(500)))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)

    with pytest.raises(StoreError, match=r"store\.db: .*malformed"):
        Store.open(str(path))


def test_forgotten_user_is_not_in_the_file(path: Path) -> None:
    with Store.open(str(path)) as store:
        add_users(store, "somebody special", state=b"a secret taste" * 1000)
    assert b"somebody special" in path.read_bytes()

    with Store.open(str(path)) as store:
        in_one_batch(store, lambda batch: batch.forget_user("somebody special"))

    assert b"somebody special" not in path.read_bytes()
    assert b"secret taste" not in path.read_bytes()
