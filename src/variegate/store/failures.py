"""How the errors of a database are told: in one line, without SQL and without secrets."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from variegate.errors import ConflictError, StoreError

_WRITABLE: Final = "let the user that runs this write the file and its folder"
#: What to do about what SQLite says
_ADVICE: Final = {
    "attempt to write a readonly database": _WRITABLE,
    "unable to open database file": _WRITABLE,
}


class Failures:
    """Turns what goes wrong in one database into this package's errors.

    Parameters
    ----------
    where
        The database, as a message may show it.
    driver
        The module that speaks with the database, with the errors of PEP 249.
    secrets
        Texts that no message may hold, whoever wrote it.
    """

    def __init__(self, where: str, driver: Any, secrets: Sequence[str] = ()) -> None:
        self._where = where
        self._secrets = secrets
        self._contradictions = IntegrityError, driver.IntegrityError
        #: What is raised where something goes wrong with the database
        self.kinds: Final[tuple[type[Exception], ...]] = SQLAlchemyError, driver.Error

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raise what SQLAlchemy or the driver raises inside as this package's error."""
        try:
            yield
        except self.kinds as error:
            raise self.error(error) from None

    def error(self, error: Exception) -> StoreError | ConflictError:
        """Return what to raise for an error of SQLAlchemy or of the driver."""
        if isinstance(error, self._contradictions):
            return ConflictError("something with the same id was added meanwhile: retry")
        return self.unusable(_reason(error))

    def unusable(self, reason: str) -> StoreError:
        """Return an error that says why the store cannot be used now."""
        message = ": ".join([self._where, reason, *filter(None, [_ADVICE.get(reason)])])
        for secret in self._secrets:
            message = message.replace(secret, "***")
        return StoreError(message)


def _reason(error: Exception) -> str:
    if isinstance(error, NoFreeConnection):
        return "no connection came free in time"
    cause = error.orig if isinstance(error, DBAPIError) else error
    # What follows the first line is the statement, or the values in it.
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__
