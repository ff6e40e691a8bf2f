"""What Prometheus reads at /metrics."""

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from heapq import nlargest
from typing import Any, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

#: Where the processes of one service put their numbers together; the launcher makes it.
SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

#: What `variegate_store_errors` is told apart by.
ERROR_KINDS: Final = ("unavailable", "timeout", "busy", "outcome_unknown")
#: Why an engine process was replaced.
RESTARTS: Final = ("hung", "ended")
#: Requests among which the slowest are told.
_RECENT: Final = 1000
_REQUEST_SECONDS: Final = (
    0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
)  # fmt: skip
_CORE_SECONDS: Final = (
    0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1,
)  # fmt: skip


class Metrics:
    """The numbers of one service.

    The core adds to `recommend_seconds`, `learn_seconds` and `batch_size` with `observe`, and
    to `slates`, `feedback` and `new_users` with `inc`.
    """

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # a series beside each, for OpenMetrics
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "variegate_requests",
            "Requests by route, method and status.",
            ("route", "method", "status"),
            registry=registry,
        )
        self._request_seconds = Histogram(
            "variegate_request_seconds",
            "Seconds from a request's head to the end of its answer, by route.",
            ("route",),
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        refusals = "Requests refused: no_key, bad_key, role, origin, forwarded, site, rate, busy."
        self._refused = self._by_label("refused", refusals, "reason")
        self.recommend_seconds = self._core_seconds("recommend", "working out one list, no HTTP.")
        self.learn_seconds = self._core_seconds("learn", "learning from one feedback, no HTTP.")
        self.batch_size = Histogram(
            "variegate_batch_operations",
            "Operations written in one transaction.",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=registry,
        )
        self.slates = self._count("slates", "Lists given.")
        self.feedback = self._count("feedback", "Feedback taken in, repetitions left out.")
        self.new_users = self._count("new_users", "Users met for the first time.")
        failures = "Failures of the store and the engine, reads included, by kind."
        self._store_errors = self._by_label("store_errors", failures, "kind", ERROR_KINDS)
        restarts = "Engine processes that were replaced."
        self._engine_restarts = self._by_label("engine_restarts", restarts, "reason", RESTARTS)
        # Finding a child by its labels takes a lock and a tuple of texts each time.
        self._counts: dict[tuple[str, str, int], Counter] = {}
        self._times: dict[str, Histogram] = {}
        self._recent: deque[tuple[float, str, str, int, float]] = deque(maxlen=_RECENT)
        if not is_shared():
            ProcessCollector(registry=registry)

    def watch_waiting(self, waiting: Callable[[], int]) -> None:
        """Tell how many operations wait whenever somebody asks.

        Of one process alone: several have no place to put such numbers together.
        """
        if not is_shared():
            about = "Operations that were asked for and are not answered yet."
            gauge = Gauge("variegate_waiting_operations", about, registry=self.registry)
            gauge.set_function(waiting)

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        labels = (route, method, status)
        count = self._counts.get(labels)
        if count is None:
            count = self._counts[labels] = self._requests.labels(route, method, str(status))
            self._times.setdefault(route, self._request_seconds.labels(route))
        count.inc()
        self._times[route].observe(seconds)
        self._recent.append((seconds, route, method, status, time.time()))

    def slowest(self, most: int = 20) -> list[dict[str, Any]]:
        """Return the slowest of the last requests to this process, the slowest first."""
        recent = nlargest(most, list(self._recent))
        return [
            {"route": f"{method} {route}", "ms": 1000 * seconds, "at": at, "status": status}
            for seconds, route, method, status, at in recent
        ]

    def store_error(self, kind: str) -> None:
        """Count a failure of the store, or a command that the engine did not answer."""
        self._store_errors.labels(kind).inc()

    def engine_restart(self, reason: str) -> None:
        """Count an engine process that was replaced."""
        self._engine_restarts.labels(reason).inc()

    def refused(self, reason: str) -> None:
        """Count a request that was not let in."""
        self._refused.labels(reason).inc()

    def text(self) -> bytes:
        """Return the numbers of all processes as Prometheus reads them."""
        if not is_shared():
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def _count(self, name: str, about: str) -> Counter:
        return Counter(f"variegate_{name}", about, registry=self.registry)

    def _by_label(self, name: str, about: str, label: str, values: Sequence[str] = ()) -> Counter:
        counter = Counter(f"variegate_{name}", about, (label,), registry=self.registry)
        for value in values:
            # A series that begins with its first error has no increase that an alert could see.
            counter.labels(value)
        return counter

    def _core_seconds(self, name: str, about: str) -> Histogram:
        return Histogram(
            f"variegate_{name}_seconds",
            f"Seconds spent on {about}",
            buckets=_CORE_SECONDS,
            registry=self.registry,
        )


def is_shared() -> bool:
    """Whether several processes put their numbers together."""
    return SHARED_FOLDER in os.environ
