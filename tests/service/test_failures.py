"""Failures of a service: stopped, its store unavailable, removed, full or read-only."""

import asyncio
import ctypes
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.postgres import Postgres
from tests.service.asking import Answer, Caller
from tools.loadtest.server import family_of
from tools.soak.clients import crowd_of, loaded
from tools.soak.process import Process, started
from tools.soak.results import Plan
from tools.soak.run import Looking, settings_of
from variegate.engine.settings import Settings
from variegate.store import Store

WAITING = "variegate_waiting_operations"


@contextmanager
def serving(
    url: str, folder: Path, *, engine_process: bool = True
) -> Iterator[tuple[Process, Caller, Settings]]:
    settings = settings_of(url, folder, engine_process=engine_process)
    with started(settings, str(folder)) as process:
        yield process, Caller(process.address), settings


def check_away(answer: Answer, reason: str = "") -> None:
    assert answer.status == 503
    assert answer.headers["retry-after"] == "1"
    assert reason in answer.message


def check_in_order(settings: Settings, caller: Caller) -> None:
    audit = Looking(settings)(caller.notebook)

    assert audit.facts == ()
    assert audit.largest <= 1e-9
    assert caller.notebook.problems == []


@contextmanager
def sqlite_held(url: str) -> Iterator[None]:
    """Keep others from writing, as a slow disk would."""
    path = url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")


@contextmanager
def postgres_held(url: str) -> Iterator[None]:
    with psycopg.connect(url) as connection:
        connection.execute("SELECT * FROM users FOR UPDATE")
        yield


