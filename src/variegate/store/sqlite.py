"""A store in a file: SQLite with a write-ahead log, one writer at a time."""

import logging
import os
import sqlite3
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, QueuePool, create_engine, event

from variegate.errors import StoreError
from variegate.store.database import Database, checkout_seconds, lock_seconds
from variegate.store.failures import Failures, driver_error

#: Which file a path leads to: its device and its number on it
Identity: TypeAlias = tuple[int, int]

#: Bytes to which a log that grew is cut again
_LOG_SIZE: Final = 64 * 2**20
_CACHE_KIB: Final = 8 * 1024
#: Pages of the log after which they are copied to the file: a page that changes often, as those at
#: the end of a table do, is copied once for all of its changes.
_LOG_PAGES: Final = 4000
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
#: Codes of a commit that failed before its last page was in the log. After any other, such as that
#: of a disk that does not confirm a write, the next recovery may find the commit or not.
_UNDONE: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR_WRITE,
    }
)

_log = logging.getLogger(__name__)


class SqliteDatabase(Database):
    """A file, which must stay the same file while the store is open.

    Parameters
    ----------
    path
        The file; it is made where there is none and `create` allows it.
    durable
        Whether a batch is on the disk before it counts as kept, so that it outlives a loss of
        power. Without it, it outlives the end of this process only.
    timeout
        Seconds that bound the wait for another writer and for a connection.
    """

    def __init__(self, path: Path, *, create: bool, durable: bool, timeout: float) -> None:
        self._path = path.absolute()
        self._busy_seconds = lock_seconds(timeout)
        self._log = f"{self._path}-wal"
        failures = Failures(str(path), sqlite3)
        self._check_place(failures, create=create)
        self._prepare(failures)
        self._identity = _identity(self._path)
        self._durable = durable
        # The URL gives the dialect alone: SQLAlchemy would make a file that is not there.
        engine = create_engine(
            "sqlite://",
            creator=self._connect,
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=24,
            pool_timeout=checkout_seconds(timeout),
            hide_parameters=True,
        )
        event.listen(engine, "connect", self._set_up)
        super().__init__(engine, failures, timeout=timeout)

    def _begin_writing(self, connection: Connection) -> None:
        # With the lock from the start nobody has to turn back half-way.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        self._check_files(connection)

    def _begin_reading(self, connection: Connection) -> Connection:
        connection.exec_driver_sql("BEGIN")
        self._check_files(connection)
        return connection

    def _begin_changing_tables(self, connection: Connection) -> None:
        self._begin_writing(connection)

    def _limit(self, connection: Connection, timeout: float | None) -> None:
        """Nobody answers for a file: only the wait for a lock has a limit, for all alike."""

    def _is_undone(self, error: Exception) -> bool:
        code = getattr(driver_error(error), "sqlite_errorcode", None)
        # The last byte is the kind of error; the kind of those of the disk says too little.
        return code is not None and (code in _UNDONE or code & 0xFF in _UNDONE)

    def _check_place(self, failures: Failures, *, create: bool) -> None:
        if self._path.exists():
            if os.name == "posix" and self._path.stat().st_mode & _OTHERS:
                _log.warning(
                    "%s can be read or written by other users of this machine, and holds what was "
                    "learnt of people: chmod 600 it and the files -wal and -shm beside it",
                    self._path,
                )
            return
        if not create:
            raise failures.unusable("there is no store here")
        if not self._path.parent.is_dir():
            raise failures.unusable("the folder does not exist: make it first")
        # For its owner alone; SQLite gives its log and its index the same mode. Where it cannot be
        # made, or another process was faster, SQLite says so or opens it.
        with suppress(OSError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def _prepare(self, failures: Failures) -> None:
        """Make the file where there is none, and give it a write-ahead log."""
        try:
            connection = _opened(self._path, "rwc", self._busy_seconds)
            try:
                mode = _with_log(connection, self._busy_seconds)
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise failures.unusable(str(error)) from None
        if mode != "wal":
            raise failures.unusable(
                "SQLite cannot keep a write-ahead log here: use a disk of this machine"
            )

    def _connect(self) -> sqlite3.Connection:
        # A new connection would open whatever is at the path now.
        if _identity(self._path) != self._identity:
            raise self._gone()
        return _opened(self._path, "rw", self._busy_seconds)

    def _set_up(self, connection: sqlite3.Connection, record: Any) -> None:
        for name, value in (
            ("synchronous", "FULL" if self._durable else "NORMAL"),
            ("journal_size_limit", _LOG_SIZE),
            ("wal_autocheckpoint", _LOG_PAGES),
            ("cache_size", -_CACHE_KIB),
            # Who asked to be forgotten shall not stay in pages that are free.
            ("secure_delete", "ON"),
        ):
            connection.execute(f"PRAGMA {name} = {value}")
        # Reading opens the log, which then stays for as long as this connection.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        record.info["log"] = _identity(self._log)

    def _check_files(self, connection: Connection) -> None:
        """Raise StoreError where a write would go into a file that nobody will find again."""
        if (
            _identity(self._path) != self._identity
            or _identity(self._log) != connection.info["log"]
        ):
            raise self._gone()

    def _gone(self) -> StoreError:
        return self._failures.unusable("was removed or replaced: restart the service")


def _identity(path: str | Path) -> Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _opened(path: Path, mode: str, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
    )


def _with_log(connection: sqlite3.Connection, busy_seconds: float) -> str:
    """Switch to a write-ahead log and return the mode that came of it."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            # Two that switch at once do not wait for each other, whatever the time-out. The last
            # byte of a code is the kind of error, the others are its reason.
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return mode
