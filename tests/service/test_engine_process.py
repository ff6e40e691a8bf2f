"""The service with an engine process: as without one, and it can be lost at any moment."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import uvloop

from tests.service.asking import Caller
from tests.service.processes import engine_of, has_ended
from tests.waiting import until
from tools.soak.process import Process, started
from tools.soak.run import Looking, settings_of
from variegate.engine import Feedback, RecommendRequest, process
from variegate.engine.process import EngineProxy, uses_engine_process
from variegate.engine.queue import CommandQueue, QueuedCommand
from variegate.engine.settings import Settings
from variegate.errors import DataError, InputError, NotFoundError, StoreError
from variegate.store import Store

Work = Callable[[CommandQueue], Coroutine[Any, Any, None]]


@pytest.fixture
def settings(sqlite_url: str, tmp_path: Path) -> Settings:
    Store.open(sqlite_url).close()
    return settings_of(sqlite_url, tmp_path, engine_process=True)


def run(settings: Settings, work: Work) -> list[tuple[str, float]]:
    """Do something with an engine that is ready; return what it observed."""
    observed: list[tuple[str, float]] = []

    async def whole() -> None:
        proxy = EngineProxy(settings, lambda name, value: observed.append((name, value)))
        queue = CommandQueue(proxy, timeout=settings.timeout_seconds)
        await proxy.open()
        try:
            await work(queue)
        finally:
            await proxy.close()

    asyncio.run(whole())
    return observed


@contextmanager
def serving(settings: Settings, folder: Path) -> Iterator[tuple[Process, Caller]]:
    with started(settings, str(folder)) as service:
        yield service, Caller(service.address)


def test_lists_feedback_and_refusals_are_those_of_a_thread(settings: Settings) -> None:
    async def work(queue: CommandQueue) -> None:
        slate = await queue.submit(RecommendRequest("ann", k=3))
        assert [len(slate["items"]), slate["user"]] == [3, "ann"]
        liked = {slate["items"][0]["id"]: 1.0}
        result = await queue.submit(Feedback(slate["slate_id"], liked))
        assert result["status"] == "learnt"
        assert await queue.submit(Feedback(slate["slate_id"], liked)) == result
        with pytest.raises(InputError, match="`k` must be from 1"):
            await queue.submit(RecommendRequest("ann", k=0))
        with pytest.raises(NotFoundError, match="no slate"):
            await queue.submit(Feedback("nothing", {}))

    observed = run(settings, work)

    names = [name for name, _ in observed]
    assert names.count("recommend") == 2
    assert sum(value for name, value in observed if name == "feedback") == 1


def test_many_at_once_are_each_answered_with_their_own(settings: Settings) -> None:
    async def work(queue: CommandQueue) -> None:
        users = [f"u{number}" for number in range(100)]
        slates = await asyncio.gather(*(queue.submit(RecommendRequest(user)) for user in users))
        assert [slate["user"] for slate in slates] == users

    observed = run(settings, work)

    batches = [value for name, value in observed if name == "batch"]
    assert sum(batches) == 100
    assert max(batches) > 1


def test_whoever_goes_away_before_the_answer_costs_the_others_nothing(settings: Settings) -> None:
    async def work(queue: CommandQueue) -> None:
        gone = asyncio.create_task(queue.submit(RecommendRequest("gone")))
        stays = asyncio.create_task(queue.submit(RecommendRequest("stays")))
        await asyncio.sleep(0)
        gone.cancel()
        assert (await stays)["user"] == "stays"

    run(settings, work)


def test_a_command_for_an_engine_whose_connection_is_closed_is_not_done(
    settings: Settings,
) -> None:
    async def work() -> None:
        proxy = EngineProxy(settings, lambda _name, _value: None)
        await proxy.open()
        line, errors = proxy._connection, list[Exception]()
        assert line is not None
        assert line._transport is not None

        def send(_lost: object) -> None:
            try:
                proxy.send(QueuedCommand(1, monotonic(), RecommendRequest("ann")))
            except Exception as error:
                errors.append(error)

        # Between the end of the connection and the moment in which the proxy hears of it.
        line.lost.add_done_callback(send)
        try:
            line._transport.abort()
            await line.lost
            await asyncio.sleep(0)
            assert [type(error) for error in errors] == [StoreError]
        finally:
            await proxy.close()

    # As the service runs: asyncio's own loop takes what is written after the end, and drops it.
    uvloop.run(work())


def test_an_engine_that_cannot_open_its_store_says_why(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "service.db").write_bytes(b"not a database" * 100)

    async def never(_queue: CommandQueue) -> None:
        raise AssertionError("it cannot be ready")

    with pytest.raises(StoreError, match="not a database"):
        run(settings, never)


def test_an_engine_that_cannot_read_its_catalogue_says_why(settings: Settings) -> None:
    Path(settings.catalogue or "").write_bytes(b"nothing of the kind")

    async def never(_queue: CommandQueue) -> None:
        raise AssertionError("it cannot be ready")

    with pytest.raises(DataError):
        run(settings, never)


def test_an_engine_that_is_killed_is_reported_and_another_is_opened(
    settings: Settings, tmp_path: Path
) -> None:
    with serving(settings, tmp_path) as (service, caller):
        slate = caller.request()
        first = engine_of(service.pid)
        os.kill(first, signal.SIGKILL)
        answers = [caller.request("bob")]
        while answers[-1].status != 201:
            assert answers[-1].status == 503
            assert answers[-1].headers["retry-after"] == "1"
            assert caller.ask("GET", "/healthz").status == 200
            time.sleep(0.01)
            answers.append(caller.request("bob"))

        assert len(answers) > 1
        assert engine_of(service.pid) != first
        assert caller.ask("GET", "/readyz").status == 200
        assert caller.report(slate).status == 200
        audit = Looking(settings)(caller.notebook)
        assert (audit.facts, caller.notebook.problems) == ((), [])


def test_a_service_without_its_engine_is_not_ready(settings: Settings, tmp_path: Path) -> None:
    with serving(settings, tmp_path) as (service, caller):
        os.kill(engine_of(service.pid), signal.SIGKILL)
        while (answer := caller.ask("GET", "/readyz")).status == 200:
            pass

        assert answer.status == 503


def test_an_engine_ends_with_the_service_that_was_killed(
    settings: Settings, tmp_path: Path
) -> None:
    with serving(settings, tmp_path) as (service, caller):
        assert caller.request().status == 201
        engine = engine_of(service.pid)
        service.kill_front()
        service.wait()
        until(lambda: has_ended(engine))


def test_a_signal_to_all_processes_lets_the_service_end_in_order(
    settings: Settings, tmp_path: Path
) -> None:
    with serving(settings, tmp_path) as (service, caller):
        assert caller.request().status == 201
        os.killpg(service.pid, signal.SIGINT)

        assert service.wait() == 0


@pytest.mark.parametrize(
    ("cores", "workers", "asked", "expected"),
    [
        (1, 1, None, False),
        (2, 1, None, True),
        (2, 2, None, False),
        (4, 2, None, True),
        (1, 1, True, True),
        (8, 1, False, False),
    ],
)
def test_there_is_an_engine_process_where_cores_would_be_idle(
    cores: int, workers: int, asked: bool | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "available_cores", lambda: cores)

    assert uses_engine_process(Settings(workers=workers, engine_process=asked)) is expected
