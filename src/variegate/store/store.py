"""The store: opens the database at an address, and opens transactions in it."""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from variegate.errors import InputError, MissingExtraError
from variegate.store.batch import Batch
from variegate.store.database import Database
from variegate.store.migrations import migrate
from variegate.store.reader import Reader
from variegate.store.schema import VERSION
from variegate.store.sqlite import SqliteDatabase
from variegate.store.sums import PARTS, ensure_sums

_ADDRESSES: Final = "a file, sqlite:///file.db or postgresql://user@host/database"
#: Whether a batch that was acknowledged survives a loss of power
_DURABILITY: Final = {"full": True, "normal": False}


class Store:
    """Users, slates, events, items and API keys in a SQL database; `open` returns one.

    Safe to use from several threads and, opened in each, from several processes.
    """

    #: Version of the tables that this code knows
    schema: Final = VERSION

    def __init__(self, database: Database[Any]) -> None:
        self._database = database
        # On a server other processes write too, each mostly to its own part of the running sums.
        self._part = secrets.randbelow(PARTS) if database.sql.has_parts else 0

    @classmethod
    def open(
        cls,
        url: str,
        *,
        create: bool = True,
        timeout: float = 30.0,
        count: Callable[[str], None] = lambda _kind: None,
    ) -> "Store":
        """Return the store at `url`, with its tables brought up to date.

        Parameters
        ----------
        url
            A path or `sqlite:///file.db` for a file, `postgresql://user@host/database` for a
            server. With the parameter `durability=normal` batches take less time, and the last
            ones can be lost if the machine loses power, though not if this process ends.
        create
            Whether to create a store if there is none.
        timeout
            Seconds that a database may take to answer a statement; it also bounds the waits for a
            lock and for a connection.
        count
            Called with the kind of each failure: `unavailable`, `timeout`, `outcome_unknown`.

        Raises
        ------
        InputError
            If `url` is not the address of a durable database.
        StoreError
            If it cannot be reached, holds something else, or was written by a later version.
        """
        database = open_database(url, create=create, timeout=timeout)
        try:
            migrate(database, create=create)
            ensure_sums(database, time.time())
        except BaseException:
            database.close()
            raise
        database.count_failures(count)
        return cls(database)

    @contextmanager
    def batch(self, *, timeout: float | None = None) -> Iterator[Batch]:
        """Open a transaction for changes, committed at the end or rolled back by an exception.

        Raises StoreError if the database is away, full, locked for too long or read-only: nothing
        was committed. If the answer to the commit is lost or late, the changes may have been
        committed: that is an OutcomeUnknownError, and only reading can tell.

        Parameters
        ----------
        timeout
            Seconds for each statement, instead of the store's.
        """
        with self._database.writing(timeout) as transaction:
            batch = Batch(transaction, self._part)
            yield batch
            batch.write_sums()

    @contextmanager
    def reading(self, *, timeout: float | None = None) -> Iterator[Reader]:
        """Open a transaction for reading, which sees one snapshot; nobody waits for a reader.

        Parameters
        ----------
        timeout
            Seconds for each statement, instead of the store's.
        """
        with self._database.reading(timeout) as transaction:
            yield Reader(transaction)

    def ping(self) -> None:
        """Raise StoreError if the store cannot be read, or only by a later version."""
        with self.reading() as reader:
            version = reader.head().schema
        if version == 0:
            raise self._database.unusable("has lost its contents: restore it from a backup")
        if version > self.schema:
            raise self._database.unusable(
                f"was upgraded by a later version of variegate (tables {version}, this process "
                f"knows {self.schema}): restart it with that version"
            )

    def close(self) -> None:
        """Close all connections; the store cannot be used after this."""
        self._database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_database(url: str, *, create: bool, timeout: float = 30.0) -> Database[Any]:
    """Return the database at `url`; see `Store.open`."""
    if not 0 < timeout < float("inf"):
        raise InputError(f"`timeout` must be a number of seconds above 0, got {timeout!r}")
    if ":memory:" in url:
        raise _in_memory()
    kind, separator, rest = url.partition("://")
    if not separator:
        return SqliteDatabase(Path(url), create=create, durable=True, timeout=timeout)
    place, _, query = rest.partition("?")
    parameters = [one for one in query.split("&") if one]
    durable = _pop_durability(parameters)
    if kind == "sqlite":
        path = _sqlite_path(place, parameters)
        return SqliteDatabase(path, create=create, durable=durable, timeout=timeout)
    if kind in ("postgresql", "postgres"):
        address = f"{kind}://{place}?{'&'.join(parameters)}"
        return _open_postgres(address, durable=durable, timeout=timeout)
    raise InputError(f"`url` must be {_ADDRESSES}, got one of {kind!r}")


def _pop_durability(parameters: list[str]) -> bool:
    """Return whether a store is durable, and remove that from the parameters of its address."""
    durable = True
    for parameter in [one for one in parameters if one.startswith("durability=")]:
        parameters.remove(parameter)
        value = parameter.partition("=")[2]
        if value not in _DURABILITY:
            raise InputError(f"`durability` must be full or normal, got {value!r}")
        durable = _DURABILITY[value]
    return durable


def _sqlite_path(place: str, parameters: Sequence[str]) -> Path:
    if not place.removeprefix("/"):
        raise _in_memory()
    if not place.startswith("/"):
        raise InputError("`url` must have three slashes before a file: sqlite:///file.db")
    if parameters:
        names = ", ".join(one.partition("=")[0] for one in parameters)
        raise InputError(f"`url` of SQLite can have durability as its only parameter, got {names}")
    return Path(place[1:])


def _open_postgres(url: str, *, durable: bool, timeout: float) -> Database[Any]:
    try:
        from variegate.store.postgres import PostgresDatabase
    except ImportError as error:
        raise MissingExtraError(
            f"a store in PostgreSQL needs psycopg: pip install 'variegate[service]' ({error})"
        ) from None
    return PostgresDatabase(url, durable=durable, timeout=timeout)


def _in_memory() -> InputError:
    return InputError("`url` must name a file: a store in memory is lost when the process ends")
