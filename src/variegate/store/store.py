"""The store: where the service keeps all it knows, and loses nothing of it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from variegate.errors import MissingExtraError
from variegate.store.batch import Batch
from variegate.store.notes import SCHEMA
from variegate.store.reader import Reader
from variegate.store.recounting import ensure_sums
from variegate.store.running_sums import PARTS

if TYPE_CHECKING:
    from variegate.store.database import Database


class Store:
    """Keeps users, lists, events, items and keys in a SQL database; `open` makes one.

    Safe to use from several threads and, opened in each, from several processes.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        # On a server others write too, each to a part of the running sums that is seldom theirs.
        self._part = secrets.randbelow(PARTS) if database.statements.sums.has_parts else 0

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Store:
        """Return the store at `url`, with its tables brought up to date.

        Parameters
        ----------
        url
            A path or `sqlite:///file.db` for a file, `postgresql://user@host/database` for a
            server. With `?durability=normal` behind it the last batches can be lost with the
            machine's power, though not with this process, and each takes less time.
        create
            Whether to make a store where there is none.

        Raises
        ------
        InputError
            If `url` means no database that keeps anything.
        StoreError
            If it cannot be reached, holds something else, or was written by a later version.
        """
        try:
            from variegate.store.engine import open_database
            from variegate.store.migrations import migrate

            database = open_database(url, create=create)
        except ImportError as error:
            raise MissingExtraError(
                "the store needs SQLAlchemy and psycopg: pip install 'variegate[service]' "
                f"({error})"
            ) from None
        try:
            migrate(database, create=create)
            ensure_sums(database, time.time())
        except BaseException:
            database.close()
            raise
        return cls(database)

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """Give changes that are kept at the end, all together, or not at all after an exception.

        Raises StoreError where the database is away, full, locked for too long or not to be
        written. If the very answer to the last step is lost with the connection, the changes
        may have been kept nevertheless: only reading tells.
        """
        with self._database.writing() as transaction:
            batch = Batch(transaction, self._part)
            yield batch
            batch.settle()

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Give answers, all as of one moment; nobody waits for a reader."""
        with self._database.reading() as transaction:
            yield Reader(transaction)

    def ping(self) -> None:
        """Raise StoreError if nothing can be read."""
        with self.reading() as reader:
            if reader.meta(SCHEMA) is None:
                raise self._database.unusable("has lost what it held: restore it from a copy")

    def close(self) -> None:
        """Close all connections; the store is of no use after this."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
