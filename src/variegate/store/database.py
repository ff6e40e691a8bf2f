"""Connections and transactions: what SQLite and PostgreSQL have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from threading import Lock, Semaphore
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from variegate.errors import ConflictError, StoreError
from variegate.store.binary import BinaryArray
from variegate.store.failures import Count, ErrorTranslator
from variegate.store.rows import Values
from variegate.store.sql import Statements

#: Seconds that a statement may take which changes tables or reads a whole history, and that another
#: process waits for it
LONG_SECONDS: Final = 300.0
#: Seconds to wait for a lock or for a free connection, at most
_MAX_WAIT: Final = 5.0

Error = TypeVar("Error", StoreError, ConflictError, StoreError | ConflictError)


def lock_timeout(timeout: float) -> float:
    """Return how long to wait for a lock: less than for a statement, so that errors name it."""
    return min(_MAX_WAIT, 0.75 * timeout)


class ConnectionBudget(NamedTuple):
    """How many connections there can be.

    Parameters
    ----------
    process
        Of one process.
    server
        Of all processes, or None behind a pooler, which has a limit of its own.
    """

    process: int
    server: int | None


class Connection(Protocol):
    """A connection of a driver."""

    @property
    def closed(self) -> bool:
        """Whether the connection was closed on this side."""

    def is_usable(self) -> bool:
        """Whether a connection from the pool can still be used."""

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


C = TypeVar("C", bound=Connection)


class Pool(Generic[C]):
    """Open connections to use again.

    Parameters
    ----------
    connect
        Opens another connection.
    max_idle
        How many stay open while nobody uses them.
    max_open
        How many can be in use at once.
    timeout
        Seconds to wait for one that others have in use.
    """

    def __init__(
        self, connect: Callable[[], C], *, max_idle: int, max_open: int, timeout: float
    ) -> None:
        self._connect = connect
        self._max_idle = max_idle
        self._timeout = min(_MAX_WAIT, 0.5 * timeout)
        self._free = Semaphore(max_open)
        # The last that was used comes first. A list's `append` and `pop` are atomic.
        self._idle: list[C] = []
        self._is_closed = False

    def get(self) -> C | None:
        """Return a connection, or None if none came free in time."""
        if not self._free.acquire(timeout=self._timeout):
            return None
        try:
            while (connection := self._pop()) is not None:
                try:
                    if connection.is_usable():
                        return connection
                except BaseException:
                    connection.close()
                    raise
                connection.close()
            return self._connect()
        except BaseException:
            self._free.release()
            raise

    def put(self, connection: C) -> None:
        """Take a connection back."""
        if not connection.closed:
            if len(self._idle) < self._max_idle:
                self._idle.append(connection)
            else:
                connection.close()
            if self._is_closed:
                self.close()
        self._free.release()

    def close(self) -> None:
        """Close all connections, those in use when they come back."""
        self._is_closed = True
        while (connection := self._pop()) is not None:
            connection.close()

    def _pop(self) -> C | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None


class Transaction:
    """Runs statements that are committed together; after an error it runs no other.

    Parameters
    ----------
    new_cursor
        Returns a cursor of the driver.
    pipeline
        In its block, statements are sent without waiting for the results of those before them;
        None if the driver has nothing to wait for.
    """

    def __init__(
        self,
        new_cursor: Callable[[], Any],
        sql: Statements,
        errors: ErrorTranslator,
        pipeline: Callable[[], AbstractContextManager[Any]] | None = None,
    ) -> None:
        self.sql = sql
        self._new_cursor, self._cursor = new_cursor, new_cursor()
        self._pipeline = pipeline
        self._errors = errors
        self._error: StoreError | ConflictError | None = None
        #: Within `together`: cursors, how many rows each must change, and the error otherwise
        self._unchecked: list[tuple[Any, int, str]] | None = None

    def rows(self, statement: str, *parameters: object) -> Sequence[Any]:
        """Return the rows that a statement selects."""
        self.check()
        try:
            self._cursor.execute(statement, parameters)
            found: Sequence[Any] = self._cursor.fetchall()
        except self._errors.driver_error as error:
            raise self._fail(self._errors.translate(error)) from None
        return found

    def rows_of(self, *queries: tuple[str, Sequence[object]]) -> list[Sequence[Any]]:
        """Return the rows that each of several statements selects, in one round trip."""
        self.check()
        cursors = [self._new_cursor() for _ in queries]
        try:
            with nullcontext() if self._pipeline is None else self._pipeline():
                for cursor, (statement, parameters) in zip(cursors, queries, strict=True):
                    cursor.execute(statement, parameters)
            return [cursor.fetchall() for cursor in cursors]
        except self._errors.driver_error as error:
            raise self._fail(self._errors.translate(error)) from None

    def send(self, statement: str, *parameters: object) -> Callable[[], Sequence[Any]]:
        """Run a statement; return how to get its rows, after the block of `together`."""
        self.check()
        cursor = self._new_cursor()

        def fetch() -> Sequence[Any]:
            try:
                found: Sequence[Any] = cursor.fetchall()
            except self._errors.driver_error as error:
                raise self._fail(self._errors.translate(error)) from None
            return found

        try:
            cursor.execute(statement, parameters)
        except self._errors.driver_error as error:
            raise self._fail(self._errors.translate(error)) from None
        return fetch

    @contextmanager
    def together(self) -> Iterator[None]:
        """Send the changes of the block's `update_each` in one round trip.

        Whether each changed the rows that it had to is checked at the end of the block.
        """
        if self._pipeline is None:
            yield
            return
        self.check()
        unchecked = self._unchecked = []
        try:
            with self._pipeline():
                yield
        except self._errors.driver_error as error:
            raise self._fail(self._errors.translate(error)) from None
        finally:
            self._unchecked = None
        for cursor, expected, problem in unchecked:
            self._check_count(cursor, expected, problem)

    def update_each(
        self, statement: str, rows: Iterable[Values], problem: str | None = None
    ) -> None:
        """Run a statement for each of `rows`; see `together`.

        With a `problem`, ConflictError is raised with this text unless each changes one row.
        """
        self.check()
        many = list(rows)
        if not many:
            return
        cursor = self._cursor if self._unchecked is None else self._new_cursor()
        try:
            self._run_each(cursor, statement, many)
        except self._errors.driver_error as error:
            raise self._fail(self._errors.translate(error)) from None
        if problem is not None:
            if self._unchecked is None:
                self._check_count(cursor, len(many), problem)
            else:
                self._unchecked.append((cursor, len(many), problem))

    def change(self, statement: str, *parameters: object) -> int:
        """Run a statement and return how many rows it changed."""
        self.check()
        try:
            self._cursor.execute(statement, parameters)
        except self._errors.driver_error as error:
            raise self._fail(self._errors.translate(error)) from None
        return int(self._cursor.rowcount)

    def change_each(self, statement: str, rows: Iterable[Values]) -> int:
        """Run a statement for each of `rows` and return how many rows it changed in all."""
        self.check()
        many = list(rows)
        if not many:
            return 0
        try:
            self._run_each(self._cursor, statement, many)
        except self._errors.driver_error as error:
            raise self._fail(self._errors.translate(error)) from None
        return int(self._cursor.rowcount)

    def _run_each(self, cursor: Any, statement: str, rows: Sequence[Values]) -> None:
        kinds = self.sql.of_arrays.get(statement)
        if kinds is None:
            cursor.executemany(statement, rows)
        else:
            cursor.execute(statement, list(map(BinaryArray, kinds, zip(*rows, strict=True))))

    def _check_count(self, cursor: Any, expected: int, problem: str) -> None:
        if (changed := int(cursor.rowcount)) != expected:
            message = f"{expected - changed} of {expected} {problem}: read them again"
            raise self._fail(ConflictError(message))

    def check(self) -> None:
        """Raise the error that ended the transaction, if there was one."""
        # SQLite rolls a transaction back when its disk is full, and would commit each statement
        # after that by itself.
        if self._error is not None:
            raise self._error

    def _fail(self, error: Error) -> Error:
        self._error = error
        return error


class Database(ABC, Generic[C]):
    """A database with its connections.

    After a statement that was not answered in time, one transaction at a time tries whether the
    database answers again; the others fail at once instead of each after its own wait.

    Parameters
    ----------
    pool
        Its connections.
    sql
        Its statements.
    errors
        Translates its errors.
    timeout
        Seconds that a statement may take.
    """

    def __init__(
        self, pool: Pool[C], sql: Statements, errors: ErrorTranslator, *, timeout: float
    ) -> None:
        self._pool = pool
        self._errors = errors
        self._timeout = timeout
        self._is_closed = False
        self._trial = Lock()
        self.sql: Final = sql

    def writing(
        self, timeout: float | None = None, *, durable: bool = True
    ) -> AbstractContextManager[Transaction]:
        """Open a transaction that is committed at the end, or rolled back after an exception.

        Raises StoreError if nothing was committed, OutcomeUnknownError if the answer to the commit
        was lost or did not come within `timeout` seconds. Unless it is `durable`, the commit does
        not wait for the disk; the next one that does waits for this one too.
        """
        begin = partial(self._begin_writing, durable=durable)
        return self._transaction(begin, timeout, commit=True)

    def reading(self, timeout: float | None = None) -> AbstractContextManager[Transaction]:
        """Open a transaction that sees the database as of its first statement."""
        return self._transaction(self._begin_reading, timeout, commit=False)

    def changing_tables(self) -> AbstractContextManager[Transaction]:
        """Open a transaction to change tables in; no two of them run at once."""
        return self._transaction(self._begin_changing_tables, LONG_SECONDS, commit=True)

    def connection_budget(self) -> ConnectionBudget | None:
        """Return how many connections there can be, where a server has a limit."""
        return None

    def unusable(self, reason: str) -> StoreError:
        """Return the error that says why this database cannot be used."""
        return self._errors.unusable(reason)

    def count_failures(self, count: Count) -> None:
        """Call `count` with the kind of each failure from now on; see `failures.KINDS`."""
        self._errors.count = count

    def close(self) -> None:
        """Close all connections; no transaction can be opened after this."""
        self._is_closed = True
        self._pool.close()

    @abstractmethod
    def _begin_writing(self, connection: C, *, durable: bool = True) -> None: ...

    @abstractmethod
    def _begin_reading(self, connection: C) -> None: ...

    @abstractmethod
    def _begin_changing_tables(self, connection: C) -> None: ...

    @abstractmethod
    def _cursor(self, connection: C) -> Any:
        """Return a cursor of the driver."""

    @abstractmethod
    def _is_rolled_back(self, error: Exception) -> bool:
        """Whether an error of a commit means that nothing was committed."""

    def _pipeline(self, _connection: C) -> Callable[[], AbstractContextManager[Any]] | None:
        """Return how to send several statements at once, if the driver can; see `Transaction`."""
        return None

    def _set_timeout(self, connection: C, timeout: float | None) -> None:
        """Limit the time of each statement on a connection, where the database can do that."""

    def _commit(self, connection: C) -> None:
        try:
            connection.commit()
        except self._errors.driver_error as error:
            if self._is_rolled_back(error):
                raise
            raise self._errors.outcome_unknown(error) from None

    def _roll_back(self, connection: C, _error: BaseException | None = None) -> None:
        """Roll a transaction back; `_error` is the reason if it failed."""
        try:
            connection.rollback()
        except BaseException as error:
            connection.close()
            if not isinstance(error, self._errors.driver_error):
                raise

    @contextmanager
    def _transaction(
        self, begin: Callable[[C], None], timeout: float | None, *, commit: bool
    ) -> Iterator[Transaction]:
        with self._connection() as connection:
            try:
                self._set_timeout(connection, timeout)
                begin(connection)
                transaction = Transaction(
                    partial(self._cursor, connection),
                    self.sql,
                    self._errors,
                    self._pipeline(connection),
                )
                yield transaction
                if commit:
                    transaction.check()
                    self._commit(connection)
                else:
                    self._roll_back(connection)
            except BaseException as error:
                self._roll_back(connection, error)
                raise

    @contextmanager
    def _connection(self) -> Iterator[C]:
        # A pool whose connections were closed would open others.
        if self._is_closed:
            raise self._errors.unusable("the store was closed")
        is_trial = self._errors.is_silent
        if is_trial and not self._trial.acquire(blocking=False):
            raise self._errors.unusable("the database does not answer", kind="timeout")
        try:
            connection = self._pool.get()
            if connection is None:
                raise self._errors.unusable("no connection came free in time", kind="timeout")
            try:
                yield connection
            finally:
                self._pool.put(connection)
            self._errors.is_silent = False
        except self._errors.driver_error as error:
            raise self._errors.translate(error) from None
        finally:
            if is_trial:
                self._trial.release()
