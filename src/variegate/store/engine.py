"""Which database an address means."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from variegate.errors import InputError
from variegate.store.database import Database
from variegate.store.sqlite import SqliteDatabase

_ADDRESSES: Final = "a file, sqlite:///file.db or postgresql://user@host/database"
#: How sure a batch must be kept before it is answered, and whether it outlives a loss of power
_DURABILITY: Final = {"full": True, "normal": False}


def open_database(url: str, *, create: bool, timeout: float = 30.0) -> Database:
    """Return the database that `url` means; see `Store.open`."""
    if not 0 < timeout < float("inf"):
        raise InputError(f"`timeout` must be a number of seconds above 0, got {timeout!r}")
    if ":memory:" in url:
        raise _forgetful()
    if "://" not in url:
        return SqliteDatabase(Path(url), create=create, durable=True, timeout=timeout)
    read = _read(url)
    kind = _KINDS.get(read.drivername)
    if kind is None:
        raise InputError(f"`url` must be {_ADDRESSES}, got one of {read.drivername}")
    request = read.query.get("durability", "full")
    if not isinstance(request, str) or request not in _DURABILITY:
        raise InputError(f"`durability` must be full or normal, got {request!r}")
    plain = read.difference_update_query(["durability"])
    return kind(plain, create, _DURABILITY[request], timeout)


def _read(url: str) -> URL:
    # The text may hold a password, so no message repeats it.
    try:
        read = make_url(url)
    except (ArgumentError, ValueError):
        raise InputError(f"`url` must be {_ADDRESSES}, got something else") from None
    if "@" in (read.host or ""):
        raise InputError("`url` must have the @ of a password written as %40")
    return read


def _sqlite(url: URL, create: bool, durable: bool, timeout: float) -> Database:
    if url.host:
        raise InputError("`url` must have three slashes before a file: sqlite:///file.db")
    if not url.database:
        raise _forgetful()
    if url.query:
        raise InputError(
            f"`url` of SQLite can be followed by durability alone, got {', '.join(url.query)}"
        )
    return SqliteDatabase(Path(url.database), create=create, durable=durable, timeout=timeout)


def _postgres(url: URL, _create: bool, durable: bool, timeout: float) -> Database:
    # Who keeps a file needs no psycopg.
    from variegate.store.postgres import PostgresDatabase

    return PostgresDatabase(url, durable=durable, timeout=timeout)


def _forgetful() -> InputError:
    return InputError("`url` must name a file: a store in memory forgets all it has learnt")


_KINDS: Final[dict[str, Callable[[URL, bool, bool, float], Database]]] = {
    "sqlite": _sqlite,
    "sqlite+pysqlite": _sqlite,
    "postgresql": _postgres,
    "postgresql+psycopg": _postgres,
    "postgres": _postgres,
}
