"""Errors of a database as this package's errors: one line, without SQL and without secrets."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from variegate.errors import ConflictError, OutcomeUnknownError, StoreError

#: The kinds of failure that are counted: the store cannot be used, did not answer in time, and it
#: is not known whether a transaction was committed
KINDS: Final = ("unavailable", "timeout", "outcome_unknown")
#: Called with one of `KINDS` for each failure
Count = Callable[[str], None]

_GRANT_WRITE: Final = "let the user that runs this write the file and its folder"
#: Why a store that must exist cannot be opened
NO_STORE: Final = "there is no store here"
#: What to do about this and about messages of SQLite
_ADVICE: Final = {
    NO_STORE: "start the service once, which creates it, or correct the address",
    "attempt to write a readonly database": _GRANT_WRITE,
    "unable to open database file": _GRANT_WRITE,
}


class ErrorTranslator:
    """Turns the errors of one database into this package's errors, and counts them.

    Parameters
    ----------
    where
        The database, as messages show it.
    driver
        The driver's module, with the exceptions of PEP 249.
    secrets
        Texts that no message may contain.
    timeouts
        The driver's errors that mean that something took too long.
    no_answer
        The driver's errors that mean that the database did not answer at all.
    """

    def __init__(
        self,
        where: str,
        driver: Any,
        secrets: Sequence[str] = (),
        timeouts: tuple[type[Exception], ...] = (),
        no_answer: tuple[type[Exception], ...] = (),
    ) -> None:
        self._where = where
        self._secrets = secrets
        self._conflict: type[Exception] = driver.IntegrityError
        self._timeouts = (*timeouts, *no_answer)
        self._no_answer = no_answer
        #: The base class of the driver's errors
        self.driver_error: Final[type[Exception]] = driver.Error
        self.count: Count = lambda _kind: None
        #: Whether the database did not answer the last time
        self.is_silent = False

    def translate(self, error: Exception) -> StoreError | ConflictError:
        """Return what to raise for an error of the driver."""
        if isinstance(error, self._conflict):
            return ConflictError("something with the same id was added meanwhile: retry")
        self.is_silent = isinstance(error, self._no_answer)
        kind = "timeout" if isinstance(error, self._timeouts) else "unavailable"
        return self.unusable(_first_line(error), kind=kind)

    def outcome_unknown(self, error: Exception) -> OutcomeUnknownError:
        """Return what to raise if a commit was sent and no answer came."""
        self.is_silent = isinstance(error, self._no_answer)
        self.count("outcome_unknown")
        reason = f"the outcome of the commit is not known: {_first_line(error)}"
        return OutcomeUnknownError(self._message(reason))

    def unusable(self, reason: str, *, kind: str = "unavailable") -> StoreError:
        """Return an error that says why the store cannot be used; nothing was changed."""
        self.count(kind)
        return StoreError(self._message(reason))

    def _message(self, reason: str) -> str:
        message = ": ".join([self._where, reason, *filter(None, [_ADVICE.get(reason)])])
        for secret in self._secrets:
            message = message.replace(secret, "***")
        return message


def _first_line(error: Exception) -> str:
    # The lines after the first repeat the statement and its values.
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
