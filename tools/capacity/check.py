"""Compare what the capacity plan predicts with a load test of this machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from tools.capacity.calibrate import Calibration, response_times
from tools.capacity.service import Service, Spent
from tools.loadtest.open_loop import open_load
from tools.loadtest.run import mixed_client
from variegate.capacity import Costs, saturation, shared_latency
from variegate.capacity.queueing import Latency

#: Clients of the load test at saturation, as `make load` has.
CLIENTS: Final = 64
#: How far a prediction may be from what is measured.
TOLERANCE: Final = 0.3


@dataclass(frozen=True)
class Compared:
    """A prediction beside what was measured, in one unit."""

    name: str
    predicted: float
    measured: float
    unit: str
    #: Whether the plan promises it
    is_promised: bool = True
    #: At which rate, if that matters
    where: str = ""

    @property
    def what(self) -> str:
        """What is compared, and where."""
        return f"{self.name} {self.where}".strip()

    @property
    def off(self) -> float:
        """By what share of the measurement the prediction is too high."""
        return self.predicted / self.measured - 1

    @property
    def holds(self) -> bool:
        """Whether the prediction is close enough."""
        return abs(self.off) <= TOLERANCE

    @property
    def row(self) -> str:
        """The row of a table."""
        verdict = ("within 30%" if self.holds else "not within 30%") if self.is_promised else ""
        return (
            f"| {self.what} | {self.predicted:,.4g} {self.unit} | {self.measured:,.4g} {self.unit} "
            f"| {self.off:+.0%} | {verdict} |"
        )


@dataclass(frozen=True)
class Check:
    """What was compared, and what the machine did meanwhile."""

    compared: Sequence[Compared]
    #: The share of CPU time that other programs took, at saturation and at half of it
    others: tuple[float, float]
    failures: Sequence[str]
    #: What the calibration and the load test were made of, in words
    calibrated: str = ""
    tested: str = ""


@dataclass(frozen=True)
class Verdict:
    """One promised prediction over all runs."""

    #: Without the rates of a run
    what: str
    offs: Sequence[float]

    @property
    def holds(self) -> bool:
        """Whether the middle run is close enough: one run can meet a busy moment."""
        return abs(median(self.offs)) <= TOLERANCE

    @property
    def row(self) -> str:
        """The row of a table."""
        close = sum(abs(off) <= TOLERANCE for off in self.offs)
        verdict = "holds" if self.holds else "**does not hold**"
        return (
            f"| {self.what} | {median(self.offs):+.0%} | {close} of {len(self.offs)} | {verdict} |"
        )


def verdicts(checks: Sequence[Check]) -> Iterator[Verdict]:
    """Yield a verdict for each promise; all checks compare the same things."""
    for same in zip(*(check.compared for check in checks), strict=True):
        if same[0].is_promised:
            yield Verdict(same[0].name, [one.off for one in same])


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

    def compare(self, costs: Costs, calibration: Calibration) -> Check:
        """Compare what was measured with what the costs predict, after the turns."""
        full, half = self._full, self._half
        tested = (
            f"{full.phase.requests:,} requests of {CLIENTS} clients and "
            f"{half.phase.requests:,} that arrived at half of their rate; predicted with "
            f"{half.cores:.2f} cores and {1e3 * half.client_cpu:.2f} ms of clients' CPU per request"
        )
        return Check(
            list(self._compared(costs)),
            (full.others, half.others),
            full.phase.failures + half.phase.failures,
            calibration.described(),
            tested,
        )

    def _compared(self, costs: Costs) -> Iterator[Compared]:
        full, half, clients = self._full, self._half, CLIENTS // self._workers
        rate = self._workers * saturation(costs, clients=clients)
        yield Compared(
            f"lists and feedback per second, {CLIENTS} clients", rate, full.phase.rate, "/s"
        )
        batch = min(costs.max_batch, clients)
        yield Compared(f"requests per batch, {CLIENTS} clients", batch, full.batch, "", False)
        seen = shared_latency(
            costs,
            half.phase.rate,
            workers=self._workers,
            # Conditions of the test, which no plan could know.
            cores=half.cores,
            client_cpu=half.client_cpu,
        )
        yield from _latencies(seen, half)
        grown = _size(self._service) - self._size
        yield Compared(
            "bytes in the database, without dead rows",
            _predicted_bytes(self._service, costs),
            grown / 1e6,
            "MB",
        )


def _latencies(predicted: Latency, half: Spent) -> list[Compared]:
    p50, p99 = np.quantile(response_times(half.phase), [0.5, 0.99]) * 1e3
    where = f"at {half.phase.rate:.0f}/s"
    return [
        Compared(
            "p50 at half of the saturation", predicted.p50 * 1e3, float(p50), "ms", False, where
        ),
        Compared(
            "p99 at half of the saturation", predicted.p99 * 1e3, float(p99), "ms", True, where
        ),
        Compared(
            "requests per batch at half of the saturation",
            predicted.batch,
            half.batch,
            "",
            False,
            where,
        ),
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
