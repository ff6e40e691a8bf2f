"""JSON responses, and the pool of slow ones: few at a time, each computed once."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest
from fastapi import FastAPI, Request, Response

from tests.service.listening import ask, listening
from tests.service.test_protocol import connected, counted, head
from tests.service.whole import service
from tests.waiting import until
from variegate.engine.settings import Settings
from variegate.errors import NotFoundError, StateError
from variegate.service.app import N_THREADS, create_app
from variegate.service.responses import MAX_TASKS, CoalescingPool, computed_response, json_response
from variegate.service.routing import read_router
from variegate.store import Store


class Slow:
    """A service with questions that are answered when the test releases them."""

    def __init__(self, store: Store) -> None:
        self.going, self.begun = Event(), list[int]()
        router, self.pool = read_router(), CoalescingPool(n_threads=2, max_tasks=4)

        @router.get("/slow/{number}")
        async def slow(request: Request, number: int) -> Response:
            return await computed_response(self.pool, request, number, lambda: self.work(number))

        @router.get("/blocked")
        def blocked() -> None:
            self.begun.append(-1)
            self.going.wait(20)

        self.app: FastAPI = create_app(Settings(), store=store, routers=[router])

    def work(self, number: int) -> int:
        self.begun.append(number)
        self.going.wait(20)
        if number == 404:
            raise NotFoundError("no such number")
        return 2 * number


@pytest.fixture
def slow(store: Store) -> Iterator[Slow]:
    slow = Slow(store)
    yield slow
    slow.going.set()


@pytest.fixture
def port(slow: Slow) -> Iterator[int]:
    with listening(slow.app) as port:
        yield port
        slow.going.set()


def test_one_more_than_may_wait_is_refused_at_once(slow: Slow, port: int) -> None:
    with ThreadPoolExecutor(4) as threads:
        answers = [threads.submit(ask, port, "GET", f"/v1/slow/{n}") for n in range(2)]
        until(lambda: len(slow.begun) == 2)
        answers += [threads.submit(ask, port, "GET", f"/v1/slow/{n}") for n in (2, 3)]
        until(lambda: slow.pool.n_tasks == 4)

        assert ask(port, "GET", "/v1/slow/4")[0] == 429
        assert ask(port, "GET", "/v1/ping")[0] == 200
        assert len(slow.begun) == 2
        slow.going.set()
        assert [answer.result() for answer in answers] == [(200, b"%d" % (2 * n)) for n in range(4)]
    assert ask(port, "GET", "/v1/slow/5") == (200, b"10")
    assert 'reason="busy"' in slow.app.state.metrics.text().decode()


def test_the_same_question_is_worked_out_once(slow: Slow, port: int) -> None:
    with ThreadPoolExecutor(20) as threads:
        answers = [threads.submit(ask, port, "GET", "/v1/slow/7") for _ in range(20)]
        until(lambda: slow.begun == [7] and slow.pool._tasks[7].n_requests == 20)
        slow.going.set()
        assert {answer.result() for answer in answers} == {(200, b"14")}
    assert slow.begun == [7]


def test_who_hangs_up_gives_up_a_place_that_is_not_begun(slow: Slow, port: int) -> None:
    with ExitStack() as stack:
        for number in range(4):
            stack.enter_context(connected(port, head("GET", f"/v1/slow/{number}")))
            until(lambda: len(slow.begun) == min(number + 1, 2))  # noqa: B023
        until(lambda: slow.pool.n_tasks == 4)

    until(lambda: sum(line.endswith(" 4.0") for line in counted(slow.app, 499)) == 1)
    assert slow.pool.n_tasks == 2
    with connected(port, head("GET", "/v1/slow/5")), ThreadPoolExecutor(1) as threads:
        answer = threads.submit(ask, port, "GET", "/v1/slow/6")
        slow.going.set()
        assert answer.result() == (200, b"12")
    assert not {2, 3} & set(slow.begun)


def test_errors_are_reported_to_who_asked(slow: Slow, port: int) -> None:
    slow.going.set()

    status, body = ask(port, "GET", "/v1/slow/404")

    assert (status, body["detail"]) == (404, "no such number")


def test_probe_waits_for_no_pool(slow: Slow, port: int) -> None:
    with ExitStack() as stack:
        for _ in range(2 * N_THREADS):
            stack.enter_context(connected(port, head("GET", "/v1/blocked")))
        until(lambda: len(slow.begun) == N_THREADS)

        began = time.monotonic()
        assert ask(port, "GET", "/readyz")[0] == 200
        assert ask(port, "GET", "/healthz")[0] == 200
        assert time.monotonic() - began < 2
        slow.going.set()


def test_demonstrations_hold_up_nobody(tmp_path: Path) -> None:
    with service(tmp_path) as (app, _), listening(app) as port, ExitStack() as stack:
        ask(port, "GET", "/v1/simulation?rounds=1")  # the compiler's part
        for seed in range(100):
            question = head("GET", f"/v1/simulation?rounds=1000&seed={seed}")
            stack.enter_context(connected(port, question))
        until(lambda: bool(counted(app, 429)))

        took = []
        for _ in range(5):
            began = time.monotonic()
            assert ask(port, "GET", "/readyz")[0] == 200
            assert ask(port, "POST", "/v1/users/ann/slates", {"allow_repeats": True})[0] == 201
            assert ask(port, "GET", "/v1/users/ann")[0] == 200
            took.append(time.monotonic() - began)
        assert min(took) < 1
        (line,) = counted(app, 429)
        assert float(line.rsplit(" ", 1)[1]) >= 100 - 2 * MAX_TASKS


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_none_is_never_sent(wrong: float) -> None:
    with pytest.raises(StateError, match="a response must have finite numbers"):
        json_response({"items": [{"score": wrong}]})


def test_words_may_have_the_letters_of_one() -> None:
    sent = {"title": "To Infinity: NaN", "score": 1e308}

    assert json.loads(bytes(json_response(sent).body)) == sent
