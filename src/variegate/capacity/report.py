"""A capacity plan in words: its table, what to change and when, and what it assumes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from variegate.capacity.costs import Costs
from variegate.capacity.plan import CONNECTIONS, DEAD_ROWS, RANDOM_PAGES, Plan

#: From this many primaries on, a store that shards by itself costs less work than PostgreSQL.
MOST_PRIMARIES: Final = 16
#: Seconds of a list from which its items are worth narrowing down before.
LONG_SCORING: Final = 0.005

_COUNTS: Final[Sequence[tuple[str, Callable[[Plan], float]]]] = (
    ("lists per second, busiest hour", lambda one: one.load.lists),
    ("requests per second", lambda one: one.load.requests),
    ("transactions per second", lambda one: one.commits),
    ("rows written per second", lambda one: one.rows),
    ("random I/O per second", lambda one: one.iops),
    ("worker processes", lambda one: one.workers),
    ("replicas", lambda one: one.replicas),
    ("cores busy in the service", lambda one: one.service_cores),
    ("cores busy in PostgreSQL", lambda one: one.database_cores),
    ("connections", lambda one: one.connections),
    ("PostgreSQL primaries", lambda one: one.primaries),
)
_SIZES: Final[Sequence[tuple[str, Callable[[Plan], float]]]] = (
    ("write-ahead log per second", lambda one: one.wal_bytes),
    ("memory per worker", lambda one: one.worker_bytes),
    ("storage per user", lambda one: one.bytes_per_user),
    ("storage of users", lambda one: one.user_bytes),
    ("storage of lists and feedback", lambda one: one.history_bytes),
)
_TIMES: Final[Sequence[tuple[str, Callable[[Plan], float]]]] = (
    ("p50", lambda one: one.latency.p50),
    ("p99", lambda one: one.latency.p99),
)


def rows_of(plans: Sequence[Plan]) -> list[list[str]]:
    """Return a table of plans, with a column for each and a first row of their users."""
    return [
        ["", *(as_count(one.load.users) for one in plans)],
        *([name, *(as_count(of(one)) for one in plans)] for name, of in _COUNTS),
        *([name, *(as_bytes(of(one)) for one in plans)] for name, of in _SIZES),
        *([name, *(f"{1e3 * of(one):.0f} ms" for one in plans)] for name, of in _TIMES),
        ["next bottleneck", *(one.bottleneck for one in plans)],
        ["at users per primary", *(as_count(one.users_per_primary) for one in plans)],
    ]


def advice(plan: Plan) -> Iterator[str]:
    """Yield what to change, and when, first things first."""
    limits, primaries = plan.limits, plan.primaries
    yield (
        f"Next bottleneck: {plan.bottleneck}, at {as_count(plan.users_per_primary)} users per "
        "primary."
    )
    if primaries > MOST_PRIMARIES:
        yield (
            f"Another store: {primaries} primaries are more than {MOST_PRIMARIES}; use one that "
            "divides users among machines by itself."
        )
    elif primaries > 1:
        yield f"Shard: divide users by a hash among {primaries} primaries."
    if plan.history_bytes > limits.table_bytes * primaries:
        per_day = plan.history_bytes / plan.load.keep_days
        yield (
            f"Large tables: lists and feedback reach {as_bytes(limits.table_bytes)} per primary "
            f"after {limits.table_bytes * primaries / per_day:,.1f} days; keep them for fewer with "
            "`variegate prune`, or use more primaries."
        )
    if plan.user_bytes > limits.table_bytes * primaries:
        yield (
            f"Large tables: users take more than {as_bytes(limits.table_bytes)} per primary; use "
            "more primaries."
        )
    if plan.connections > limits.connections * primaries:
        yield (
            f"PgBouncer in transaction mode: {plan.connections:,} connections are more than "
            f"{limits.connections:,.0f} per primary."
        )
    if plan.scoring_seconds > LONG_SCORING:
        yield (
            f"Candidates: scoring {as_count(plan.load.catalogue)} items takes "
            f"{1000 * plan.scoring_seconds:.0f} ms of each list; send the candidates of your "
            "retrieval with the request, or use a shortlist."
        )


def assumptions(plan: Plan, costs: Costs) -> Iterator[str]:
    """Yield what a plan assumes."""
    load, limits = plan.load, plan.limits
    yield (
        f"costs per request as measured ({costs.machine}), with as many reports of feedback as "
        "lists, and as many items per list, features and distances as the bundled films have"
    )
    yield (
        "requests find warm caches and cores that are awake, as in the measurement, so p50 and p99 "
        "are what a worker reaches at best"
    )
    yield (
        f"{load.lists_per_day:g} lists per user and day, {load.feedback:g} reports of feedback per "
        f"list, and a busiest hour of {load.peak:g} times the mean; users are active independently "
        "and equally often, so requests arrive as a Poisson process"
    )
    yield (
        f"a core for each worker, loaded to {limits.worker_load:.0%} of its saturation; "
        f"{limits.workers} workers per replica, {CONNECTIONS} connections per worker, as with "
        f"`?connections={CONNECTIONS}`"
    )
    yield (
        f"a primary has {limits.database_cores:g} cores, of which {limits.worker_load:.0%} are "
        f"used, writes {as_bytes(limits.wal_bytes)} of log per second, does {limits.iops:,.0f} "
        f"random accesses per second and stores {as_bytes(limits.storage)}"
    )
    yield (
        f"a request changes {RANDOM_PAGES} pages at random places, and reads them first as far as "
        f"the data exceed {as_bytes(limits.memory)} of memory; each transaction flushes the log "
        "once"
    )
    yield (
        f"lists and feedback are deleted after {load.keep_days:g} days; with dead rows tables "
        f"are {DEAD_ROWS:g} times as large; a user's state stays as large as in the measurement; "
        "replication and backups are not counted"
    )


def as_count(number: float) -> str:
    """Return a number with three digits."""
    for size, unit in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:,.3g} {unit}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def as_bytes(number: float) -> str:
    """Return a number of bytes in a unit that suits it."""
    for size, unit in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f} bytes"
