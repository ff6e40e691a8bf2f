"""The store: where the service keeps all it knows, and loses nothing of it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Final

from variegate.errors import MissingExtraError
from variegate.store.batch import Batch
from variegate.store.reader import Reader
from variegate.store.sums import PARTS, ensure_sums

if TYPE_CHECKING:
    from variegate.store.database import Database


class Store:
    """Keeps users, lists, events, items and keys in a SQL database; `open` makes one.

    Safe to use from several threads and, opened in each, from several processes.
    """

    def __init__(self, database: Database, schema: int) -> None:
        self._database = database
        # On a server others write too, each to a part of the running sums that is seldom theirs.
        self._part = secrets.randbelow(PARTS) if database.statements.sums.has_parts else 0
        #: The version of the tables that this code knows
        self.schema: Final = schema

    @classmethod
    def open(
        cls,
        url: str,
        *,
        create: bool = True,
        timeout: float = 30.0,
        count: Callable[[str], None] = lambda _kind: None,
    ) -> Store:
        """Return the store at `url`, with its tables brought up to date.

        Parameters
        ----------
        url
            A path or `sqlite:///file.db` for a file, `postgresql://user@host/database` for a
            server. With `?durability=normal` behind it the last batches can be lost with the
            machine's power, though not with this process, and each takes less time.
        create
            Whether to make a store where there is none.
        timeout
            Seconds that a database may take to answer a statement; it bounds the waits for a lock
            and for a connection too.
        count
            Is called with the kind of each failure: `unavailable`, `timeout`, `outcome_unknown`.

        Raises
        ------
        InputError
            If `url` means no database that keeps anything.
        StoreError
            If it cannot be reached, holds something else, or was written by a later version.
        """
        try:
            from variegate.store.engine import open_database
            from variegate.store.migrations import MIGRATIONS, migrate

            database = open_database(url, create=create, timeout=timeout)
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
        database.count_failures(count)
        return cls(database, MIGRATIONS[-1].number)

    @contextmanager
    def batch(self, *, timeout: float | None = None) -> Iterator[Batch]:
        """Give changes that are kept at the end, all together, or not at all after an exception.

        Raises StoreError where the database is away, full, locked for too long or not to be
        written: nothing was kept. If the answer to the commit is lost or does not come in time,
        the changes may have been kept: that is an OutcomeUnknownError, and only reading tells.

        Parameters
        ----------
        timeout
            Seconds for each statement, in place of those of the store.
        """
        with self._database.writing(timeout) as transaction:
            batch = Batch(transaction, self._part)
            yield batch
            batch.settle()

    @contextmanager
    def reading(self, *, timeout: float | None = None) -> Iterator[Reader]:
        """Give answers, all as of one moment; nobody waits for a reader.

        Parameters
        ----------
        timeout
            Seconds for each statement, in place of those of the store.
        """
        with self._database.reading(timeout) as transaction:
            yield Reader(transaction)

    def ping(self) -> None:
        """Raise StoreError if nothing can be read, or only by a later version of this package."""
        with self.reading() as reader:
            version = reader.head().schema
        if version == 0:
            raise self._database.unusable("has lost what it held: restore it from a copy")
        if version > self.schema:
            raise self._database.unusable(
                f"was upgraded by a later version of variegate (tables {version}, this process "
                f"knows {self.schema}): restart it with that version"
            )

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
