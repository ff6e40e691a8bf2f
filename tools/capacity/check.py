"""Compare what the capacity plan predicts with a load test of this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tools.capacity.calibrate import TURNS, response_times
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


def checked(service: Service, costs: Costs, seconds: float, users: int, workers: int) -> Check:
    """Load a service with a new store at saturation and at half of it, and compare."""
    size = _size(service)
    full, half = Spent(), Spent()
    service.closed(Spent(), mixed_client(users, 30, None), CLIENTS, seconds / 4)  # fills caches
    # Not in turns: what follows needs the rate.
    service.closed(full, mixed_client(users, 31, None), CLIENTS, seconds)
    rate = full.phase.rate / 2
    for turn in range(TURNS):
        service.ask(
            half,
            lambda phase, seed=turn: open_load(  # type: ignore[misc] # mypy: a default
                service.address, rate, seconds / TURNS, users, phase, seed
            ),
        )
    grown = _size(service) - size
    compared = [
        Compared(
            f"lists and feedback per second, {CLIENTS} clients",
            workers * saturation(costs, clients=CLIENTS // workers),
            full.phase.rate,
            "/s",
        ),
        *_latencies(latency(costs, half.phase.rate / workers), half),
        Compared("bytes in the database", _predicted_bytes(service, costs), grown / 1e6, "MB"),
    ]
    return Check(compared, (full.others, half.others), full.phase.failures + half.phase.failures)


def _latencies(predicted: Latency, half: Spent) -> list[Compared]:
    p50, p99 = np.quantile(response_times(half.phase), [0.5, 0.99]) * 1e3
    where = f"at {half.phase.rate:.0f}/s, half of the saturation"
    return [
        Compared(f"p50 {where}", predicted.p50 * 1e3, float(p50), "ms", is_promised=False),
        Compared(f"p99 {where}", predicted.p99 * 1e3, float(p99), "ms"),
        Compared(f"requests per batch {where}", predicted.batch, half.batch, "", is_promised=False),
    ]


def _size(service: Service) -> float:
    return float(service.query("SELECT pg_database_size(current_database())")[0][0])


def _predicted_bytes(service: Service, costs: Costs) -> float:
    """Return the megabytes that the users, lists and reports in the store should take."""
    users, lists, reports = (
        service.query(f"SELECT count(*) FROM {name}")[0][0]  # noqa: S608 - names of tables
        for name in ("users", "slates", "events")
    )
    total = users * costs.user_bytes + lists * costs.list_bytes + reports * costs.feedback_bytes
    return float(total / 1e6)
