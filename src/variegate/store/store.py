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
from variegate.store.database import ConnectionBudget, Database
from variegate.store.migrations import migrate
from variegate.store.reader import Reader
from variegate.store.schema import VERSION
from variegate.store.sqlite import SqliteDatabase
from variegate.store.sums import PARTS, ensure_sums

_ADDRESSES: Final = "a file, sqlite:///file.db or postgresql://user@host/database"
#: Whether a batch that was acknowledged survives a loss of power
_DURABILITY: Final = {"full": True, "normal": False}
#: Connections that a process opens to a server: the default, and the maximum
_CONNECTIONS: Final = 20
_MAX_CONNECTIONS: Final = 1000


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
            ones can be lost if the machine loses power, though not if this process ends. With
            `connections=8` this process opens at most 8 connections to a server, not 20.
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
    def batch(self, *, timeout: float | None = None, durable: bool = True) -> Iterator[Batch]:
        """Open a transaction for changes, committed at the end or rolled back by an exception.

        Raises StoreError if the database is away, full, locked for too long or read-only: nothing
        was committed. If the answer to the commit is lost or late, the changes may have been
        committed: that is an OutcomeUnknownError, and only reading can tell.

        Parameters
        ----------
        timeout
            Seconds for each statement, instead of the store's.
        durable
            Whether the commit waits for the disk, if those of the store do. Without it, a loss of
            power can undo the batch, but never after a later durable one was committed.
        """
        with self._database.writing(timeout, durable=durable) as transaction:
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

    def connection_budget(self) -> ConnectionBudget | None:
        """Return how many connections this process and all processes may open; None for a file."""
        return self._database.connection_budget()

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
    durable = _pop(parameters, "durability") or "full"
    if durable not in _DURABILITY:
        raise InputError(f"`durability` must be full or normal, got {durable!r}")
    if kind == "sqlite":
        path = _sqlite_path(place, parameters)
        is_durable = _DURABILITY[durable]
        return SqliteDatabase(path, create=create, durable=is_durable, timeout=timeout)
    if kind in ("postgresql", "postgres"):
        connections = _pop(parameters, "connections") or str(_CONNECTIONS)
        if not connections.isdecimal() or not 2 <= int(connections) <= _MAX_CONNECTIONS:
            raise InputError(
                f"`connections` must be from 2 to {_MAX_CONNECTIONS}, got {connections!r}"
            )
        address = f"{kind}://{place}?{'&'.join(parameters)}"
        return _open_postgres(
            address,
            durable=_DURABILITY[durable],
            timeout=timeout,
            max_connections=int(connections),
        )
    raise InputError(f"`url` must be {_ADDRESSES}, got one of {kind!r}")


def _pop(parameters: list[str], name: str) -> str | None:
    """Remove one of the parameters of an address, and return its value."""
    value = None
    for parameter in [one for one in parameters if one.startswith(f"{name}=")]:
        parameters.remove(parameter)
        value = parameter.partition("=")[2]
    return value


def _sqlite_path(place: str, parameters: Sequence[str]) -> Path:
    if not place.removeprefix("/"):
        raise _in_memory()
    if not place.startswith("/"):
        raise InputError("`url` must have three slashes before a file: sqlite:///file.db")
    if parameters:
        names = ", ".join(one.partition("=")[0] for one in parameters)
        raise InputError(f"`url` of SQLite can have durability as its only parameter, got {names}")
    return Path(place[1:])


def _open_postgres(
    url: str, *, durable: bool, timeout: float, max_connections: int
) -> Database[Any]:
    try:
        from variegate.store.postgres import PostgresDatabase
    except ImportError as error:
        raise MissingExtraError(
            f"a store in PostgreSQL needs psycopg: pip install 'variegate[service]' ({error})"
        ) from None
    return PostgresDatabase(url, durable=durable, timeout=timeout, max_connections=max_connections)


def _in_memory() -> InputError:
    return InputError("`url` must name a file: a store in memory is lost when the process ends")
