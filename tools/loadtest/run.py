"""A load test from start to end."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final, TypeVar
from urllib.parse import quote

import numpy as np
from pydantic_core import from_json

from tools.loadtest.connection import Connection, request_bytes
from tools.loadtest.server import resident_bytes
from variegate.errors import StoreError

# Clients that ask one after the other, for a time.

T = TypeVar("T")


#: Chance that a simulated user likes an item.
LIKED: Final = 0.3


@dataclass
class Phase:
    """What one kind of load came to: seconds of each request, by kind; answers that were wrong."""

    seconds: float = 0.0
    times: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """How many were answered."""
        return sum(map(len, self.times.values()))

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds if self.seconds else 0.0

    def add(self, kind: str, seconds: float) -> None:
        """Count a request."""
        self.times.setdefault(kind, []).append(seconds)


Client = Callable[[Connection, int, float, Phase], Awaitable[None]]


async def load(
    address: tuple[str, int], client: Client, clients: int, seconds: float, phase: Phase
) -> None:
    """Let so many clients ask for so long, and add what they saw to `phase`."""
    try:
        connections = [await Connection.to(*address) for _ in range(clients)]
    except OSError as error:
        raise StoreError(f"no service at {address[0]}:{address[1]}: {error.strerror}") from None
    start = perf_counter()
    await asyncio.gather(
        *(client(one, number, start + seconds, phase) for number, one in enumerate(connections))
    )
    phase.seconds += perf_counter() - start
    for one in connections:
        one.close()


def empty_client(key: str | None) -> Client:
    """Return a client that asks for nothing."""
    request = request_bytes("GET", "/v1/ping", key=key)

    async def ask(connection: Connection, _number: int, end: float, phase: Phase) -> None:
        while perf_counter() < end:
            await timed(connection, "empty", request, 200, phase)

    return ask


def mixed_client(users: int, seed: int, key: str | None) -> Client:
    """Return a client that asks for a list and says what was liked, for one user and another."""

    async def ask(connection: Connection, number: int, end: float, phase: Phase) -> None:
        rng = random.Random(f"{seed}:{number}")  # noqa: S311 - nobody's secret
        while perf_counter() < end:
            user = quote(f"load {rng.randrange(users)}")
            request = request_bytes("POST", f"/v1/users/{user}/slates", {}, key)
            body = await timed(connection, "list", request, 201, phase)
            if body is None:
                continue
            slate = from_json(body)
            liked = {item["id"]: 1.0 for item in slate["items"] if rng.random() < LIKED}
            path = f"/v1/slates/{slate['slate_id']}/feedback"
            report = request_bytes("POST", path, {"rewards": liked}, key)
            await timed(connection, "feedback", report, 200, phase)

    return ask


async def timed(
    connection: Connection, kind: str, request: bytes, wanted: int, phase: Phase
) -> bytes | None:
    """Send a request, and add its time to `phase`; return the body, or None if it failed."""
    start = perf_counter()
    try:
        status, body = await connection.ask(request)
    except OSError as error:
        raise StoreError(f"the service hung up under load: {error}") from None
    phase.add(kind, perf_counter() - start)
    if status == wanted:
        return body
    phase.failures.append(f"{kind}: {status} {body[:200].decode(errors='replace')}")
    return None


# What a load test found, held against what was promised.


#: Least share of the rate of a route that does nothing, with each store.
SQLITE_SHARE: Final = 0.5
POSTGRES_SHARE: Final = 0.3
MOST_SPREAD: Final = 10.0
#: Growth of memory over the second half of the load: more is a leak.
MOST_GROWTH: Final = 0.05


@dataclass(frozen=True)
class Found:
    """The load of empty requests and of mixed ones, and the memory as it went."""

    empty: Phase
    mixed: Phase
    #: Bytes after each turn of mixed requests
    memory: Sequence[int]

    @property
    def share(self) -> float:
        """The rate of mixed requests as a share of the empty ones'."""
        return self.mixed.rate / self.empty.rate if self.empty.rate else 0.0

    @property
    def spread(self) -> float:
        """How many times the median the slowest hundredth takes, of the worse kind."""
        kinds = [times for times in self.mixed.times.values() if times]
        ratios = [float(np.quantile(times, 0.99) / np.median(times)) for times in kinds]
        return max(ratios, default=0.0)

    @property
    def growth(self) -> float | None:
        """How much memory grew over the second half, as a share; None if it was not seen."""
        if len(self.memory) < 3:
            return None
        middle = self.memory[len(self.memory) // 2]
        return (self.memory[-1] - middle) / middle

    @property
    def failures(self) -> list[str]:
        """Answers that were not what they should be."""
        return self.empty.failures + self.mixed.failures


def lines(found: Found, least_share: float = SQLITE_SHARE) -> list[str]:
    """Return the report, a line each."""
    rows = [f"{'':<10} {'requests/s':>11} {'p50':>9} {'p99':>9} {'slowest':>9}"]
    kinds = [("empty", found.empty.times.get("empty", []), found.empty.rate)]
    for kind in ("list", "feedback"):
        times = found.mixed.times.get(kind, [])
        kinds.append((kind, times, len(times) / max(found.mixed.seconds, 1e-9)))
    rows += [_row(kind, times, rate) for kind, times, rate in kinds if times]
    rows.append("")
    rows += [f"{verdict:>8}  {what}" for what, verdict in _verdicts(found, least_share)]
    return rows


def _row(kind: str, times: Sequence[float], rate: float) -> str:
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1e3
    slowest = max(times) * 1e3
    return f"{kind:<10} {rate:>11,.0f} {p50:>6.2f} ms {p99:>6.2f} ms {slowest:>6.1f} ms"


def _verdicts(found: Found, least_share: float) -> list[tuple[str, str]]:
    growth, share, spread = found.growth, found.share, found.spread
    rows = [
        (
            f"lists and feedback at {share:.0%} of the empty route's rate (at least "
            f"{least_share:.0%})",
            _met(share >= least_share),
        ),
        (f"p99 is {spread:.1f} times p50 (under {MOST_SPREAD:g})", _met(spread < MOST_SPREAD)),
        (f"{len(found.failures)} requests failed (none)", _met(not found.failures)),
    ]
    if growth is not None:
        now = found.memory[-1] / 1e6
        what = f"memory {now:,.0f} MB, {growth:+.1%} over the second half (at most +5%)"
        rows.append((what, _met(growth <= MOST_GROWTH)))
    return rows


def _met(good: bool) -> str:
    return "met" if good else "not met"


#: Turns of each load: taking turns, both see the same machine.
TURNS: Final = 6


@dataclass(frozen=True)
class Plan:
    """How hard to try.

    Parameters
    ----------
    clients
        Connections that each ask one thing at a time.
    seconds
        Of each of the two loads, all turns together.
    users
        How many the lists are for.
    """

    clients: int = 32
    seconds: float = 12.0
    users: int = 2000
    seed: int = 0
    key: str | None = None


def tried(
    address: tuple[str, int],
    plan: Plan,
    *,
    pid: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    watch: Callable[[str], AbstractContextManager[None]] = lambda _kind: nullcontext(),
) -> Found:
    """Return what a service did under load; `pid` lets its memory be seen.

    `watch` is entered around each turn, with "empty" or "mixed".
    """
    return run_async(_tried(address, plan, pid, progress, watch))


async def _tried(
    address: tuple[str, int],
    plan: Plan,
    pid: int | None,
    progress: Callable[[int, int], None],
    watch: Callable[[str], AbstractContextManager[None]],
) -> Found:
    empty, mixed, memory = Phase(), Phase(), []
    nothing, something = empty_client(plan.key), mixed_client(plan.users, plan.seed, plan.key)
    turn = plan.seconds / TURNS
    # Not counted: the first requests fill caches.
    await load(address, nothing, plan.clients, turn / 4, Phase())
    await load(address, something, plan.clients, turn / 2, Phase())
    for number in range(TURNS):
        with watch("empty"):
            await load(address, nothing, plan.clients, turn, empty)
        with watch("mixed"):
            await load(address, something, plan.clients, turn, mixed)
        weighed = None if pid is None else resident_bytes(pid)
        if weighed is not None:
            memory.append(weighed)
        progress(number + 1, TURNS)
    return Found(empty, mixed, memory)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the fastest event loop there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)
