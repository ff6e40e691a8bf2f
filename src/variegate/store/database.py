"""What SQLite and PostgreSQL have in common: transactions that end whole, errors that are ours."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from variegate.errors import ConflictError, StoreError
from variegate.store.failures import Count, Failures
from variegate.store.rows import CHANGING_SECONDS, Values
from variegate.store.sql import Statements, statements_of

Failure = TypeVar("Failure", StoreError, ConflictError, StoreError | ConflictError)


class Transaction:
    """Runs statements on a connection; after a failure it runs no other and keeps nothing.

    By the driver's own cursor: what SQLAlchemy does around each run of a text that is written
    already takes longer than most of them.
    """

    def __init__(self, connection: Connection, statements: Statements, failures: Failures) -> None:
        self.statements = statements
        self._cursor: Any = connection.connection.cursor()
        self._failures = failures
        self._failure: StoreError | ConflictError | None = None

    def rows(self, statement: str, *parameters: object) -> Sequence[Any]:
        """Return the rows that a statement gives."""
        self.check()
        try:
            self._ask(statement, parameters)
            found: Sequence[Any] = self._cursor.fetchall()
        except self._failures.kinds as error:
            raise self._failed(self._failures.error(error)) from None
        return found

    def change(self, statement: str, *parameters: object) -> int:
        """Run a statement and return how many rows it changed."""
        self.check()
        try:
            self._cursor.execute(statement, parameters)
        except self._failures.kinds as error:
            raise self._failed(self._failures.error(error)) from None
        return int(self._cursor.rowcount)

    def change_each(self, statement: str, rows: Iterable[Values]) -> int:
        """Run a statement for each of `rows` and return how many it changed in all."""
        self.check()
        many = list(rows)
        if not many:
            return 0
        try:
            self._cursor.executemany(statement, many)
        except self._failures.kinds as error:
            raise self._failed(self._failures.error(error)) from None
        return int(self._cursor.rowcount)

    def conflict(self, message: str) -> ConflictError:
        """Return a ConflictError to raise; nothing of this transaction will be kept."""
        return self._failed(ConflictError(message))

    def check(self) -> None:
        """Raise again what went wrong before, if anything did."""
        # SQLite gives up a whole transaction when its disk is full, and would keep each
        # statement after that by itself.
        if self._failure is not None:
            raise self._failure

    def _ask(self, statement: str, parameters: Values) -> None:
        self._cursor.execute(statement, parameters)

    def _failed(self, failure: Failure) -> Failure:
        self._failure = failure
        return failure


#: Seconds to wait for another's lock, and for a connection, at most
_LONGEST_WAIT: Final = 5.0


def lock_seconds(timeout: float) -> float:
    """Return how long to wait for a lock: less than a statement may take, so that it is named."""
    return min(_LONGEST_WAIT, 0.75 * timeout)


def checkout_seconds(timeout: float) -> float:
    """Return how long to wait for a connection that others have in use."""
    return min(_LONGEST_WAIT, 0.5 * timeout)


class Database(ABC):
    """A database that can be reached.

    After a statement that was not answered in time, one transaction at a time tries whether the
    database answers again; the others fail at once, rather than each after its own wait.

    Parameters
    ----------
    engine
        Its connections.
    failures
        How its errors are told.
    timeout
        Seconds that a statement may take.
    """

    def __init__(self, engine: Engine, failures: Failures, *, timeout: float) -> None:
        self._engine = engine
        self._failures = failures
        self._timeout = timeout
        self._closed = False
        self._trial = Lock()
        self.statements = statements_of(engine.dialect)

    @contextmanager
    def writing(self, timeout: float | None = None) -> Iterator[Transaction]:
        """Give a transaction that is kept at the end, or not at all after an exception.

        Raises StoreError where nothing was kept, OutcomeUnknownError where the answer to the
        commit was lost or did not come within `timeout` seconds.
        """
        with self._connected(timeout) as connection:
            try:
                self._begin_writing(connection)
                transaction = self._transaction(connection)
                yield transaction
                transaction.check()
                self._commit(connection)
            except BaseException as error:
                self._abandon(connection, error)
                raise

    @contextmanager
    def reading(self, timeout: float | None = None) -> Iterator[Transaction]:
        """Give a transaction that sees the database as it is at its first statement."""
        with self.looking(timeout) as connection:
            yield self._transaction(connection)

    @contextmanager
    def looking(self, timeout: float | None = None) -> Iterator[Connection]:
        """Give a connection to look around with, which changes nothing and waits for nobody."""
        with self._connected(timeout) as connection:
            try:
                yield self._begin_reading(connection)
                self._abandon(connection)
            except BaseException as error:
                self._abandon(connection, error)
                raise

    @contextmanager
    def changing_tables(self) -> Iterator[Connection]:
        """Give a connection in a transaction that no other of its kind runs beside."""
        with self._connected(CHANGING_SECONDS) as connection:
            try:
                self._begin_changing_tables(connection)
                yield connection
                self._commit(connection)
            except BaseException as error:
                self._abandon(connection, error)
                raise

    def unusable(self, reason: str) -> StoreError:
        """Return the error that says why this database cannot be used."""
        return self._failures.unusable(reason)

    def count_failures(self, count: Count) -> None:
        """Call `count` with the kind of each failure from here on; see `failures.KINDS`."""
        self._failures.count = count

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

    @abstractmethod
    def _is_undone(self, error: Exception) -> bool:
        """Whether an error in answer to a commit means that nothing was kept."""

    def _commit(self, connection: Connection) -> None:
        try:
            connection.commit()
        except self._failures.kinds as error:
            if self._is_undone(error):
                raise
            raise self._failures.outcome_unknown(error) from None

    @abstractmethod
    def _limit(self, connection: Connection, timeout: float | None) -> None:
        """Let each statement on a connection take so many seconds, where that can be said."""

    def _transaction(self, connection: Connection) -> Transaction:
        return Transaction(connection, self.statements, self._failures)

    @contextmanager
    def _connected(self, timeout: float | None = None) -> Iterator[Connection]:
        # An engine whose connections were closed would quietly open others.
        if self._closed:
            raise self._failures.unusable("the store was closed")
        is_trial = self._failures.is_silent
        if is_trial and not self._trial.acquire(blocking=False):
            raise self._failures.unusable("the database does not answer", kind="timeout")
        try:
            with self._failures.told(), self._engine.connect() as connection:
                self._limit(connection, timeout)
                yield connection
            self._failures.is_silent = False
        finally:
            if is_trial:
                self._trial.release()

    def _abandon(self, connection: Connection, _error: BaseException | None = None) -> None:
        """Undo what a transaction did; `_error` is why, if it was not to be."""
        try:
            connection.rollback()
        except SQLAlchemyError:
            connection.invalidate()
