"""A store with millions of slates: what the overview and a list cost, and removing most of them."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any, Final

import click

from tools.attack.replicas import START_SECONDS, Replica
from tools.findings import Finding, Part
from tools.volume.fill import OLD, PER_USER, POLICIES, executor_of, fill
from tools.volume.traffic import CLIENTS, Seen, ask, traffic
from variegate.engine import RecommendRequest
from variegate.engine.replay import TOLERANCE, state_difference
from variegate.engine.retention import Removed, remove_old
from variegate.model.catalogue import Catalogue
from variegate.store import Store

#: Times an empty route, for the operator's overview.
MAX_OVERVIEW: Final = 100.0
#: Times a list in an empty store, for a list.
MAX_LIST: Final = 1.2
#: Overviews, and empty requests around each.
OVERVIEWS, EMPTY = 15, 20
#: Users who get a list in each store, and how many of them at a turn.
USERS, AT_A_TURN = 1200, 20
#: Of traffic before the removal, by default.
SECONDS: Final = 20.0
#: Users whose states are compared with their rebuild.
REBUILT: Final = 500


@dataclass
class Measured:
    """What was measured in a store with so many slates; seconds, in the order of the turns."""

    slates: int
    filled: float = 0.0
    lists: dict[str, list[float]] = field(default_factory=dict)
    overviews: list[float] = field(default_factory=list)
    empty: list[float] = field(default_factory=list)
    before: Seen = field(default_factory=Seen)
    during: Seen = field(default_factory=Seen)
    removed: Removed = field(default_factory=Removed)
    removal: float = 0.0
    #: Largest difference of a state from its rebuild, and running sums that are wrong
    difference: float = 0.0
    wrong_sums: int = 0


def measure(
    url: str,
    empty_url: str,
    folder: Path,
    catalogue: Catalogue,
    slates: int,
    *,
    seconds: float = SECONDS,
) -> Measured:
    """Fill a store, measure it, and remove what is old of it under traffic.

    Parameters
    ----------
    seconds
        Of traffic before the removal.
    """
    users, begun = slates // PER_USER, time.perf_counter()
    fill(url, catalogue, users)
    found = Measured(slates, time.perf_counter() - begun)
    click.echo(f"filled with {slates:,} slates in {found.filled:.0f} s")
    catalogue.save(folder / "items.npz")
    with Store.open(url, timeout=60.0) as store, Store.open(empty_url) as empty:
        found.lists = time_lists(store, empty, catalogue, users)
        replica = Replica(0, folder)
        path = str(folder / "items.npz")
        replica.start({"store": url, "catalogue": path, "k": 5, "policies": POLICIES})
        try:
            _wait_for(replica)
            found.overviews, found.empty = time_overviews(replica.port)
            with traffic(replica.port, users) as found.before:
                Event().wait(seconds)
            _remove(found, store, catalogue, replica.port, users)
        finally:
            replica.stop()
    return found


def time_lists(
    large: Store, empty: Store, catalogue: Catalogue, users: int
) -> dict[str, list[float]]:
    """Return the seconds of a list for a user who is not cached, by store, turn by turn."""
    rng, seconds = random.Random(0), dict[str, list[float]]()  # noqa: S311 - nobody's secret
    names = [f"u{number}" for number in rng.sample(range(1, users + 1), min(USERS, users))]
    executor_of(empty, catalogue)([RecommendRequest(name) for name in names])
    both = {"large": executor_of(large, catalogue), "empty": executor_of(empty, catalogue)}
    for start in range(0, len(names), AT_A_TURN):
        turn = names[start : start + AT_A_TURN]
        for kind, executor in both.items():
            begun = time.perf_counter()
            for name in turn:
                executor([RecommendRequest(name)])
            seconds.setdefault(kind, []).append((time.perf_counter() - begun) / len(turn))
    return seconds


def time_overviews(port: int) -> tuple[list[float], list[float]]:
    """Return the seconds of overviews that must be computed, and of empty requests between."""
    overviews, empty = list[float](), list[float]()
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    _timed(connection, "/v1/overview")
    for number in range(OVERVIEWS):
        empty += [_timed(connection, "/v1/ping") for _ in range(EMPTY)]
        # One of other minutes is not in the cache.
        overviews.append(_timed(connection, f"/v1/overview?minutes={60 + number + 1}"))
    connection.close()
    return overviews, empty


def _timed(connection: HTTPConnection, path: str) -> float:
    begun = time.perf_counter()
    status, _ = ask(connection, "GET", path)
    seconds = time.perf_counter() - begun
    if status != 200:
        raise SystemExit(f"{path} was answered {status}")
    return seconds


def _remove(found: Measured, store: Store, catalogue: Catalogue, port: int, users: int) -> None:
    """Remove what is old while the service has traffic, and check what is left."""
    executor, begun = executor_of(store, catalogue), time.perf_counter()
    with traffic(port, users) as found.during:
        found.removed = remove_old(executor, 30, progress=_every(30.0))
    found.removal = time.perf_counter() - begun
    rng = random.Random(1)  # noqa: S311 - nobody's secret
    with store.reading() as reader:
        names = [f"u{number}" for number in rng.sample(range(1, users + 1), min(REBUILT, users))]
        rows, experiment = reader.users(names).values(), executor.experiment
        items = executor.live.as_of(reader).catalogue
        found.difference = max(state_difference(reader, row, items, experiment) for row in rows)
        found.wrong_sums = reader.count_wrong_sums(time.time())


def _wait_for(replica: Replica) -> None:
    end = time.monotonic() + START_SECONDS
    while not replica.is_ready:
        if time.monotonic() > end:
            raise SystemExit("the service does not become ready")
        time.sleep(0.1)


def _every(seconds: float) -> Callable[[Any], None]:
    """Return a function that prints progress at most so often."""
    last = [time.monotonic()]

    def progress(done: Removed) -> None:
        if time.monotonic() > last[0] + seconds:
            last[0] = time.monotonic()
            click.echo(f"... {done.slates:,} slates removed")

    return progress


def part_of(found: Measured) -> Part:
    """Return the findings, and how they were made."""
    return Part(
        f"`python -m tools.volume slates --slates {found.slates}`: a PostgreSQL with its default "
        "settings, but `max_wal_size` of 8 GB, "
        f"and {found.slates:,} slates with feedback, {PER_USER} of each user "
        f"(filled in {found.filled:.0f} s). The overview is computed again for each request, "
        f"{OVERVIEWS} times, with {EMPTY} requests of `/v1/ping` over the same connection before "
        f"each; lists are for users who are not in the cache of the process, {AT_A_TURN} "
        "in the large store and as many in an empty one in turns; both are compared by medians. "
        f"{CLIENTS} clients ask for lists and report on them, with pauses, while what is older "
        "than 30 days is removed as by `variegate prune`.",
        judged(found),
    )


def judged(found: Measured) -> list[Finding]:
    """Return what holds."""
    overview, empty = 1e3 * median(found.overviews), 1e3 * median(found.empty)
    large, small = (1e3 * median(found.lists[kind]) for kind in ("large", "empty"))
    ratios = [a / b for a, b in zip(found.lists["large"], found.lists["empty"], strict=True)]
    old, removed = found.slates // PER_USER * OLD, found.removed
    is_right = found.difference <= TOLERANCE and not found.wrong_sums
    answered = not found.during.bad and bool(found.during.seconds)
    return [
        Finding(
            f"The operator's overview takes under {MAX_OVERVIEW:g} times an empty route",
            f"{overview:.1f} ms against {empty:.2f} ms, {overview / empty:.0f} times",
            overview < MAX_OVERVIEW * empty,
        ),
        Finding(
            f"A list takes at most {MAX_LIST:g} times as long as in an empty store",
            f"{large:.2f} ms against {small:.2f} ms, {median(ratios):.2f} times",
            median(ratios) <= MAX_LIST,
        ),
        Finding(
            f"Retention removes {old:,} slates while lists are made, and none of these fails",
            f"{removed.slates:,} slates and {removed.events:,} events of {removed.users:,} users "
            f"in {found.removal:.0f} s, {removed.slates / found.removal:,.0f} slates per second; "
            f"meanwhile {found.during}; before it {found.before}",
            removed.slates >= old and answered,
        ),
        Finding(
            "After that, states equal their rebuild and running sums the history",
            f"largest difference of {REBUILT} users' states {found.difference:.1g}; "
            f"{found.wrong_sums} sums differ",
            is_right,
        ),
    ]
