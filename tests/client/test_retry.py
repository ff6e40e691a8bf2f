"""When a call is tried again: every rule, without a network and without a clock."""

from datetime import UTC, datetime

import pytest

from variegate.client.retry import (
    Attempts,
    RetryPolicy,
    is_certainly_not_executed,
    parse_retry_after,
)
from variegate.client.transport import Call, NoReply, Outcome, Reply, Retry
from variegate.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    OutcomeUnknownError,
    StoreError,
    VariegateError,
)

OURS = (
    b'{"type": "/problems/unavailable", "title": "Unavailable", "status": 503, '
    b'"detail": "the words", "request_id": "r-7"}'
)
UNKNOWN = Reply(503, OURS.replace(b"unavailable", b"outcome_unknown"))
LOST, REFUSED = NoReply("ReadTimeout", unsent=False), NoReply("ConnectError", unsent=True)
BUSY = Reply(503, OURS)


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def attempts_at(
    retry: Retry = Retry.ALWAYS,
    *,
    method: str = "GET",
    removes: bool = False,
    draw: float = 1.0,
    clock: Clock | None = None,
) -> Attempts:
    call = Call(method, "/x", lambda _body: None, retry=retry, removes=removes)
    policy = RetryPolicy(timeout=10.0, retries=8, deadline=100.0, backoff=0.1)
    return Attempts(call, policy, clock=clock or Clock(), uniform=lambda: draw)


def test_an_answer_is_the_end() -> None:
    assert attempts_at().evaluate(Reply(201, b"{}")) == Reply(201, b"{}")


def test_pauses_double_up_to_a_limit() -> None:
    attempts = attempts_at()

    assert [attempts.evaluate(LOST) for _ in range(8)] == pytest.approx(
        [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    )


@pytest.mark.parametrize("draw", [0.0, 0.25])
def test_pauses_are_drawn_from_nothing_up(draw: float) -> None:
    assert attempts_at(draw=draw).evaluate(LOST) == pytest.approx(0.1 * draw)


def test_the_service_can_ask_for_a_pause() -> None:
    assert attempts_at(draw=0.5).evaluate(Reply(503, OURS, "7")) == pytest.approx(7.05)


def test_a_pause_beyond_the_deadline_is_not_waited_for() -> None:
    with pytest.raises(StoreError, match=r"^the words \(request r-7\)$"):
        attempts_at().evaluate(Reply(429, OURS, "100"))


def test_attempts_are_counted() -> None:
    attempts = attempts_at()
    for _ in range(8):
        attempts.evaluate(REFUSED)

    with pytest.raises(StoreError, match=r"^no response to GET /x: ConnectError \(9 attempts\)$"):
        attempts.evaluate(REFUSED)


def test_the_timeout_shrinks_with_what_is_left() -> None:
    clock = Clock()
    attempts = attempts_at(clock=clock)
    before = attempts.timeout
    clock.now = 97.0

    assert (before, attempts.timeout) == (10.0, 3.0)


@pytest.mark.parametrize(
    ("retry", "outcome", "again"),
    [
        (Retry.ALWAYS, LOST, True),
        (Retry.ALWAYS, REFUSED, True),
        (Retry.ALWAYS, BUSY, True),
        (Retry.ALWAYS, Reply(429, b""), True),
        (Retry.ALWAYS, Reply(502, b"<html>"), True),
        (Retry.ALWAYS, Reply(504, b"<html>"), True),
        (Retry.ALWAYS, Reply(500, OURS), False),
        (Retry.ALWAYS, Reply(422, OURS), False),
        (Retry.IF_NOT_EXECUTED, LOST, False),
        (Retry.IF_NOT_EXECUTED, REFUSED, True),
        (Retry.IF_NOT_EXECUTED, BUSY, True),
        (Retry.IF_NOT_EXECUTED, UNKNOWN, False),
        (Retry.ALWAYS, UNKNOWN, True),
        (Retry.IF_NOT_EXECUTED, Reply(429, b""), True),
        (Retry.IF_NOT_EXECUTED, Reply(503, b"<html>"), False),
        (Retry.IF_NOT_EXECUTED, Reply(502, b"<html>"), False),
        (Retry.NEVER, REFUSED, False),
        (Retry.NEVER, BUSY, False),
    ],
)
def test_what_is_tried_again(retry: Retry, outcome: Outcome, again: bool) -> None:
    attempts = attempts_at(retry)
    try:
        paused = isinstance(attempts.evaluate(outcome), float)
    except VariegateError:
        paused = False

    assert paused is again


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InputError),
        (401, InputError),
        (403, InputError),
        (404, NotFoundError),
        (409, ConflictError),
        (413, InputError),
        (422, InputError),
        (500, StoreError),
    ],
)
def test_each_status_has_its_error(status: int, kind: type[VariegateError]) -> None:
    with pytest.raises(kind, match=r"the words \(request r-7\)$"):
        attempts_at().evaluate(Reply(status, OURS))


