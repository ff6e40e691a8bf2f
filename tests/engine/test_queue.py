"""The queue in front of the engine: every command is answered in time, and answered truly."""

import asyncio
import io
import json
import logging
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from pickle import dumps, loads
from time import monotonic
from typing import Any

import pytest

from variegate.engine import Feedback, RecommendRequest, queue
from variegate.engine import queue as batch_loop
from variegate.engine.logs import JsonFormatter, current_request
from variegate.engine.queue import (
    BatchLoop,
    CommandQueue,
    EngineThread,
    Progress,
    QueuedCommand,
    approximate_size,
)
from variegate.errors import OutcomeUnknownError, StoreError


class Engine:
    """An engine in a thread, over anything that does commands."""

    def __init__(
        self,
        execute: Callable[[Sequence[Any]], list[Any]] = list,
        tick: Callable[[], bool] = lambda: False,
        *,
        timeout: float = 5.0,
    ) -> None:
        self.errors: list[str] = []
        self.thread = EngineThread(BatchLoop(execute, tick, timeout=timeout))
        self.queue = CommandQueue(self.thread, timeout=timeout, count_error=self.errors.append)
        self.submit = self.queue.submit
        self.thread.start()

    async def stop(self) -> None:
        """End the thread."""
        await asyncio.to_thread(self.thread.stop)


class Gate:
    """Does commands once it is opened, and notes which."""

    def __init__(self) -> None:
        self.opened, self.begun = threading.Event(), threading.Event()
        self.done: list[Any] = []

    def __call__(self, commands: Sequence[Any]) -> list[Any]:
        self.begun.set()
        self.opened.wait(20)
        self.done.extend(commands)
        return list(commands)


