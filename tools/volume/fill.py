"""Fill a store with a history: users like one that the service itself has served."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import psycopg

from variegate.engine import Experiment, Feedback, LiveCatalogue, RecommendRequest, Rules
from variegate.engine.executor import Executor
from variegate.model.catalogue import Catalogue
from variegate.store import Store

#: Slates of each user, and how many of them are old
PER_USER, OLD = 10, 8
POLICIES: Final = {"lmdp": "lmdp"}
DAY: Final = 86_400.0
TEMPLATE: Final = "template"


def executor_of(store: Store, catalogue: Catalogue, now: float | None = None) -> Executor:
    """Return an executor with nothing cached."""
    rules = Rules(k=5)
    clock = None if now is None else (lambda: now)
    live = LiveCatalogue.open(catalogue, store)
    return Executor(store, live, Experiment(POLICIES, {}, rules.seed), rules, clock=clock)


def fill(url: str, catalogue: Catalogue, users: int) -> None:
    """Give one user slates and feedback, and copy all that the store has of it for each other."""
    now = time.time()
    with Store.open(url) as store:
        for number in range(PER_USER):
            at = now - (100 - number if number < OLD else PER_USER - number) * DAY
            executor = executor_of(store, catalogue, at)
            (given,) = executor([RecommendRequest(TEMPLATE)])
            executor([Feedback(given["slate_id"], {given["items"][number % 5]["id"]: 1.0})])
    # A session for each kind of row, so that both cores are used.
    with ThreadPoolExecutor() as threads:
        work = [
            threads.submit(copy, url, users) for copy in (_copy_users, _copy_slates, _copy_events)
        ]
        for one in work:
            one.result()
    with _session(url) as connection:
        _multiply_sums(connection, users)
        connection.execute("VACUUM ANALYZE")
        # Nobody's history was written just now: the disk must not be busy with it while measuring.
        connection.execute("CHECKPOINT")


def _session(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url, autocommit=True, options="-c synchronous_commit=off")


def _copy_users(url: str, users: int) -> None:
    replaced = {"id": "'u' || n", "user_id": "'u' || n"}
    with _session(url) as connection:
        _copy_rows(connection, "users", replaced, "id = 'template'", users)
        _copy_rows(connection, "user_sums", replaced, "user_id = 'template'", users)


def _copy_slates(url: str, users: int) -> None:
    replaced = {"id": "id || '-' || n", "user_id": "'u' || n"}
    with _session(url) as connection:
        for slate in _slates(connection):
            _copy_rows(connection, "slates", replaced, f"id = '{slate}'", users)


def _copy_events(url: str, users: int) -> None:
    replaced = {"slate_id": "slate_id || '-' || n", "user_id": "'u' || n"}
    with _session(url) as connection:
        for slate in _slates(connection):
            _copy_rows(connection, "events", replaced, f"slate_id = '{slate}'", users)


def _slates(connection: psycopg.Connection[Any]) -> list[str]:
    """Return the slates of the template in the order of time.

    They are copied one after the other, so that a user's rows are far from each other.
    """
    found = connection.execute("SELECT id FROM slates WHERE user_id = 'template' ORDER BY id")
    return [slate for (slate,) in found.fetchall()]


def _copy_rows(
    connection: psycopg.Connection[Any],
    table: str,
    replaced: dict[str, str],
    where: str,
    users: int,
) -> None:
    found = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s", (table,)
    )
    columns = [name for (name,) in found.fetchall() if name != "seq"]
    values = ", ".join(replaced.get(name, name) for name in columns)
    statement = (
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} "  # noqa: S608 - names of ours
        f"FROM {table} CROSS JOIN generate_series(1, {users}) AS n WHERE {where}"
    )
    connection.execute(statement.encode())


def _multiply_sums(connection: psycopg.Connection[Any], users: int) -> None:
    for period, part, policy, text in connection.execute("SELECT * FROM sums").fetchall():
        sums = {name: number * (users + 1) for name, number in json.loads(text).items()}
        connection.execute(
            "UPDATE sums SET sums = %s WHERE period = %s AND part = %s AND policy = %s",
            (json.dumps(sums), period, part, policy),
        )
