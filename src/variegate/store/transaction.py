"""Statements that are kept all together or not at all."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection

from variegate.errors import ConflictError, StoreError
from variegate.store.failures import Failures
from variegate.store.packing import Values
from variegate.store.statements import Statements

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
