"""When a call is tried again, and after what pause; without any network of its own."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from time import monotonic
from typing import Final

from variegate.client.transport import Call, Outcome, Repeat, Reply, Silence
from variegate.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    OutcomeUnknownError,
    StoreError,
    VariegateError,
)

_KINDS: Final[Mapping[int, type[VariegateError]]] = {404: NotFoundError, 409: ConflictError}


def error_of(
    outcome: Outcome, call: Call[object], attempts: int, *, may_be_done: bool
) -> VariegateError:
    """Return the error to raise for a call that failed.

    Parameters
    ----------
    may_be_done
        Whether any of the attempts may have been carried out.
    """
    tried = f" ({attempts} attempts)" if attempts > 1 else ""
    failed = OutcomeUnknownError if may_be_done and call.changes else StoreError
    if not isinstance(outcome, Reply):
        return failed(f"no answer to {call.method} {call.path:.200}: {outcome.why}{tried}")
    message = said_by(outcome) or (
        f"{call.method} {call.path:.200} was answered with status {outcome.status} and without "
        "the service's words: `url` must be the address of a variegate service"
    )
    if outcome.status in (401, 403):
        message = f"`key`: {message}"
    if outcome.status == 429 or outcome.status >= 500:
        return failed(message + tried)
    return _KINDS.get(outcome.status, InputError)(message)


def said_by(reply: Reply) -> str:
    """Return the service's own message and the request's id; "" where it is not the service's.

    Examples
    --------
    >>> said_by(Reply(404, b'{"error": {"message": "no user", "request_id": "a-1"}}'))
    'no user (request a-1)'
    >>> said_by(Reply(502, b"<html>"))
    ''
    """
    try:
        problem = json.loads(reply.body)["error"]
        return f"{problem['message']} (request {problem['request_id']})"
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def code_of(reply: Reply) -> str:
    """Return the service's code of an error; "" where the answer is not the service's.

    Examples
    --------
    >>> code_of(Reply(503, b'{"error": {"code": "unavailable", "message": "", "request_id": ""}}'))
    'unavailable'
    >>> code_of(Reply(503, b"<html>"))
    ''
    """
    try:
        code = json.loads(reply.body)["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return code if isinstance(code, str) else ""


#: Seconds of the longest pause that was not asked for.
_LONGEST: Final = 5.0
#: The service is away for the moment: it says so itself, or a proxy in front of it does.
_UNAVAILABLE: Final = (502, 503, 504)
#: The code of the service's own 503 where nothing was changed.
_NOT_DONE: Final = "unavailable"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long, and how often.

    Parameters
    ----------
    timeout
        Seconds that the service may be silent.
    retries
        Attempts after the first.
    deadline
        Seconds for a call with all its attempts and pauses.
    backoff
        Seconds of the first pause, at most; it doubles with each attempt.
    """

    timeout: float
    retries: int
    deadline: float
    backoff: float

    def __post_init__(self) -> None:
        for name in ("timeout", "deadline", "backoff"):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise InputError(f"`{name}` must be a number of seconds above 0, got {value!r}")
        if self.retries < 0:
            raise InputError(f"`retries` must be at least 0, got {self.retries!r}")


class Attempts:
    """The attempts at one call.

    Parameters
    ----------
    clock
        Gives seconds that only grow.
    draw
        Gives a number from 0 to 1, by which clients that failed together come back apart.
    """

    def __init__(
        self,
        call: Call[object],
        patience: Patience,
        *,
        clock: Callable[[], float] = monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._call, self._patience = call, patience
        self._clock, self._draw = clock, draw
        self._end = clock() + patience.deadline
        self._failed = 0
        self._may_be_done = False

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._end - self._clock()

    @property
    def timeout(self) -> float:
        """Seconds that the service may be silent in the next attempt."""
        return max(min(self._patience.timeout, self.left), 0.001)

    def judge(self, outcome: Outcome) -> Reply | float:
        """Return the answer, or the seconds to wait for another attempt, or raise the error."""
        if isinstance(outcome, Reply) and self._is_good(outcome):
            return outcome
        self._failed += 1
        self._may_be_done |= not is_certainly_not_done(outcome)
        error = error_of(outcome, self._call, self._failed, may_be_done=self._may_be_done)
        if self._failed > self._patience.retries or not self._may_repeat(outcome):
            raise error
        longest = min(_LONGEST, self._patience.backoff * 2.0 ** min(self._failed - 1, 30))
        pause = _asked_for(outcome) + self._draw() * longest
        if pause >= self.left:
            raise error
        return pause

    def _is_good(self, reply: Reply) -> bool:
        was_removed = self._call.removes and self._may_be_done and reply.status == 404
        return 200 <= reply.status < 300 or was_removed

    def _may_repeat(self, outcome: Outcome) -> bool:
        if isinstance(outcome, Reply) and outcome.status not in (429, *_UNAVAILABLE):
            return False
        if self._call.repeat is Repeat.ALWAYS:
            return True
        return self._call.repeat is Repeat.NOT_DONE and is_certainly_not_done(outcome)


def is_certainly_not_done(outcome: Outcome) -> bool:
    """Whether the service certainly changed nothing of what it was asked for.

    A 503 of a proxy may be about a service that received the request and then fell silent; only
    the service's own code tells.
    """
    if isinstance(outcome, Silence):
        return outcome.unsent
    return outcome.status < 500 or code_of(outcome) == _NOT_DONE


def _asked_for(outcome: Outcome) -> float:
    text = outcome.retry_after if isinstance(outcome, Reply) else None
    return 0.0 if text is None else seconds_of(text, datetime.now(UTC))


def seconds_of(retry_after: str, now: datetime) -> float:
    """Return the seconds that a Retry-After header asks for: a number, or until a date.

    Examples
    --------
    >>> seconds_of("2", datetime.now(UTC)), seconds_of("soon", datetime.now(UTC))
    (2.0, 0.0)
    """
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        then = parsedate_to_datetime(retry_after)
        return max((then - now).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return 0.0  # nothing that can be understood: as if it were not there
