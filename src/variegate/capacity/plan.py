"""From costs, users and limits to cores, connections, bytes, writes and the next bottleneck."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType
from typing import Final

from variegate.arrays import check_fraction, check_not_negative, check_positive
from variegate.capacity.costs import Costs
from variegate.capacity.queueing import Latency, latency, saturation
from variegate.errors import InputError

#: Seconds of a day.
DAY: Final = 86_400.0
#: Pages that a request changes at random places: the user, their sums, an index by user.
RANDOM_PAGES: Final = 3
#: Rows of a table with the dead ones: autovacuum removes them when they are a fifth.
DEAD_ROWS: Final = 1.2
#: A list adds a list and changes its user; feedback adds an event and changes list, user and sums.
ROWS_PER_REQUEST: Final = 3
#: Connections that a worker may open, with `?connections=8` in the store's address.
CONNECTIONS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Load:
    """What the service has to carry."""

    users: float
    #: Lists of a user per day, on average
    lists_per_day: float = 3.0
    #: Reports of feedback per list
    feedback: float = 1.0
    #: The busiest hour, as a multiple of the mean
    peak: float = 3.0
    #: Items that a list is chosen from
    catalogue: float = 1500.0
    #: Days for which lists and feedback are stored
    keep_days: float = 90.0

    def __post_init__(self) -> None:
        check_positive(
            users=self.users,
            lists_per_day=self.lists_per_day,
            catalogue=self.catalogue,
            keep_days=self.keep_days,
        )
        check_not_negative(feedback=self.feedback)
        if not self.peak >= 1:
            raise InputError(f"`peak` must be at least 1, got {self.peak!r}")

    @property
    def lists(self) -> float:
        """Lists per second in the busiest hour."""
        return self.users * self.lists_per_day * self.peak / DAY

    @property
    def requests(self) -> float:
        """Lists and feedback per second in the busiest hour."""
        return self.lists * (1 + self.feedback)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one PostgreSQL primary and one replica of the service are taken to bear."""

    #: Share of its saturation at which a worker is run: below it, waits stay short
    worker_load: float = 0.5
    #: Worker processes of a replica, each with a core
    workers: int = 8
    #: Cores of a primary, of which `worker_load` is used
    database_cores: float = 32.0
    connections: float = 500.0
    wal_bytes: float = 200e6
    iops: float = 20_000.0
    memory: float = 256e9
    storage: float = 4e12
    #: Above this, a table with its indexes takes long to vacuum, to back up and to restore
    table_bytes: float = 100e9

    def __post_init__(self) -> None:
        check_fraction(worker_load=self.worker_load)
        check_positive(**vars(self))


@dataclass(frozen=True)
class Plan:
    """What a load needs; rates are of the busiest hour."""

    load: Load
    limits: Limits
    #: Response times of a worker at its share of the load
    latency: Latency
    #: Worker processes, the replicas that run them, and the cores they keep busy
    workers: int
    replicas: int
    service_cores: float
    #: Seconds of CPU that a list takes to score the catalogue's items beyond the measured ones
    scoring_seconds: float
    #: Bytes of memory of one worker
    worker_bytes: float
    database_cores: float
    connections: int
    #: Transactions, write-ahead log and random accesses per second
    commits: float
    wal_bytes: float
    iops: float
    #: Rows that are inserted or changed per second
    rows: float
    #: Bytes in the database: users, and lists with feedback kept for `keep_days`
    bytes_per_user: float
    user_bytes: float
    history_bytes: float

    @property
    def storage(self) -> float:
        """Bytes in the database."""
        return self.user_bytes + self.history_bytes

    @property
    def shares(self) -> Mapping[str, float]:
        """Of each limit of one primary, the share that the load needs."""
        limits = self.limits
        return MappingProxyType(
            {
                "database cores": self.database_cores
                / (limits.database_cores * limits.worker_load),
                "write-ahead log": self.wal_bytes / limits.wal_bytes,
                "random I/O": self.iops / limits.iops,
                "storage": self.storage / limits.storage,
            }
        )

    @property
    def bottleneck(self) -> str:
        """The limit of a primary that is reached first."""
        return max(self.shares, key=lambda name: self.shares[name])

    @property
    def primaries(self) -> int:
        """PostgreSQL primaries, among which users are divided."""
        return max(1, ceil(max(self.shares.values())))

    @property
    def users_per_primary(self) -> float:
        """Users at which one primary reaches its bottleneck."""
        return self.load.users / max(self.shares.values())


def plan(costs: Costs, load: Load, limits: Limits | None = None) -> Plan:
    """Return what a load needs at these costs."""
    limits = limits or Limits()
    scoring = costs.item_cpu * max(0.0, load.catalogue - costs.catalogue)
    # Half of the measured requests are lists; so are these, as 1 in 1 + feedback.
    extra = scoring / (1 + load.feedback)
    loaded = _with_scoring(costs, extra)
    workers = max(1, ceil(load.requests / (limits.worker_load * saturation(loaded))))
    seen = latency(loaded, load.requests / workers)
    commits = load.requests / seen.batch
    sizes = _sizes(costs, load)
    # What does not fit into memory is read again before it is changed.
    missing = max(0.0, 1 - limits.memory / sum(sizes))
    pages = RANDOM_PAGES * load.requests * (1 + missing)
    return Plan(
        load=load,
        limits=limits,
        latency=seen,
        workers=workers,
        replicas=ceil(workers / limits.workers),
        service_cores=commits * costs.batch_cpu + load.requests * (costs.request_cpu + extra),
        scoring_seconds=scoring,
        worker_bytes=costs.worker_bytes
        + costs.item_bytes * max(0.0, load.catalogue - costs.catalogue),
        database_cores=commits * costs.batch_database_cpu
        + load.requests * costs.request_database_cpu,
        connections=CONNECTIONS * workers,
        commits=commits,
        wal_bytes=costs.wal_bytes * load.requests,
        iops=commits + pages,
        rows=ROWS_PER_REQUEST * load.requests,
        bytes_per_user=sum(sizes) / load.users,
        user_bytes=sizes[0],
        history_bytes=sizes[1],
    )


def _with_scoring(costs: Costs, extra: float) -> Costs:
    """Return the costs with more CPU for each request, which its worker spends."""
    return replace(
        costs,
        lone_seconds=tuple(seconds + extra for seconds in costs.lone_seconds),
        request_seconds=costs.request_seconds + extra,
    )


def _sizes(costs: Costs, load: Load) -> tuple[float, float]:
    """Return the bytes of users, and of lists with their feedback."""
    lists = load.users * load.lists_per_day * load.keep_days
    per_list = costs.list_bytes + load.feedback * costs.feedback_bytes
    return DEAD_ROWS * load.users * costs.user_bytes, DEAD_ROWS * lists * per_list
