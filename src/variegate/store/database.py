"""What SQLite and PostgreSQL have in common: transactions that end whole, errors that are ours."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from variegate.errors import StoreError
from variegate.store.failures import Failures
from variegate.store.statements import Statements
from variegate.store.transaction import Transaction

#: Seconds to wait for another's lock, and for a connection
PATIENCE: Final = 5.0


class Database(ABC):
    """A database that can be reached.

    Parameters
    ----------
    engine
        Its connections.
    failures
        How its errors are told.
    """

    def __init__(self, engine: Engine, failures: Failures) -> None:
        self._engine = engine
        self._failures = failures
        self._closed = False
        self.statements = Statements(engine.dialect)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Give a transaction that is kept at the end, or not at all after an exception."""
        with self._connected() as connection:
            try:
                self._begin_writing(connection)
                transaction = self._transaction(connection)
                yield transaction
                transaction.check()
                connection.commit()
            except BaseException as error:
                self._abandon(connection, error)
                raise

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Give a transaction that sees the database as it is at its first statement."""
        with self.looking() as connection:
            yield self._transaction(connection)

    @contextmanager
    def looking(self) -> Iterator[Connection]:
        """Give a connection to look around with, which changes nothing and waits for nobody."""
        with self._connected() as connection:
            try:
                yield self._begin_reading(connection)
                self._abandon(connection)
            except BaseException as error:
                self._abandon(connection, error)
                raise

    @contextmanager
    def changing_tables(self) -> Iterator[Connection]:
        """Give a connection in a transaction that no other of its kind runs beside."""
        with self._connected() as connection:
            try:
                self._begin_changing_tables(connection)
                yield connection
                connection.commit()
            except BaseException as error:
                self._abandon(connection, error)
                raise

    def unusable(self, reason: str) -> StoreError:
        """Return the error that says why this database cannot be used."""
        return self._failures.unusable(reason)

    def close(self) -> None:
        """Close all connections; the database is of no use after this."""
        self._closed = True
        self._engine.dispose()

    @abstractmethod
    def _begin_writing(self, connection: Connection) -> None: ...

    @abstractmethod
    def _begin_reading(self, connection: Connection) -> Connection: ...

    @abstractmethod
    def _begin_changing_tables(self, connection: Connection) -> None: ...

    def _transaction(self, connection: Connection) -> Transaction:
        return Transaction(connection, self.statements, self._failures)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        # An engine whose connections were closed would quietly open others.
        if self._closed:
            raise self._failures.unusable("the store was closed")
        with self._failures.told(), self._engine.connect() as connection:
            yield connection

    def _abandon(self, connection: Connection, _error: BaseException | None = None) -> None:
        """Undo what a transaction did; `_error` is why, if it was not to be."""
        try:
            connection.rollback()
        except SQLAlchemyError:
            connection.invalidate()
