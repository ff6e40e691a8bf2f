"""A store behind PgBouncer in transaction mode, where each transaction may get another session."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.engine.shop import Shop
from tests.store.factories import add_users
from tests.waiting import until
from tools.attack.replicas import free_port
from variegate.engine.replicas import Replica, shared_configuration
from variegate.errors import StoreError
from variegate.store import Store

PGBOUNCER = shutil.which("pgbouncer")
#: Fewer sessions than the store has connections, so that transactions take turns at them
SESSIONS = 2

Bouncing = Callable[[str], str]


@pytest.fixture
def bouncing(postgres_url: str, tmp_path: Path) -> Iterator[Bouncing]:
    """Return a function that starts PgBouncer with more settings, and returns the store's URL."""
    if PGBOUNCER is None:
        pytest.skip("pgbouncer is not installed: apt-get install pgbouncer")
    with pgbouncer(postgres_url, tmp_path) as start:
        yield start


@contextmanager
def pgbouncer(url: str, folder: Path) -> Iterator[Bouncing]:
    parts, started = urlsplit(url), list[subprocess.Popen[bytes]]()
    server = Path(parse_qs(parts.query)["host"][0])

    def start(more: str) -> str:
        port, path = free_port(), folder / "pgbouncer.ini"
        path.write_text(
            f"[databases]\n* = host={server} user=postgres\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
            f"pool_mode = transaction\ndefault_pool_size = {SESSIONS}\n{more}\n"
        )
        command = [str(PGBOUNCER), str(path)]
        if os.getuid() == 0:  # it refuses to run as root
            command += ["--user", server.owner()]
        with (folder / "pgbouncer.log").open("wb") as log:
            started.append(subprocess.Popen(command, stderr=log, stdout=log))
        address = f"postgresql://postgres@127.0.0.1:{port}{parts.path}"
        until(lambda: answers(address))
        return address

    try:
        yield start
    finally:
        for process in started:
            process.terminate()
            process.wait(10)


def answers(url: str) -> bool:
    try:
        Store.open(url).close()
    except StoreError:
        return False
    return True


def settings_of(store: Store) -> list[str]:
    names = "statement_timeout", "lock_timeout", "transaction_isolation", "synchronous_commit"
    with store.batch() as batch:
        return [batch._transaction.rows(f"SHOW {name}")[0][0] for name in names]


@pytest.mark.parametrize("more", ["", "ignore_startup_parameters = options"])
def test_each_transaction_has_the_settings_of_its_store(bouncing: Bouncing, more: str) -> None:
    url = bouncing(more)
    with Store.open(url) as one, Store.open(f"{url}?durability=normal", timeout=2.0) as two:
        for _ in range(3):
            assert settings_of(one) == ["27s", "5s", "read committed", "on"]
            assert settings_of(two) == ["1800ms", "1500ms", "read committed", "off"]


def test_more_connections_than_sessions_learn_everything_once(bouncing: Bouncing) -> None:
    with Store.open(bouncing("")) as store:
        shops = [Shop(store) for _ in range(4)]

        def work(shop: Shop) -> None:
            for number in range(8):
                shop.click(f"user-{number % 3}")

        with ThreadPoolExecutor(len(shops)) as pool:
            list(pool.map(work, shops))
        check = shops[0].check()
        assert (check.wrong, check.wrong_sums) == ((), 0)
        with store.reading() as reader:
            assert reader.counts() == {"users": 3, "slates": 32, "answered": 32, "events": 32}


def test_a_session_that_ends_with_its_server_is_replaced(
    bouncing: Bouncing, postgres_url: str
) -> None:
    url = bouncing("server_login_retry = 1")
    with Store.open(url) as store, Store.open(postgres_url) as direct:
        add_users(store, "ann")
        with direct.batch() as batch:
            batch._transaction.rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        until(lambda: can_add(store, f"user-{time.monotonic()}"))


def can_add(store: Store, user: str) -> bool:
    try:
        add_users(store, user)
    except StoreError:
        return False
    return True


def test_the_budget_behind_a_pooler_is_the_poolers(
    bouncing: Bouncing, caplog: pytest.LogCaptureFixture
) -> None:
    with Store.open(f"{bouncing('')}?connections=8") as store:
        budget = store.connection_budget()
        shop = Shop(store)
        replica = Replica(store, shared_configuration(shop.experiment, shop.rules))
        with caplog.at_level("INFO"), replica:
            replica.log_connections(2, 3)
    assert budget == (8, None)
    assert "3 engines x 2 processes x 8 connections = 48: the pooler must admit" in caplog.text
