"""Prometheus metrics, as /metrics returns them."""

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

#: The folder in which several workers add up their metrics; `variegate.service.run` creates it.
MULTIPROCESS_DIR: Final = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

#: Values of the label `kind` of `variegate_store_errors`.
ERROR_KINDS: Final = ("unavailable", "timeout", "busy", "outcome_unknown")
#: Values of the label `reason` of `variegate_engine_restarts`.
RESTART_REASONS: Final = ("hung", "ended")
#: Requests among which `Metrics.slowest` searches.
_RECENT: Final = 1000

_REQUEST_SECONDS: Final = (
    0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
)  # fmt: skip
_ENGINE_SECONDS: Final = (
    0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1,
)  # fmt: skip


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # one more series for each
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "variegate_requests",
            "Requests, by route, method and status.",
            ("route", "method", "status"),
            registry=registry,
        )
        self._request_seconds = Histogram(
            "variegate_request_seconds",
            "Seconds from the headers of a request to the end of its response, by route.",
            ("route",),
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        refusals = "Refused requests: no_key, bad_key, role, origin, forwarded, site, rate, busy."
        self._refused = self._labelled("refused", refusals, "reason")
        #: What the engine reports, by the names that it has there; see `Executor`
        self._observers = self._engine_observers()
        restarts = "Engine processes that were replaced, by reason."
        self._restarts = self._labelled("engine_restarts", restarts, "reason", RESTART_REASONS)
        self._results = self._policy_results()
        # Finding a child by its labels takes a lock and a tuple of strings each time.
        self._counts: dict[tuple[str, str, int], Counter] = {}
        self._times: dict[str, Histogram] = {}
        self._recent: deque[tuple[float, str, str, int, float]] = deque(maxlen=_RECENT)
        if not is_multiprocess():
            ProcessCollector(registry=registry)

    def watch_queue(self, length: Callable[[], int]) -> None:
        """Report the number of waiting operations with every scrape, if there is one process.

        Several processes have no place to add such numbers up.
        """
        if not is_multiprocess():
            about = "Operations that were requested and have no result yet."
            gauge = Gauge("variegate_waiting_operations", about, registry=self.registry)
            gauge.set_function(length)

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request and its duration."""
        labels = (route, method, status)
        count = self._counts.get(labels)
        if count is None:
            count = self._counts[labels] = self._requests.labels(route, method, str(status))
            self._times.setdefault(route, self._request_seconds.labels(route))
        count.inc()
        self._times[route].observe(seconds)
        self._recent.append((seconds, route, method, status, time.time()))

    def count_refusal(self, reason: str) -> None:
        """Count a refused request."""
        self._refused.labels(reason).inc()

    def observe(self, name: str, value: float) -> None:
        """Add what the engine reports; a result of a policy is named "reward lmdp"."""
        observer = self._observers.get(name)
        if observer is None:
            result, *labels = name.split(" ", 2)
            observer = self._observers[name] = self._results[result].labels(*labels).inc
        observer(value)

    def count_engine_restart(self, reason: str) -> None:
        """Count an engine process that was replaced."""
        self._restarts.labels(reason).inc()

    def slowest(self, n: int = 20) -> list[dict[str, Any]]:
        """Return the slowest of this process's recent requests, slowest first."""
        return [
            {"route": f"{method} {route}", "ms": 1000 * seconds, "at": at, "status": status}
            for seconds, route, method, status, at in nlargest(n, list(self._recent))
        ]

    def text(self) -> bytes:
        """Return the metrics of all processes in the Prometheus text format."""
        if not is_multiprocess():
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def _policy_results(self) -> dict[str, Counter]:
        return {
            "answered": self._labelled("policy_answered", "Lists with feedback.", "policy"),
            "positions": self._labelled(
                "policy_positions", "Positions of lists that were learnt from.", "policy"
            ),
            "reward": self._labelled(
                "policy_reward", "Sum of the rewards of these positions.", "policy"
            ),
            "diversity": Counter(
                "variegate_policy_diversity",
                "Sum of the diversity of the lists with feedback: the mean distance of two items.",
                ("policy", "distance"),
                registry=self.registry,
            ),
        }

    def _engine_observers(self) -> dict[str, Callable[[float], None]]:
        batch_size = Histogram(
            "variegate_batch_operations",
            "Operations per transaction.",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=self.registry,
        )
        failures = "Errors of the store and the engine, also in reads, by kind."
        errors = self._labelled("store_errors", failures, "kind", ERROR_KINDS)
        return {
            "recommend": self._engine_seconds("recommend", "to compute one slate"),
            "learn": self._engine_seconds("learn", "to learn from one feedback"),
            "commit": self._engine_seconds("commit", "to commit a transaction"),
            "batch": batch_size.observe,
            "slates": self._counter("slates", "Slates recommended."),
            "feedback": self._counter("feedback", "Feedback accepted, without duplicates."),
            "interactions": self._counter(
                "interactions", "Interactions outside slates accepted, without duplicates."
            ),
            "new_users": self._counter("new_users", "New users."),
            **{f"store_error {kind}": errors.labels(kind).inc for kind in ERROR_KINDS},
        }

    def _counter(self, name: str, about: str) -> Callable[[float], None]:
        return Counter(f"variegate_{name}", about, registry=self.registry).inc

    def _labelled(self, name: str, about: str, label: str, values: Sequence[str] = ()) -> Counter:
        counter = Counter(f"variegate_{name}", about, (label,), registry=self.registry)
        for value in values:
            # A series that starts with its first error has no increase to alert on.
            counter.labels(value)
        return counter

    def _engine_seconds(self, name: str, about: str) -> Callable[[float], None]:
        return Histogram(
            f"variegate_{name}_seconds",
            f"Seconds {about}, without HTTP.",
            buckets=_ENGINE_SECONDS,
            registry=self.registry,
        ).observe


def is_multiprocess() -> bool:
    """Return whether several processes add up their metrics."""
    return MULTIPROCESS_DIR in os.environ
