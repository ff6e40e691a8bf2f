"""Compare what the capacity plan predicts with a load test of this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tools.capacity.calibrate import response_times
from tools.capacity.service import Service, Spent
from tools.loadtest.open_loop import open_load
from tools.loadtest.run import mixed_client
from variegate.capacity import Costs, latency, saturation
from variegate.capacity.queueing import Latency

#: Clients of the load test at saturation, as `make load` has.
CLIENTS: Final = 64
#: How far a prediction may be from what is measured.
TOLERANCE: Final = 0.3


@dataclass(frozen=True)
class Compared:
    """A prediction beside what was measured, in one unit."""

    what: str
    predicted: float
    measured: float
    unit: str
    #: Whether the plan promises it
    is_promised: bool = True

    @property
    def holds(self) -> bool:
        """Whether the prediction is close enough."""
        return abs(self.predicted / self.measured - 1) <= TOLERANCE

    @property
    def row(self) -> str:
        """The row of a table."""
        verdict = ("within 30%" if self.holds else "**not within 30%**") if self.is_promised else ""
        return (
            f"| {self.what} | {self.predicted:,.4g} {self.unit} | {self.measured:,.4g} {self.unit} "
            f"| {self.predicted / self.measured - 1:+.0%} | {verdict} |"
        )


@dataclass(frozen=True)
class Check:
    """What was compared, and what the machine did meanwhile."""

    compared: Sequence[Compared]
    #: The share of CPU time that other programs took, at saturation and at half of it
    others: tuple[float, float]
    failures: Sequence[str]


class LoadTest:
    """Loads a service with a new store at saturation and at half of it, in turns."""

    def __init__(self, service: Service, users: int, workers: int) -> None:
        self._service, self._users, self._workers = service, users, workers
        self._full, self._half = Spent(), Spent()
        self._size = _size(service)

    def turn(self, number: int, seconds: float) -> None:
        """Load the service for so long at saturation, and then at half of that rate."""
        now, address, users = Spent(), self._service.address, self._users
        self._service.closed(now, mixed_client(users, number, None), CLIENTS, seconds)
        rate = now.phase.rate / 2
        self._full.add(now)
        self._service.ask(
            self._half, lambda phase: open_load(address, rate, seconds, users, phase, number)
        )

    def compare(self, costs: Costs) -> Check:
        """Compare what was measured with what costs predict, after the turns."""
        full, half, workers = self._full, self._half, self._workers
        grown = _size(self._service) - self._size
        compared = [
            Compared(
                f"lists and feedback per second, {CLIENTS} clients",
                workers * saturation(costs, clients=CLIENTS // workers),
                full.phase.rate,
                "/s",
            ),
            *_latencies(latency(costs, half.phase.rate / workers), half),
            Compared(
                "bytes in the database, without dead rows",
                _predicted_bytes(self._service, costs),
                grown / 1e6,
                "MB",
            ),
        ]
        failures = full.phase.failures + half.phase.failures
        return Check(compared, (full.others, half.others), failures)


def _latencies(predicted: Latency, half: Spent) -> list[Compared]:
    p50, p99 = np.quantile(response_times(half.phase), [0.5, 0.99]) * 1e3
    where = f"at {half.phase.rate:.0f}/s, half of the saturation"
    return [
        Compared(f"p50 {where}", predicted.p50 * 1e3, float(p50), "ms", is_promised=False),
        Compared(f"p99 {where}", predicted.p99 * 1e3, float(p99), "ms"),
        Compared(f"requests per batch {where}", predicted.batch, half.batch, "", is_promised=False),
    ]


def _size(service: Service) -> float:
    service.compact()
    return float(service.query("SELECT pg_database_size(current_database())")[0][0])


def _predicted_bytes(service: Service, costs: Costs) -> float:
    """Return the megabytes that the users, lists and reports in the store should take."""
    users, lists, reports = (
        service.query(f"SELECT count(*) FROM {name}")[0][0]  # noqa: S608 - names of tables
        for name in ("users", "slates", "events")
    )
    total = users * costs.user_bytes + lists * costs.list_bytes + reports * costs.feedback_bytes
    return float(total / 1e6)
