"""Files of SQLite that are removed, replaced, locked, full, read-only, broken or not private."""

import itertools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.store.factories import add_users, in_one_batch, slate, user
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
def test_replaced_file_is_not_written(
    store: Store, path: Path, lose: Callable[[Path], None]
) -> None:
    lose(path)
    left = contents(path)

    with pytest.raises(StoreError, match=GONE):
        add_users(store, "bob")
    with pytest.raises(StoreError, match=GONE):
        store.ping()

    assert contents(path) == left


def test_removed_file_is_not_created_again_by_a_new_connection(store: Store, path: Path) -> None:
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


def test_wait_for_another_writer_times_out(path: Path) -> None:
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


def test_full_disk_keeps_commits_and_continues_when_there_is_space(path: Path) -> None:
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


def test_full_disk_inside_a_batch_that_continues_commits_nothing(path: Path) -> None:
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


def test_read_only_store_can_be_read(path: Path) -> None:
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


def test_file_without_write_permission_is_reported() -> None:
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


def test_broken_file_is_reported(path: Path) -> None:
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


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_new_files_are_private(
    tmp_path: Path, umask: int, caplog: pytest.LogCaptureFixture
) -> None:
    before = os.umask(umask)
    try:
        with Store.open(f"sqlite:///{tmp_path}/new.db") as store:
            store.ping()
            found = modes(tmp_path)
    finally:
        os.umask(before)

    assert found == dict.fromkeys(("new.db", "new.db-wal", "new.db-shm"), "0o600")
    assert caplog.messages == []


def test_file_that_others_can_read_keeps_its_mode_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "old.db"
    Store.open(f"sqlite:///{path}").close()
    path.chmod(0o644)

    Store.open(f"sqlite:///{path}").close()

    assert modes(tmp_path)["old.db"] == "0o644"
    (message,) = caplog.messages
    assert "chmod 600" in message


@pytest.mark.parametrize(
    ("code", "is_rolled_back"),
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
def test_commit_to_a_file_is_rolled_back_if_its_last_page_was_not_written(
    tmp_path: Path, code: int, is_rolled_back: bool
) -> None:
    database = SqliteDatabase(tmp_path / "store.db", create=True, durable=True, timeout=1.0)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    try:
        assert database._is_rolled_back(error) is is_rolled_back
        assert not database._is_rolled_back(sqlite3.OperationalError("without a code"))
    finally:
        database.close()
