"""Measure the costs that the capacity plan starts from."""

import os
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

import numpy as np

from tools.capacity.service import Service, Spent
from tools.loadtest.run import Phase, mixed_client
from tools.loadtest.server import resident_bytes
from variegate.arrays import FloatArray
from variegate.capacity import Costs
from variegate.data.films import film_catalogue
from variegate.engine.queue import GATHER_SECONDS, MAX_BATCH
from variegate.model.catalogue import Catalogue
from variegate.policies import parse_policy

#: Clients of the loaded turns, for two workers: fewer than at saturation, which is predicted.
CLIENTS: Final = 16
#: Items of the catalogues that the cost of an item is measured with.
SMALL, LARGE = 10_000, 100_000
#: Quantiles of the response time of a lone request.
QUANTILES: Final = (np.arange(200) + 0.5) / 200


@dataclass
class Calibration:
    """Measures the costs of a service, in turns of one client and of several."""

    service: Service
    users: int
    workers: int
    lone: Spent = field(default_factory=Spent)
    many: Spent = field(default_factory=Spent)

    def turn(self, number: int, seconds: float) -> None:
        """Load the service for so long with one client, and again with several."""
        for spent, clients in ((self.lone, 1), (self.many, CLIENTS)):
            self.service.closed(spent, mixed_client(self.users, number, None), clients, seconds)

    def described(self) -> str:
        """Return what was measured, in words."""
        p50, p99 = 1e3 * np.quantile(response_times(self.lone.phase), [0.5, 0.99])
        lone, many = self.lone.phase, self.many.phase
        return (
            f"{lone.requests:,} requests of one client (p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
            f"{self.lone.batch:.1f} per batch) and {many.requests:,} of {CLIENTS} clients "
            f"({many.rate:.0f}/s, {self.many.batch:.1f} per batch)"
        )

    def costs(self) -> Costs:
        """Return the costs, after the turns."""
        alone = response_times(self.lone.phase)
        # A thread gathers; an engine with a process of its own does not.
        gather = 0.0 if "engine" in self.many.cpu else GATHER_SECONDS
        # Under load every worker is busy: a batch takes as long as all of them work for one.
        seconds_of_batch = self.workers * self.many.phase.seconds / self.many.batches
        further = (seconds_of_batch - alone.mean() - gather) / (self.many.batch - 1)
        service_cpu, database_cpu = (
            per_batch(self.lone, self.many, "HTTP", "engine"),
            per_batch(self.lone, self.many, "PostgreSQL"),
        )
        item_cpu, item_bytes = _per_item()
        user_bytes, list_bytes, feedback_bytes = table_bytes(self.service)
        others = f"other programs took {self.many.others:.0%} of the CPU time"
        return Costs(
            machine=f"{os.cpu_count()} cores, {others}",
            catalogue=len(film_catalogue()),
            batch_cpu=service_cpu[0],
            request_cpu=service_cpu[1],
            batch_database_cpu=database_cpu[0],
            request_database_cpu=database_cpu[1],
            item_cpu=item_cpu,
            lone_seconds=tuple(round(float(q), 6) for q in np.quantile(alone, QUANTILES)),
            request_seconds=max(further, 0.0),
            gather_seconds=gather,
            max_batch=MAX_BATCH,
            user_bytes=user_bytes,
            list_bytes=list_bytes,
            feedback_bytes=feedback_bytes,
            wal_bytes=self.many.wal_bytes / self.many.phase.requests,
            worker_bytes=(resident_bytes(self.service.pid) or 0) / self.workers,
            item_bytes=item_bytes,
        )


def response_times(phase: Phase) -> FloatArray:
    """Return the response times of all requests, in seconds."""
    return np.concatenate([np.array(times) for times in phase.times.values()])


def per_batch(lone: Spent, many: Spent, *roles: str) -> tuple[float, float]:
    """Return the CPU seconds of a batch, and of each request in it, from two sizes of batches.

    Of processes with these roles; a service has no engine if its threads make the lists.
    """
    few, several = (
        sum(one.cpu.get(role, 0.0) for role in roles) / one.phase.requests for one in (lone, many)
    )
    fixed = max(0.0, (few - several) / (1 / lone.batch - 1 / many.batch))
    return fixed, max(0.0, several - fixed / many.batch)


def _per_item() -> tuple[float, float]:
    """Return the CPU seconds of a list, and the bytes of a worker, for each item more."""
    before = resident_bytes(os.getpid()) or 0
    policies = [parse_policy("lmdp")(_catalogue(items)) for items in (SMALL, LARGE)]
    for policy in policies:
        policy.update(policy.recommend(10), [1.0, 0.0] * 5)
    times: list[list[float]] = [[], []]
    for _ in range(15):
        for policy, found in zip(policies, times, strict=True):
            start = perf_counter()
            policy.recommend(10)
            found.append(perf_counter() - start)
    after = resident_bytes(os.getpid()) or 0
    slope = (min(times[1]) - min(times[0])) / (LARGE - SMALL)
    return max(slope, 0.0), max(0, after - before) / (LARGE + SMALL)


def _catalogue(items: int) -> Catalogue:
    """Return items with as many features as the bundled films have."""
    size = len(film_catalogue(films=100).feature_names)
    rows = np.random.default_rng(0).standard_normal((items, size))
    return Catalogue(range(items), rows / np.linalg.norm(rows, axis=1, keepdims=True), "cosine")


def table_bytes(service: Service) -> tuple[float, float, float]:
    """Return the bytes of a user, of a list and of a report of feedback, with their indexes."""
    service.compact()
    sizes = dict(
        service.query(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relname IN "
            "('users', 'user_sums', 'slates', 'events')"
        )
    )
    users, slates, events = (
        service.query(f"SELECT count(*) FROM {name}")[0][0]  # noqa: S608 - names of tables
        for name in ("users", "slates", "events")
    )
    per_event = sizes["events"] / max(events, 1)
    return (sizes["users"] + sizes["user_sums"]) / users, sizes["slates"] / slates, per_event