@pytest.mark.parametrize("engine_process", [True, False], ids=["process", "thread"])
@pytest.mark.parametrize(
    ("kind", "held"),
    [("sqlite", sqlite_held), ("postgres", postgres_held)],
    ids=["sqlite", "postgres"],
)
def test_sigterm_lets_what_is_under_way_finish(
    engine_process: bool,
    kind: str,
    held: Callable[[str], AbstractContextManager[None]],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    url: str = request.getfixturevalue(f"{kind}_url")
    with (
        serving(url, tmp_path, engine_process=engine_process) as (process, caller, settings),
        ThreadPoolExecutor(8) as threads,
    ):
        slates = [caller.request() for _ in range(8)]
        with held(url):
            answers = [threads.submit(caller.report, slate) for slate in slates]
            while caller.number(WAITING) < 8:
                pass
            process.ask_to_stop()
            while caller.is_answered():
                pass
            assert not any(answer.done() for answer in answers)
        assert [answer.result().status for answer in answers] == [200] * 8
        assert process.wait() == 0

    assert len(caller.notebook.acknowledged) == 8
    check_in_order(settings, caller)


def test_database_that_goes_away_and_comes_back_is_reported_and_used_again(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    with serving(postgres_url, tmp_path) as (_, caller, settings):
        before, unreported = caller.request(), caller.request()
        answer = caller.report(before)
        postgres.stop()
        try:
            check_away(caller.request())
            check_away(caller.report(unreported))
            check_away(caller.report(before))
            check_away(caller.ask("GET", "/v1/users/ada"))
            check_away(caller.ask("GET", "/readyz"))
            assert caller.ask("GET", "/healthz").status == 200
            # Three of the engine process, two of this one: what the alert in the
            # page on HTTP sums.
            errors = 'variegate_store_errors_total{kind="unavailable"}'
            assert caller.number(errors) >= 5
        finally:
            postgres.start()

        assert caller.report(before).body == answer.body
        assert caller.report(unreported).status == 200
        assert caller.report(caller.request()).status == 200
        assert caller.ask("GET", "/readyz").status == 200
        check_in_order(settings, caller)


def test_database_that_goes_away_under_load_is_reported_nothing_wrong_of(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    with serving(postgres_url, tmp_path) as (process, caller, settings):
        book = caller.notebook

        async def more_reports() -> None:
            enough = len(book.acknowledged) + 20
            while len(book.acknowledged) < enough and not book.problems:
                await asyncio.sleep(0)

        async def away_and_back() -> None:
            await more_reports()
            await asyncio.to_thread(postgres.stop)
            while not book.unavailable:
                await asyncio.sleep(0)
            await asyncio.to_thread(postgres.start)
            await more_reports()

        crowd = crowd_of(process.address, book, Plan(clients=4, users=5))
        asyncio.run(loaded(crowd, away_and_back, lambda: None))

        assert book.unavailable > 0
        assert len(book.acknowledged) >= 40
        check_in_order(settings, caller)


@contextmanager
def read_only(url: str) -> Iterator[None]:
    """Let a server refuse writes on new connections, as after a failover."""
    name = url.partition("?")[0].rpartition("/")[2]
    setting = "ALTER DATABASE {} SET default_transaction_read_only = {}"
    others = (
        # It waits for their end: else a transaction could begin on a connection that ends in it.
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE datname = {} AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(url, autocommit=True) as connection:

        def say(value: str) -> None:
            connection.execute("SET default_transaction_read_only = off")
            words = sql.Identifier(name), sql.Literal(value)
            connection.execute(sql.SQL(setting).format(*words))

        say("on")
        connection.execute(sql.SQL(others).format(sql.Literal(name)))
        yield
        say("off")


def test_database_that_takes_no_writes_is_reported_and_used_when_it_does(
    postgres_url: str, tmp_path: Path
) -> None:
    with serving(postgres_url, tmp_path) as (_, caller, settings):
        slate = caller.request()
        with read_only(postgres_url):
            check_away(caller.request(), "read-only transaction")
            check_away(caller.report(slate), "read-only transaction")
            assert caller.ask("GET", "/v1/users/ada").status == 200

        # A connection that was made meanwhile is still refused, and then given up.
        answers = [caller.report(slate).status for _ in range(3)]
        assert answers[-1] == 200
        check_in_order(settings, caller)


def test_file_that_is_removed_is_reported_and_not_made_again(
    sqlite_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "service.db"
    with serving(sqlite_url, tmp_path) as (_, caller, _settings):
        slate = caller.request()
        assert slate.status == 201
        path.unlink()

        check_away(caller.request(), "was removed or replaced: restart the service")
        check_away(caller.report(slate), "was removed or replaced: restart the service")
        check_away(caller.ask("GET", "/v1/users/ada"), "was removed or replaced")
        check_away(caller.ask("GET", "/readyz"), "the service is not ready: see its log")
        assert caller.ask("GET", "/healthz").status == 200
        assert not path.exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of 2 MB, or skip."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        made = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no full disk to be had here: {error}")
    if made.returncode:
        pytest.skip(f"no full disk to be had here: {made.stderr.strip()}")
    yield folder
    # Lazily: a process that was killed a moment ago may still have a file open.
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def until_refused(caller: Caller) -> Answer:
    """Return the first answer that is not a list and feedback on it."""
    while (slate := caller.request()).status == 201:
        answer = caller.report(slate)
        if answer.status != 200:
            return answer
    return slate


def test_full_disk_is_reported_and_written_again_when_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    ballast = small_disk / "ballast"
    with serving(f"sqlite:///{small_disk}/service.db", tmp_path) as (_, caller, settings):
        slate = caller.request()
        room = os.statvfs(small_disk)
        ballast.write_bytes(bytes(room.f_bsize * max(room.f_bavail - 20, 0)))

        check_away(until_refused(caller), "database or disk is full")
        check_away(caller.request("bob"), "database or disk is full")
        assert caller.ask("GET", "/v1/users/ada").status == 200
        check_in_order(settings, caller)
        ballast.unlink()

        assert caller.report(slate).status == 200
        assert caller.report(caller.request("bob")).status == 200
        check_in_order(settings, caller)


@pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="Linux alone can limit another's files"
)
def test_file_that_may_not_grow_is_reported_and_written_again_when_it_may(
    sqlite_url: str, tmp_path: Path
) -> None:
    with serving(sqlite_url, tmp_path) as (process, caller, settings):
        slate = caller.request()
        size = (tmp_path / "service.db-wal").stat().st_size
        before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        for pid in family_of(process.pid):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + 50_000, before[1]))

        check_away(until_refused(caller), "disk I/O error")
        check_away(caller.request("bob"), "disk I/O error")
        check_in_order(settings, caller)
        for pid in family_of(process.pid):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)

        assert caller.report(slate).status == 200
        assert caller.report(caller.request("bob")).status == 200
        check_in_order(settings, caller)


def bound_by_permissions() -> None:
    """Take from root the right to write where permissions say no."""
    drop_from_bounding_set, override = 24, 1
    ctypes.CDLL(None).prctl(drop_from_bounding_set, override, 0, 0, 0)


@pytest.mark.parametrize("workers", [1, 2])
def test_file_that_cannot_be_written_is_reported_at_the_start(
    tmp_path: Path, sqlite_url: str, workers: int
) -> None:
    catalogue = settings_of(sqlite_url, tmp_path).catalogue
    Store.open(sqlite_url).close()
    path = tmp_path / "service.db"
    path.chmod(0o400)
    command = [sys.executable, "-m", "variegate", "serve", "--port", "0", "--store", str(path)]

    ended = subprocess.run(
        [*command, "--catalogue", str(catalogue), "--workers", str(workers)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=bound_by_permissions,
    )

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"Error: {path}: attempt to write a readonly database: let the user that runs this write "
        "the file and its folder\n"
    )
