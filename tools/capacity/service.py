"""A service on a PostgreSQL of its own, and what a load cost it."""

import os
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

import psycopg

from tools.attack.replicas import Database
from tools.loadtest.page import fresh_store
from tools.loadtest.run import Client, Phase, load, run_async
from tools.loadtest.server import cpu_seconds, own_service, processes_by_role

#: Share of the CPU time that other programs take at most: the service always gets a part.
MOST_OTHERS: Final = 0.95


@dataclass
class Spent:
    """What requests cost, all turns together."""

    phase: Phase = field(default_factory=Phase)
    #: CPU seconds by role
    cpu: dict[str, float] = field(default_factory=dict)
    batches: float = 0.0
    wal_bytes: float = 0.0
    #: CPU seconds of all programs of this machine
    machine: float = 0.0

    @property
    def batch(self) -> float:
        """Requests per transaction, on average."""
        return self.phase.requests / self.batches

    @property
    def others(self) -> float:
        """The share of this machine's CPU time that other programs took."""
        available = self.phase.seconds * (os.cpu_count() or 1)
        return max(0.0, self.machine - sum(self.cpu.values())) / available

    @property
    def cores(self) -> float:
        """The cores that other programs left."""
        return (os.cpu_count() or 1) * (1.0 - min(self.others, MOST_OTHERS))

    @property
    def client_cpu(self) -> float:
        """CPU seconds of a client per request."""
        return self.cpu["clients"] / self.phase.requests

    def add(self, more: "Spent") -> None:
        """Add another turn."""
        self.phase.seconds += more.phase.seconds
        self.phase.failures += more.phase.failures
        for kind, times in more.phase.times.items():
            self.phase.times.setdefault(kind, []).extend(times)
        for role, seconds in more.cpu.items():
            self.cpu[role] = self.cpu.get(role, 0.0) + seconds
        self.batches += more.batches
        self.wal_bytes += more.wal_bytes
        self.machine += more.machine


@dataclass(frozen=True)
class Service:
    """A running service and its database."""

    address: tuple[str, int]
    pid: int
    server: Database
    store: str

    def ask(self, spent: Spent, work: Callable[[Phase], Coroutine[Any, Any, None]]) -> None:
        """Run a load, and add what it cost to `spent`."""
        before = self._read()
        run_async(work(spent.phase))
        after = self._read()
        more = {name: after[name] - before[name] for name in after}
        batches, wal, machine = (more.pop(name) for name in ("batches", "wal", "machine"))
        spent.add(Spent(Phase(), more, batches, wal, machine))

    def closed(self, spent: Spent, client: Client, clients: int, seconds: float) -> None:
        """Let so many clients ask one request after the other."""
        self.ask(spent, lambda phase: load(self.address, client, clients, seconds, phase))

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query of the database."""
        with psycopg.connect(self.store, autocommit=True) as connection:
            found = connection.execute(statement.encode())
            return [] if found.description is None else found.fetchall()

    def compact(self) -> None:
        """Remove the space of dead rows, of which a short load leaves more than a long one."""
        self.query("VACUUM FULL")

    def _read(self) -> dict[str, float]:
        roles = processes_by_role(self.pid)
        roles["PostgreSQL"] = self.server.processes()
        found = {role: cpu_seconds(pids) for role, pids in roles.items()}
        found["batches"] = self._batches()
        found["wal"] = float(self.query("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0][0])
        found["machine"] = machine_seconds()
        return found

    def _batches(self) -> float:
        connection = HTTPConnection(*self.address, timeout=10)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        name = "variegate_batch_operations_count"
        return next(float(line.split()[-1]) for line in lines if line.startswith(name))


@contextmanager
def starting(workers: int) -> Iterator[Callable[[str], AbstractContextManager[Service]]]:
    """Give a function that starts a service with a new store of a name, as a context."""
    with tempfile.TemporaryDirectory(prefix="variegate-postgres-") as folder:
        server = Database(Path(folder) / "data")

        @contextmanager
        def started(name: str) -> Iterator[Service]:
            with (
                fresh_store(server, name) as store,
                own_service(store, workers) as (host, port, pid),
            ):
                assert store is not None  # noqa: S101 - there is a server
                yield Service((host, port), pid, server, store)

        try:
            yield started
        finally:
            server.close()


def machine_seconds() -> float:
    """Return the CPU seconds that all programs of this machine have spent since it started."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
