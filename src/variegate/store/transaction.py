"""Statements that are kept all together or not at all."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from variegate.errors import ConflictError, StoreError
from variegate.store.failures import Failures
from variegate.store.packing import Values
from variegate.store.statements import Statements

Failure = TypeVar("Failure", StoreError, ConflictError, StoreError | ConflictError)


class Transaction:
    """Runs statements on a connection; after a failure it runs no other and keeps nothing."""

    def __init__(self, connection: Connection, statements: Statements, failures: Failures) -> None:
        self.statements = statements
        self._connection = connection
        self._failures = failures
        self._failure: StoreError | ConflictError | None = None

    def rows(self, statement: str, *parameters: object) -> Sequence[Any]:
        """Return the rows that a statement gives."""
        self.check()
        try:
            return self._connection.exec_driver_sql(statement, parameters).fetchall()
        except SQLAlchemyError as error:
            raise self._failed(self._failures.error(error)) from None

    def change(self, statement: str, *parameters: object) -> int:
        """Run a statement and return how many rows it changed."""
        return self._change(statement, parameters)

    def change_each(self, statement: str, rows: Iterable[Values]) -> int:
        """Run a statement for each of `rows` and return how many it changed in all."""
        many = list(rows)
        return self._change(statement, many) if many else 0

    def conflict(self, message: str) -> ConflictError:
        """Return a ConflictError to raise; nothing of this transaction will be kept."""
        return self._failed(ConflictError(message))

    def check(self) -> None:
        """Raise again what went wrong before, if anything did."""
        # SQLite gives up a whole transaction when its disk is full, and would keep each
        # statement after that by itself.
        if self._failure is not None:
            raise self._failure

    def _change(self, statement: str, parameters: Any) -> int:
        self.check()
        try:
            return self._connection.exec_driver_sql(statement, parameters).rowcount
        except SQLAlchemyError as error:
            raise self._failed(self._failures.error(error)) from None

    def _failed(self, failure: Failure) -> Failure:
        self._failure = failure
        return failure
