"""Which failed calls are retried, when, and which error is raised; no network, no sleeping."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from time import monotonic
from typing import Final

from pydantic import ValidationError

from variegate.client.transport import Call, NoReply, Outcome, Reply, Retry
from variegate.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    OutcomeUnknownError,
    StoreError,
    VariegateError,
)
from variegate.schemas import Problem

#: Maximum seconds of a pause, besides what Retry-After asks for.
_MAX_PAUSE: Final = 5.0
#: The service is temporarily unavailable, by its own response or that of a proxy.
_UNAVAILABLE: Final = (502, 503, 504)
#: The code of the service's own 503 where nothing was changed.
_NOT_EXECUTED: Final = "unavailable"
_ERRORS: Final[Mapping[int, type[VariegateError]]] = {404: NotFoundError, 409: ConflictError}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait and how often to retry.

    Parameters
    ----------
    timeout
        Seconds to wait for the service to send anything.
    retries
        Attempts after the first.
    deadline
        Seconds for a call with all its attempts and pauses.
    backoff
        Maximum seconds of the first pause; it doubles with each attempt.
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
        Returns seconds that only increase.
    uniform
        Returns a random number from 0 to 1, so that clients that failed together do not return
        together.
    """

    def __init__(
        self,
        call: Call[object],
        policy: RetryPolicy,
        *,
        clock: Callable[[], float] = monotonic,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._call, self._policy = call, policy
        self._clock, self._uniform = clock, uniform
        self._end = clock() + policy.deadline
        self._failures = 0
        self._may_be_executed = False

    @property
    def remaining(self) -> float:
        """Seconds until the deadline."""
        return self._end - self._clock()

    @property
    def timeout(self) -> float:
        """Seconds to wait for the service in the next attempt."""
        return max(min(self._policy.timeout, self.remaining), 0.001)

    def evaluate(self, outcome: Outcome) -> Reply | float:
        """Return the reply, or the seconds to wait before the next attempt, or raise the error."""
        if isinstance(outcome, Reply) and self._is_success(outcome):
            return outcome
        self._failures += 1
        self._may_be_executed |= not is_certainly_not_executed(outcome)
        error = self._error(outcome)
        if self._failures > self._policy.retries or not self._may_retry(outcome):
            raise error
        max_pause = min(_MAX_PAUSE, self._policy.backoff * 2.0 ** min(self._failures - 1, 30))
        pause = _requested_pause(outcome) + self._uniform() * max_pause
        if pause >= self.remaining:
            raise error
        return pause

    def _is_success(self, reply: Reply) -> bool:
        was_removed = self._call.removes and self._may_be_executed and reply.status == 404
        return 200 <= reply.status < 300 or was_removed

    def _may_retry(self, outcome: Outcome) -> bool:
        if isinstance(outcome, Reply) and outcome.status not in (429, *_UNAVAILABLE):
            return False
        if self._call.retry is Retry.ALWAYS:
            return True
        return self._call.retry is Retry.IF_NOT_EXECUTED and is_certainly_not_executed(outcome)

    def _error(self, outcome: Outcome) -> VariegateError:
        call = self._call
        attempts = f" ({self._failures} attempts)" if self._failures > 1 else ""
        failure = OutcomeUnknownError if self._may_be_executed and call.changes else StoreError
        if not isinstance(outcome, Reply):
            return failure(
                f"no response to {call.method} {call.path:.200}: {outcome.reason}{attempts}"
            )
        problem = _problem(outcome)
        message = (
            f"{problem.detail} (request {problem.request_id})"
            if problem
            else f"{call.method} {call.path:.200} returned status {outcome.status}, not in the "
            "service's format: `url` must be the address of a variegate service"
        )
        if outcome.status in (401, 403):
            message = f"`key`: {message}"
        if outcome.status == 429 or outcome.status >= 500:
            return failure(message + attempts)
        return _ERRORS.get(outcome.status, InputError)(message)


def is_certainly_not_executed(outcome: Outcome) -> bool:
    """Return whether the service certainly did not execute the request.

    A 503 may come from a proxy whose service had received the request; only the service's own
    `type` is certain.
    """
    if isinstance(outcome, NoReply):
        return outcome.unsent
    problem = _problem(outcome)
    return outcome.status < 500 or (problem is not None and problem.kind == _NOT_EXECUTED)


def _problem(reply: Reply) -> Problem | None:
    """Return the service's own description of an error; None for a response of anything else."""
    try:
        return Problem.model_validate_json(reply.body)
    except ValidationError:
        return None


def _requested_pause(outcome: Outcome) -> float:
    text = outcome.retry_after if isinstance(outcome, Reply) else None
    return 0.0 if text is None else parse_retry_after(text, datetime.now(UTC))


def parse_retry_after(text: str, now: datetime) -> float:
    """Return the seconds that a Retry-After header asks for: a number, or until a date.

    Examples
    --------
    >>> now = datetime.now(UTC)
    >>> parse_retry_after("2", now), parse_retry_after("soon", now)
    (2.0, 0.0)
    """
    if text.strip().isdecimal():
        return float(text)
    try:
        return max((parsedate_to_datetime(text) - now).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return 0.0  # not a valid header: treated as absent
