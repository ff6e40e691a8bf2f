"""A store with millions of slates: what the overview and a list cost, and removing most of them."""

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any, Final

import click
import psycopg

from tools.attack.replicas import START_SECONDS, Replica
from variegate.engine import Experiment, Feedback, LiveCatalogue, RecommendRequest, Rules
from variegate.engine.executor import Executor
from variegate.engine.replay import state_difference
from variegate.engine.retention import remove_old
from variegate.model.catalogue import Catalogue
from variegate.store import Store

#: Of each user, and how many of them are old
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
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        _copy(connection, users)


def _copy(connection: psycopg.Connection[Any], users: int) -> None:
    replaced = {"id": "'u' || n", "user_id": "'u' || n"}
    of_slate = {"id": "id || '-' || n", "slate_id": "slate_id || '-' || n", "user_id": "'u' || n"}
    slates = connection.execute("SELECT id FROM slates ORDER BY id").fetchall()
    _copy_rows(connection, "users", replaced, "id = 'template'", users)
    _copy_rows(connection, "user_sums", replaced, "user_id = 'template'", users)
    for (slate,) in slates:  # in the order of time, so that a user's rows are far from each other
        _copy_rows(connection, "slates", of_slate, f"id = '{slate}'", users)
        _copy_rows(connection, "events", of_slate, f"slate_id = '{slate}'", users)
    for period, part, policy, text in connection.execute("SELECT * FROM sums").fetchall():
        sums = {name: number * (users + 1) for name, number in json.loads(text).items()}
        connection.execute(
            "UPDATE sums SET sums = %s WHERE period = %s AND part = %s AND policy = %s",
            (json.dumps(sums), period, part, policy),
        )
    connection.execute("VACUUM ANALYZE")


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


def compare_lists(large: Store, empty: Store, catalogue: Catalogue, users: int) -> None:
    """Print what a list for a user who is not cached costs in both stores."""
    rng, seconds = random.Random(0), dict[str, list[float]]()  # noqa: S311 - nobody's secret
    names = [f"u{number}" for number in rng.sample(range(1, users + 1), min(600, users))]
    executor_of(empty, catalogue)([RecommendRequest(name) for name in names])
    both = {"large": executor_of(large, catalogue), "empty": executor_of(empty, catalogue)}
    for start in range(0, len(names), 20):
        for kind, executor in both.items():
            begun = time.perf_counter()
            for name in names[start : start + 20]:
                executor([RecommendRequest(name)])
            seconds.setdefault(kind, []).append((time.perf_counter() - begun) / 20)
    one, other = (1000 * median(seconds[kind]) for kind in ("large", "empty"))
    click.echo(
        f"a list: {one:.2f} ms in the large store, {other:.2f} ms in an empty one, median; "
        f"{one / other:.2f} times"
    )


def compare_overview(port: int) -> None:
    """Print what an overview that must be computed takes, and an empty route."""
    overviews, empty = list[float](), list[float]()
    for _ in range(9):
        time.sleep(2.1)  # an overview is kept for 2 seconds
        for path, found in (("/healthz", empty), ("/v1/overview", overviews)):
            begun = time.perf_counter()
            _ask(port, "GET", path)
            found.append(time.perf_counter() - begun)
    click.echo(
        f"the overview: {1000 * min(overviews):.1f} ms, an empty route {1000 * min(empty):.1f} ms, "
        f"minimum of 9; {min(overviews) / min(empty):.0f} times"
    )


@contextmanager
def traffic(port: int, users: int, what: str) -> Iterator[None]:
    """Ask for lists and report on them all the time, and print how that went."""
    ended, seconds, bad = Event(), list[float](), list[int]()

    def work(seed: int) -> None:
        rng = random.Random(seed)  # noqa: S311 - nobody's secret
        while not ended.is_set():
            begun = time.perf_counter()
            status, answer = _ask(port, "POST", f"/v1/users/u{rng.randint(1, users)}/slates", {})
            seconds.append(time.perf_counter() - begun)
            if status == 201:
                path = f"/v1/slates/{answer['slate_id']}/feedback"
                status, _ = _ask(port, "POST", path, {"rewards": {answer["items"][0]["id"]: 1.0}})
            if status not in (200, 201):
                bad.append(status)

    threads = [Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        seconds.sort()
        click.echo(
            f"lists {what}: {len(seconds):,}, p50 {1000 * median(seconds):.0f} ms, "
            f"p99 {1000 * seconds[int(0.99 * len(seconds))]:.0f} ms, not answered: {len(bad)}"
        )


def remove(store: Store, catalogue: Catalogue, port: int, users: int) -> None:
    """Remove what is old while the service has traffic, and check what is left."""
    with traffic(port, users, "before"):
        time.sleep(20)
    begun = time.perf_counter()
    executor = executor_of(store, catalogue)
    with traffic(port, users, "while old slates are removed"):
        done = remove_old(executor, 30, progress=_every(lambda n: click.echo(f"... {n:,} removed")))
    seconds = time.perf_counter() - begun
    click.echo(
        f"removed {done.slates:,} slates and {done.events:,} events of {done.users:,} users in "
        f"{seconds:.0f} s, {done.slates / seconds:,.0f} slates per second"
    )
    rng = random.Random(1)  # noqa: S311 - nobody's secret
    with store.reading() as reader:
        names = [f"u{number}" for number in rng.sample(range(1, users + 1), min(500, users))]
        rows, experiment = reader.users(names).values(), executor.experiment
        catalogue = executor.live.as_of(reader).catalogue
        worst = max(state_difference(reader, row, catalogue, experiment) for row in rows)
        click.echo(
            f"largest difference of {len(names)} users' states from their rebuild: {worst:.1g}; "
            f"running sums that differ from the history: {reader.count_wrong_sums(time.time())}"
        )


def _wait_for(replica: Replica) -> None:
    end = time.monotonic() + START_SECONDS
    while not replica.is_ready:
        if time.monotonic() > end:
            raise SystemExit("the service does not become ready")
        time.sleep(0.1)


def _every(tell: Callable[[int], None]) -> Callable[[Any], None]:
    last = [time.monotonic()]

    def progress(done: Any) -> None:
        if time.monotonic() > last[0] + 30:
            last[0] = time.monotonic()
            tell(done.slates)

    return progress


def _ask(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")
    finally:
        connection.close()


def measure(url: str, empty_url: str, folder: Path, catalogue: Catalogue, slates: int) -> None:
    """Fill a store, and print what it costs."""
    users, begun = slates // PER_USER, time.perf_counter()
    fill(url, catalogue, users)
    click.echo(f"filled with {slates:,} slates in {time.perf_counter() - begun:.0f} s")
    catalogue.save(folder / "items.npz")
    with Store.open(url, timeout=60.0) as store, Store.open(empty_url) as empty:
        compare_lists(store, empty, catalogue, users)
        replica = Replica(0, folder)
        path = str(folder / "items.npz")
        replica.start({"store": url, "catalogue": path, "k": 5, "policies": POLICIES})
        try:
            _wait_for(replica)
            compare_overview(replica.port)
            remove(store, catalogue, replica.port, users)
        finally:
            replica.stop()