@pytest.mark.parametrize("status", [302, 404, 500])
def test_an_answer_that_is_not_the_services_is_stated_to_be_none(status: int) -> None:
    with pytest.raises(VariegateError, match=rf"status {status}, .* `url` must be the address"):
        attempts_at().evaluate(Reply(status, b"<html>"))


def test_what_is_gone_after_a_lost_removal_was_removed() -> None:
    attempts = attempts_at(removes=True)
    attempts.evaluate(LOST)

    assert attempts.evaluate(Reply(404, OURS)) == Reply(404, OURS)


@pytest.mark.parametrize("before", [REFUSED, BUSY])
def test_what_is_gone_without_a_removal_was_never_there(before: Outcome) -> None:
    attempts = attempts_at(removes=True)
    attempts.evaluate(before)

    with pytest.raises(NotFoundError):
        attempts.evaluate(Reply(404, OURS))


@pytest.mark.parametrize(
    ("method", "outcomes", "kind"),
    [
        ("POST", [LOST], OutcomeUnknownError),
        ("POST", [UNKNOWN], OutcomeUnknownError),
        ("POST", [Reply(502, b"<html>")], OutcomeUnknownError),
        ("POST", [LOST, BUSY], OutcomeUnknownError),
        ("POST", [Reply(500, OURS.replace(b"unavailable", b"internal"))], OutcomeUnknownError),
        ("POST", [BUSY], StoreError),
        ("POST", [REFUSED, BUSY], StoreError),
        ("POST", [Reply(429, OURS)], StoreError),
        ("GET", [LOST], StoreError),
        ("GET", [UNKNOWN], StoreError),
    ],
)
def test_after_the_last_attempt_it_is_stated_whether_the_outcome_is_known(
    method: str, outcomes: list[Outcome], kind: type[StoreError]
) -> None:
    attempts = attempts_at(method=method)
    error: StoreError | None = None
    try:
        for number in range(9):
            attempts.evaluate(outcomes[min(number, len(outcomes) - 1)])
    except StoreError as raised:
        error = raised

    assert type(error) is kind


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        (" 12 ", 12.0),
        ("Mon, 01 Jun 2026 12:00:30 GMT", 30.0),
        ("Mon, 01 Jun 2026 11:00:00 GMT", 0.0),
        ("Mon, 01 Jun 2026 12:00:30 -0000", 0.0),
        ("-3", 0.0),
        ("soon", 0.0),
        ("", 0.0),
    ],
)
def test_a_pause_is_a_number_or_a_date(text: str, seconds: float) -> None:
    assert parse_retry_after(text, datetime(2026, 6, 1, 12, tzinfo=UTC)) == seconds


def test_only_what_was_refused_or_not_sent_is_certainly_not_executed() -> None:
    assert is_certainly_not_executed(REFUSED)
    assert is_certainly_not_executed(BUSY)
    assert not is_certainly_not_executed(LOST)
    assert not is_certainly_not_executed(UNKNOWN)
    assert not is_certainly_not_executed(Reply(503, b""))


@pytest.mark.parametrize("name", ["timeout", "deadline", "backoff"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_seconds_must_be_above_0(name: str, value: float) -> None:
    good = {"timeout": 1.0, "retries": 1, "deadline": 1.0, "backoff": 1.0}

    with pytest.raises(InputError, match=rf"`{name}` must be a number of seconds above 0"):
        RetryPolicy(**{**good, name: value})  # type: ignore[arg-type]


def test_retries_must_not_be_below_0() -> None:
    with pytest.raises(InputError, match="`retries` must be at least 0, got -1"):
        RetryPolicy(1.0, -1, 1.0, 1.0)