class Stopped:
    """A worker that takes commands and answers nothing."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.sent: list[QueuedCommand] = []

    def attach(self, _queue: CommandQueue) -> None:
        pass

    def check(self) -> None:
        pass

    def send(self, command: QueuedCommand) -> None:
        self.sent.append(command)


async def waiting_in(queue: CommandQueue, *commands: Any) -> "list[asyncio.Task[Any]]":
    tasks = [asyncio.create_task(queue.submit(one)) for one in commands]
    await asyncio.sleep(0)
    return tasks


def test_it_answers_what_waits_before_it_ends() -> None:
    async def work() -> None:
        gate = Gate()
        it = Engine(gate)
        waiting = await waiting_in(it.queue, 0, 1, 2)
        stopping = asyncio.create_task(it.stop())
        gate.opened.set()
        assert await asyncio.gather(*waiting) == [0, 1, 2]
        await stopping
        with pytest.raises(StoreError, match="the service is stopping"):
            await it.submit(4)
        assert len(it.queue) == 0

    asyncio.run(work())


def test_what_waits_too_long_is_answered_and_is_never_begun() -> None:
    async def work() -> None:
        gate = Gate()
        it = Engine(gate, timeout=0.3)
        (first,) = await waiting_in(it.queue, "begun")
        await asyncio.to_thread(gate.begun.wait, 20)
        (second,) = await waiting_in(it.queue, "waits")
        start = monotonic()

        with pytest.raises(OutcomeUnknownError, match="may have been made or not"):
            await first
        with pytest.raises(StoreError, match="nothing was begun") as caught:
            await second

        assert caught.type is StoreError
        assert monotonic() - start < 2
        assert it.errors == ["outcome_unknown", "timeout"]
        gate.opened.set()
        await it.stop()
        assert gate.done == ["begun"]

    asyncio.run(work())


def test_long_commands_have_longer_once_they_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    class Long:
        alone = long = True

    async def work() -> None:
        gate = Gate()
        it = Engine(gate, timeout=0.1)
        (first,) = await waiting_in(it.queue, Long())
        await asyncio.to_thread(gate.begun.wait, 20)
        (second,) = await waiting_in(it.queue, Long())
        with pytest.raises(StoreError, match="nothing was begun"):
            await second
        assert not first.done()
        monkeypatch.setattr(queue, "LONG_SECONDS", 0.2)
        with pytest.raises(OutcomeUnknownError):
            await first
        gate.opened.set()
        await it.stop()

    asyncio.run(work())


def test_an_engine_that_is_at_one_batch_for_too_long_is_not_ready() -> None:
    async def work() -> None:
        gate = Gate()
        it = Engine(gate, timeout=0.05)
        it.queue.check()
        (first,) = await waiting_in(it.queue, "hangs")
        await asyncio.wait([first])
        while not it.queue._worker.progress.is_stuck():
            await asyncio.sleep(0.01)
        with pytest.raises(StoreError, match="for too long"):
            it.queue.check()
        gate.opened.set()
        await it.stop()

    asyncio.run(asyncio.wait_for(work(), 20))


def test_a_lost_engine_has_done_nothing_of_what_it_had_not_begun() -> None:
    async def work() -> None:
        worker = Stopped()
        it = CommandQueue(worker, timeout=5.0)
        tasks = await waiting_in(it, "a", "b", "c")
        worker.progress.begin(worker.sent[1].number, monotonic() + 9)

        it.fail_all("the engine was lost")

        kinds = [type(one) for one in await asyncio.gather(*tasks, return_exceptions=True)]
        assert kinds == [OutcomeUnknownError, OutcomeUnknownError, StoreError]

    asyncio.run(work())


def test_what_nobody_sends_is_not_kept() -> None:
    class Gone(Stopped):
        def send(self, _command: QueuedCommand) -> None:
            raise StoreError("gone")

    async def work() -> None:
        errors: list[str] = []
        it = CommandQueue(Gone(), timeout=5.0, count_error=errors.append)
        with pytest.raises(StoreError, match="gone"):
            await it.submit("x" * 1000)
        assert (len(it), it._bytes, errors) == (0, 0, ["unavailable"])

    asyncio.run(work())


def test_waiting_commands_are_bounded_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "MAX_COMMANDS", 3)

    async def work() -> None:
        errors: list[str] = []
        it = CommandQueue(Stopped(), timeout=5.0, count_error=errors.append)
        tasks = await waiting_in(it, 1, 2, 3)
        with pytest.raises(StoreError, match="too busy: try again"):
            await it.submit(4)
        assert errors == ["busy"]
        for task in tasks:
            task.cancel()

    asyncio.run(work())


def test_a_thousand_large_commands_do_not_take_a_gigabyte() -> None:
    def large(number: int) -> RecommendRequest:
        return RecommendRequest(
            f"user {number}", candidates=tuple(f"{number}-{n:010000}" for n in range(90))
        )

    async def work() -> tuple[int, int]:
        it = CommandQueue(Stopped(), timeout=60.0)
        tracemalloc.start()
        tasks = []
        for number in range(1000):
            tasks += await waiting_in(it, large(number))
            if len(it) <= number:
                break
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        (refused,) = [task for task in tasks if task.done()]
        assert isinstance(refused.exception(), StoreError)
        for task in tasks:
            task.cancel()
        return len(it), held

    count, held = asyncio.run(work())

    assert 20 <= count <= 60
    assert held < 2 * queue.MAX_BYTES


@pytest.mark.parametrize(
    "command",
    [
        RecommendRequest("ann", candidates=tuple(str(n) * 20 for n in range(1000))),
        Feedback("01", {str(n): 0.5 for n in range(1000)}, tuple(str(n) for n in range(1000))),
        {"lists": [[] for _ in range(10_000)]},
    ],
    ids=["candidates", "rewards", "empty-lists"],
)
def test_the_size_of_a_command_is_about_what_it_takes(command: Any) -> None:
    frozen = dumps(command)
    tracemalloc.start()
    copy = loads(frozen)  # noqa: S301 - made above
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert copy == command
    assert taken / 2 < approximate_size(command) < 2 * taken


def test_time_takes_turns_with_what_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_loop, "TICK", 0.0)
    answers: list[int] = []
    ticks: list[int] = []
    more = threading.Event()

    def tick() -> bool:
        monkeypatch.setattr(batch_loop, "TICK", 60.0)  # from now on it comes as there is more
        ticks.append(len(answers))
        more.set()
        return len(answers) < 5

    async def work() -> None:
        it = Engine(tick=tick)
        await asyncio.to_thread(more.wait, 20)
        for number in range(5):
            answers.append(await it.submit(number))
        await it.stop()

    asyncio.run(asyncio.wait_for(work(), 20))
    assert answers == [0, 1, 2, 3, 4]
    assert len(ticks) > 1


def test_a_failing_tick_is_tried_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_loop, "TICK", 0.01)
    ticks = iter([StoreError("away"), ZeroDivisionError("ours")])
    done = threading.Event()

    def tick() -> bool:
        error = next(ticks, None)
        if error is None:
            done.set()
            return False
        raise error

    async def work() -> None:
        it = Engine(tick=tick)
        await asyncio.to_thread(done.wait, 20)
        assert await it.submit("it") == "it"
        await it.stop()

    asyncio.run(work())
    assert "the store is not available: away" in caplog.text
    assert "it is tried again" in caplog.text


def test_lines_that_the_engine_logs_have_the_ids_of_their_requests() -> None:
    stream, gate = io.StringIO(), threading.Event()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    log = logging.getLogger("tests.engine")
    log.addHandler(handler)

    def execute(commands: Sequence[Any]) -> list[Any]:
        gate.wait(20)
        log.warning("commands: %s", commands)
        return list(commands)

    async def submit(engine: Engine, request: str) -> None:
        current_request.set(request)
        await engine.submit(request)

    async def run() -> None:
        engine = Engine(execute)
        tasks = [asyncio.create_task(submit(engine, name)) for name in ("r1", "r2", "r3")]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*tasks)
        await engine.stop()

    asyncio.run(run())
    log.removeHandler(handler)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert ",".join(line["request_id"] for line in lines) == "r1,r2,r3"
