"""How the errors of a database are told: in one line, without SQL and without secrets."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from variegate.errors import ConflictError, OutcomeUnknownError, StoreError

#: What `StoreError` is counted as: could not be used, did not answer in time, and whether a commit
#: was made is not known
KINDS: Final = ("unavailable", "timeout", "outcome_unknown")
#: Is called with one of `KINDS` for each failure
Count = Callable[[str], None]

_WRITABLE: Final = "let the user that runs this write the file and its folder"
#: What to do about what SQLite says
_ADVICE: Final = {
    "attempt to write a readonly database": _WRITABLE,
    "unable to open database file": _WRITABLE,
}


class Failures:
    """Turns what goes wrong in one database into this package's errors, and counts it.

    Parameters
    ----------
    where
        The database, as a message may show it.
    driver
        The module that speaks with the database, with the errors of PEP 249.
    secrets
        Texts that no message may hold, whoever wrote it.
    timeouts
        The driver's errors that mean that something took too long.
    silences
        Those among them that mean that the database did not answer at all.
    """

    def __init__(
        self,
        where: str,
        driver: Any,
        secrets: Sequence[str] = (),
        timeouts: tuple[type[Exception], ...] = (),
        silences: tuple[type[Exception], ...] = (),
    ) -> None:
        self._where = where
        self._secrets = secrets
        self._contradictions = IntegrityError, driver.IntegrityError
        self._timeouts: tuple[type[Exception], ...] = (NoFreeConnection, *timeouts, *silences)
        self._silences = silences
        #: What is raised where something goes wrong with the database
        self.kinds: Final[tuple[type[Exception], ...]] = SQLAlchemyError, driver.Error
        self.count: Count = lambda _kind: None
        #: Whether the database did not answer when it was asked last
        self.is_silent = False

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
        cause = driver_error(error)
        self.is_silent = isinstance(cause, self._silences)
        kind = "timeout" if isinstance(cause, self._timeouts) else "unavailable"
        return self.unusable(_reason(error), kind=kind)

    def outcome_unknown(self, error: Exception) -> OutcomeUnknownError:
        """Return what to raise where a commit was sent and its answer did not come."""
        self.is_silent = isinstance(driver_error(error), self._silences)
        self.count("outcome_unknown")
        reason = f"the outcome of the commit is not known: {_reason(error)}"
        return OutcomeUnknownError(self._message(reason))

    def unusable(self, reason: str, *, kind: str = "unavailable") -> StoreError:
        """Return an error that says why the store cannot be used now; nothing was changed."""
        self.count(kind)
        return StoreError(self._message(reason))

    def _message(self, reason: str) -> str:
        message = ": ".join([self._where, reason, *filter(None, [_ADVICE.get(reason)])])
        for secret in self._secrets:
            message = message.replace(secret, "***")
        return message


def driver_error(error: Exception) -> BaseException:
    """Return the driver's own error where SQLAlchemy has wrapped one."""
    wrapped = error.orig if isinstance(error, DBAPIError) else None
    return error if wrapped is None else wrapped


def _reason(error: Exception) -> str:
    if isinstance(error, NoFreeConnection):
        return "no connection came free in time"
    cause = driver_error(error)
    # What follows the first line is the statement, or the values in it.
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__
