"""An engine or a database that stands still: every request is answered, truly and in time."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.postgres import Postgres
from tests.proxy import proxy_to
from tests.service.asking import Answer, Caller
from tests.service.processes import engine_of
from tests.waiting import until
from tools.soak.process import Process, started
from tools.soak.run import Looking, settings_of
from variegate.engine.settings import Settings
from variegate.store import Store

#: The setting `timeout_seconds`: an engine is hung after half of it
TIMEOUT = 4.0
#: What a request may take where all stands still, on a machine that is busy with other tests
LIMIT = TIMEOUT + 5.0
both_ways = pytest.mark.parametrize("has_process", [True, False], ids=["process", "thread"])


@contextmanager
def serving(
    url: str, folder: Path, *, has_process: bool = True
) -> Iterator[tuple[Process, Caller, Settings]]:
    Store.open(url).close()
    plain = settings_of(url, folder, engine_process=has_process)
    settings = plain.model_copy(update={"timeout_seconds": TIMEOUT})
    with started(settings, str(folder)) as service:
        yield service, Caller(service.address), settings


def timed(work: Callable[[], Answer]) -> tuple[Answer, float]:
    start = time.monotonic()
    return work(), time.monotonic() - start


def at_once(*work: Callable[[], Answer]) -> list[Answer]:
    """Return the answers to requests that are sent at the same time; none may take too long."""
    with ThreadPoolExecutor(len(work)) as threads:
        answers = list(threads.map(timed, work))
    assert max(seconds for _, seconds in answers) < LIMIT
    return [answer for answer, _ in answers]


def errors_of(caller: Caller, kind: str) -> float:
    return caller.number(f'variegate_store_errors_total{{kind="{kind}"}}')


def restarts(caller: Caller, reason: str) -> float:
    return caller.number(f'variegate_engine_restarts_total{{reason="{reason}"}}')


def check_in_order(settings: Settings, caller: Caller) -> None:
    audit = Looking(settings)(caller.notebook)
    assert (audit.facts, caller.notebook.problems) == ((), [])


def test_an_engine_that_is_stopped_is_killed_and_replaced(sqlite_url: str, tmp_path: Path) -> None:
    with serving(sqlite_url, tmp_path) as (service, caller, settings):
        assert caller.request().status == 201
        engine = engine_of(service.pid)
        os.kill(engine, signal.SIGSTOP)

        answers = at_once(*(lambda: caller.request("bob"),) * 3)

        assert {answer.status for answer in answers} == {503}
        # It was stopped while it waited: it had begun nothing.
        assert {answer.code for answer in answers} == {"unavailable"}
        assert caller.ask("GET", "/readyz").status == 503
        until(lambda: caller.ask("GET", "/readyz").status == 200)
        assert caller.request("bob").status == 201
        assert engine_of(service.pid) != engine
        assert not Path(f"/proc/{engine}").exists()
        assert restarts(caller, "hung") == 1
        assert errors_of(caller, "timeout") == 3
        check_in_order(settings, caller)


def test_a_service_whose_engine_is_stopped_ends_in_time(sqlite_url: str, tmp_path: Path) -> None:
    with serving(sqlite_url, tmp_path) as (service, caller, _), ThreadPoolExecutor(1) as threads:
        assert caller.request().status == 201
        os.kill(engine_of(service.pid), signal.SIGSTOP)
        waiting = threads.submit(caller.request)
        until(lambda: caller.number("variegate_waiting_operations") == 1)

        start = time.monotonic()
        service.ask_to_stop()

        assert service.wait() == 0
        assert time.monotonic() - start < 10
        assert waiting.result().status == 503


def test_an_engine_that_is_stopped_for_a_moment_goes_on(sqlite_url: str, tmp_path: Path) -> None:
    with serving(sqlite_url, tmp_path) as (service, caller, _), ThreadPoolExecutor(1) as threads:
        engine = engine_of(service.pid)
        os.kill(engine, signal.SIGSTOP)
        waiting = threads.submit(caller.request)
        until(lambda: caller.number("variegate_waiting_operations") == 1)
        os.kill(engine, signal.SIGCONT)

        assert waiting.result().status == 201
        assert engine_of(service.pid) == engine


@both_ways
def test_a_frozen_database_leaves_no_request_unanswered(
    postgres: Postgres, postgres_url: str, tmp_path: Path, has_process: bool
) -> None:
    with serving(postgres_url, tmp_path, has_process=has_process) as (_, caller, settings):
        slate = caller.request()
        paths = ["/v1/users/ada", "/v1/users/ada/history", "/v1/items", "/v1/report", "/readyz"]
        reads = [lambda path=path: caller.ask("GET", path) for path in paths]
        with postgres.frozen():
            writes = (lambda: caller.request("bob"), lambda: caller.report(slate))
            answers = at_once(*writes, *reads, *reads)

            assert {answer.status for answer in answers} == {503}
            assert {answer.code for answer in answers[2:]} == {"unavailable"}
            assert {answer.status for answer in at_once(*writes, *reads)} == {503}
            assert caller.ask("GET", "/healthz").status == 200
            assert errors_of(caller, "timeout") >= len(reads)

        until(lambda: caller.ask("GET", "/readyz").status == 200)
        assert until(lambda: caller.report(slate).status == 200)
        assert caller.request("bob").status == 201
        assert [caller.ask("GET", path).status for path in paths] == [200] * 5
        check_in_order(settings, caller)


@both_ways
def test_a_service_whose_database_is_frozen_ends_in_time(
    postgres: Postgres, postgres_url: str, tmp_path: Path, has_process: bool
) -> None:
    with (
        serving(postgres_url, tmp_path, has_process=has_process) as (service, caller, _),
        ThreadPoolExecutor(2) as threads,
    ):
        assert caller.request().status == 201
        with postgres.frozen():
            waiting = threads.submit(caller.request)
            reading = threads.submit(caller.ask, "GET", "/v1/users/ada")
            until(lambda: caller.number("variegate_waiting_operations") == 1)
            start = time.monotonic()
            service.ask_to_stop()
            assert service.wait() == 0
            assert time.monotonic() - start < 10
        assert (waiting.result().status, reading.result().status) == (503, 503)


@both_ways
@pytest.mark.parametrize(
    ("mode", "code", "lists"),
    [
        ("lose_answer", "outcome_unknown", 1),
        ("lose_commit", "outcome_unknown", 0),
        ("swallow", "unavailable", 0),
    ],
)
def test_what_is_not_known_is_reported_from_what_was_not_done(
    postgres_url: str, tmp_path: Path, has_process: bool, mode: str, code: str, lists: int
) -> None:
    Store.open(postgres_url).close()
    with (
        proxy_to(postgres_url) as proxy,
        serving(proxy.url, tmp_path, has_process=has_process) as (_, caller, _settings),
    ):
        assert caller.request().status == 201
        proxy.mode = mode

        answer = caller.request("bob")

        proxy.mode = "forward"
        assert (answer.status, answer.code) == (503, code)
        assert answer.headers["retry-after"] == "1"
        kind = "timeout" if mode == "swallow" else code
        assert until(lambda: errors_of(caller, kind) >= 1)
        until(lambda: caller.ask("GET", "/readyz").status == 200)
    with Store.open(postgres_url) as store, store.reading() as reader:
        assert len(reader.history("bob", 9)) == lists


def test_an_engine_that_is_killed_in_a_batch_leaves_its_outcome_unknown(
    postgres_url: str, tmp_path: Path
) -> None:
    with serving(postgres_url, tmp_path) as (service, caller, settings):
        slate = caller.request()
        with psycopg.connect(postgres_url) as holder, ThreadPoolExecutor(2) as threads:
            holder.execute("SELECT * FROM users FOR UPDATE")
            begun = threads.submit(caller.report, slate)
            until(lambda: lock_waits(postgres_url))
            later = threads.submit(caller.request, "bob")
            until(lambda: caller.number("variegate_waiting_operations") == 2)
            os.kill(engine_of(service.pid), signal.SIGKILL)

            assert begun.result().code == "outcome_unknown"
            assert later.result().code == "unavailable"
        until(lambda: caller.ask("GET", "/readyz").status == 200)
        assert restarts(caller, "ended") == 1
        assert caller.report(slate).status == 200
        check_in_order(settings, caller)


def lock_waits(url: str) -> bool:
    with psycopg.connect(url) as connection:
        query = "SELECT 1 FROM pg_locks WHERE NOT granted"
        return bool(connection.execute(query).fetchall())


def test_a_long_import_is_not_taken_for_a_hang(postgres_url: str, tmp_path: Path) -> None:
    slow = (
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END'",
        "CREATE TRIGGER slow BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION slow()",
    )
    with serving(postgres_url, tmp_path) as (_, caller, _settings):
        for number in range(10):
            assert caller.request(f"u{number}").status == 201
        lines = caller.ask("GET", "/v1/export").body
        for number in range(10):
            assert caller.ask("DELETE", f"/v1/users/u{number}").status == 200
        with psycopg.connect(postgres_url) as connection:
            for statement in slow:
                connection.execute(statement)

        answer, seconds = timed(lambda: caller.send("/v1/import", lines))

        assert (answer.status, json.loads(answer.body)["imported"]) == (200, 10)
        assert seconds > TIMEOUT / 2
        assert restarts(caller, "hung") == restarts(caller, "ended") == 0
