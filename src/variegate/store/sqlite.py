"""A store in a file: SQLite with a write-ahead log, one writer at a time."""

import logging
import os
import sqlite3
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from variegate.errors import StoreError
from variegate.store.database import Database, Pool, lock_timeout
from variegate.store.failures import NO_STORE, ErrorTranslator
from variegate.store.sql import SQLITE

#: Which file a path leads to: device and inode
FileId: TypeAlias = tuple[int, int]

_CACHE_KIB: Final = 8 * 1024
#: Bytes to which a log that has grown is truncated
_MAX_LOG_BYTES: Final = 64 * 2**20
#: Pages of the log after which they are copied to the file. A page that changes often, such as the
#: last of a table, is copied once for all of its changes.
_CHECKPOINT_PAGES: Final = 4000
_OTHER_USERS: Final = stat.S_IRWXG | stat.S_IRWXO
#: Codes of a commit that failed before its last page was in the log. After any other, such as that
#: of a disk that does not confirm a write, the next recovery may find the commit or not.
_ROLLED_BACK: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR_WRITE,
    }
)

_log = logging.getLogger(__name__)


class SqliteConnection(sqlite3.Connection):
    """A connection that knows which log it writes to, and whether it was closed."""

    log: FileId | None = None
    closed = False
    #: The present value of this pragma
    synchronous = ""

    def is_usable(self) -> bool:
        """Return True: the files are checked when a transaction begins."""
        return True

    def close(self) -> None:
        """Close the connection."""
        self.closed = True
        super().close()


class SqliteDatabase(Database[SqliteConnection]):
    """A file, which must stay the same file while the store is open.

    Parameters
    ----------
    path
        The file; it is created if it is missing and `create` is true.
    durable
        Whether each commit waits for the disk, so that it survives a loss of power. Without it, it
        survives the end of this process only.
    timeout
        Bounds the wait for another writer and for a free connection, in seconds.
    """

    def __init__(self, path: Path, *, create: bool, durable: bool, timeout: float) -> None:
        self._path = path.absolute()
        self._log_path = f"{self._path}-wal"
        self._busy_timeout = lock_timeout(timeout)
        self._durable = durable
        errors = ErrorTranslator(str(path), sqlite3)
        self._check_path(errors, create=create)
        self._prepare(errors)
        self._file_id = _file_id(self._path)
        pool = Pool(self._connect, max_idle=8, max_open=32, timeout=timeout)
        super().__init__(pool, SQLITE, errors, timeout=timeout)

    def _begin_writing(self, connection: SqliteConnection, *, durable: bool = True) -> None:
        level = "FULL" if durable and self._durable else "NORMAL"
        if connection.synchronous != level:  # within a transaction it cannot be changed
            connection.execute(f"PRAGMA synchronous = {level}")
            connection.synchronous = level
        # With the write lock from the start no transaction has to be retried half-way.
        connection.execute("BEGIN IMMEDIATE")
        self._check_files(connection)

    def _begin_reading(self, connection: SqliteConnection) -> None:
        connection.execute("BEGIN")
        self._check_files(connection)

    def _begin_changing_tables(self, connection: SqliteConnection) -> None:
        self._begin_writing(connection)

    def _cursor(self, connection: SqliteConnection) -> sqlite3.Cursor:
        return connection.cursor()

    def _is_rolled_back(self, error: Exception) -> bool:
        code = getattr(error, "sqlite_errorcode", None)
        # The last byte is the kind of error. For errors of the disk it is not specific enough.
        return code is not None and (code in _ROLLED_BACK or code & 0xFF in _ROLLED_BACK)

    def _check_path(self, errors: ErrorTranslator, *, create: bool) -> None:
        if self._path.exists():
            if os.name == "posix" and self._path.stat().st_mode & _OTHER_USERS:
                _log.warning(
                    "%s can be read or written by other users of this machine, and holds personal "
                    "data: chmod 600 it and the files -wal and -shm beside it",
                    self._path,
                )
            return
        if not create:
            raise errors.unusable(NO_STORE)
        if not self._path.parent.is_dir():
            raise errors.unusable("the folder does not exist: create it first")
        # For its owner alone; SQLite gives its log and its index the same mode. If the file cannot
        # be created, or another process was faster, SQLite reports it or opens it.
        with suppress(OSError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def _prepare(self, errors: ErrorTranslator) -> None:
        """Create the file if it is missing, and switch it to a write-ahead log."""
        try:
            connection = _open_file(self._path, "rwc", self._busy_timeout)
            try:
                mode = _switch_to_log(connection, self._busy_timeout)
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise errors.translate(error) from None
        if mode != "wal":
            raise errors.unusable(
                "SQLite cannot keep a write-ahead log here: use a disk of this machine"
            )

    def _connect(self) -> SqliteConnection:
        # A new connection would open whatever is at the path now.
        if _file_id(self._path) != self._file_id:
            raise self._replaced()
        connection = _open_file(self._path, "rw", self._busy_timeout)
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: SqliteConnection) -> None:
        for name, value in (
            ("journal_size_limit", _MAX_LOG_BYTES),
            ("wal_autocheckpoint", _CHECKPOINT_PAGES),
            ("cache_size", -_CACHE_KIB),
            # Data of a deleted user must not stay in free pages.
            ("secure_delete", "ON"),
        ):
            connection.execute(f"PRAGMA {name} = {value}")
        # Reading opens the log, which then stays as long as this connection.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        connection.log = _file_id(self._log_path)

    def _check_files(self, connection: SqliteConnection) -> None:
        """Raise StoreError if a write would go into a file that nobody finds again."""
        if _file_id(self._path) != self._file_id or _file_id(self._log_path) != connection.log:
            raise self._replaced()

    def _replaced(self) -> StoreError:
        return self._errors.unusable("was removed or replaced: restart the service")


def _file_id(path: str | Path) -> FileId | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _open_file(path: Path, mode: str, busy_timeout: float) -> SqliteConnection:
    return sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_timeout,
        isolation_level=None,
        check_same_thread=False,
        factory=SqliteConnection,
    )


def _switch_to_log(connection: SqliteConnection, busy_timeout: float) -> str:
    """Switch to a write-ahead log and return the resulting journal mode."""
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            # Two that switch at once do not wait for each other, whatever the timeout. The last
            # byte of a code is the kind of error.
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return mode
