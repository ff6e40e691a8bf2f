"""Response times of workers that share their cores with the database and with clients."""

from collections import deque
from heapq import heappop, heappush
from math import inf
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, check_not_negative, check_positive
from variegate.capacity.costs import Costs
from variegate.capacity.queueing import REQUESTS, Latency

#: What an event is about: a request that has been sent, a batch that begins its work, and one that
#: is done with it.
_SENT, _BEGIN, _DONE, _NOTHING = range(4)


def shared_latency(
    costs: Costs,
    rate: float,
    *,
    workers: int,
    cores: float,
    client_cpu: float = 0.0,
    requests: int = REQUESTS,
    seed: int = 0,
) -> Latency:
    """Return the response times if workers, database and clients share some cores.

    As `latency`, with processor sharing: a batch waits as long as a lone request does beside its
    CPU time, and needs the CPU time of the service and of the database for its requests. While
    more batches and clients compute than there are cores, all of them get equal shares.

    Parameters
    ----------
    rate
        Of all workers together.
    cores
        Those that other programs leave: 0.5 is half of one.
    client_cpu
        Seconds of CPU that a client on these cores takes for a request.
    """
    check_positive(rate=rate, workers=workers, cores=cores, requests=requests)
    check_not_negative(client_cpu=client_cpu)
    rng = np.random.default_rng(seed)
    arrivals = rng.exponential(1 / rate, requests).cumsum()
    lone = rng.choice(np.array(costs.lone_seconds), requests)
    queues = _Queues(costs, workers, cores, client_cpu, lone)
    ends = queues.run(arrivals.tolist(), rng.integers(workers, size=requests).tolist())
    p50, p99 = np.quantile(np.array(ends) - arrivals, [0.5, 0.99])
    busy = queues.busy / (workers * max(ends))
    return Latency(float(p50), float(p99), requests / queues.batches, busy)


class _Cores:
    """Computes jobs at equal speeds, at most one core for each."""

    def __init__(self, cores: float) -> None:
        self._cores = cores
        #: What a job has received that has been there since the beginning, until `_at`
        self._received = self._at = 0.0
        self._jobs: list[tuple[float, int, Any]] = []
        self._count = 0

    @property
    def _speed(self) -> float:
        return min(1.0, self._cores / max(len(self._jobs), 1))

    @property
    def next_end(self) -> float:
        """When the next job is done, if none is added before."""
        if not self._jobs:
            return inf
        return self._at + max(self._jobs[0][0] - self._received, 0.0) / self._speed

    def add(self, now: float, seconds: float, job: Any) -> None:
        """Begin a job of so many seconds."""
        self._advance(now)
        self._count += 1
        heappush(self._jobs, (self._received + seconds, self._count, job))

    def pop(self, now: float) -> Any:
        """End the job that is done first, and return it."""
        self._advance(now)
        return heappop(self._jobs)[2]

    def _advance(self, now: float) -> None:
        self._received += (now - self._at) * self._speed
        self._at = now


class _Queues:
    """A queue for each worker, and the cores that all share."""

    def __init__(
        self, costs: Costs, workers: int, cores: float, client_cpu: float, lone: FloatArray
    ) -> None:
        self._costs, self._client_cpu = costs, client_cpu
        self._cores: Final = _Cores(cores)
        self._waiting: list[deque[int]] = [deque() for _ in range(workers)]
        self._running: list[list[int]] = [[] for _ in range(workers)]
        self._started = [0.0] * workers
        #: Ends of waits, with the worker and what comes then
        self._waits: list[tuple[float, int, int]] = []
        alone = self._cpu_of(1) + client_cpu
        # What a lone request does not wait for is computed beside the answers.
        self._in_path = min(1.0, float(np.median(costs.lone_seconds)) / alone) if alone else 1.0
        self._other_seconds = np.maximum(lone - self._in_path * alone, 0.0).tolist()
        self.batches, self.busy = 0, 0.0

    def _cpu_of(self, n: int) -> float:
        one = self._costs
        return (
            one.batch_cpu
            + one.batch_database_cpu
            + n * (one.request_cpu + one.request_database_cpu)
        )

    def run(self, arrivals: list[float], worker_of: list[int]) -> list[float]:
        """Return when each request was answered."""
        ends, left, next_one = [0.0] * len(arrivals), len(arrivals), 0
        while left:
            arrival = arrivals[next_one] if next_one < len(arrivals) else inf
            wait = self._waits[0][0] if self._waits else inf
            computed = self._cores.next_end
            if arrival <= min(wait, computed):
                self._compute(arrival, self._client_cpu, (_SENT, worker_of[next_one], next_one))
                next_one += 1
            elif wait <= computed:
                now, worker, what = heappop(self._waits)
                self._after_wait(now, worker, what)
            else:
                what, worker, request = self._cores.pop(computed)
                if what == _SENT:
                    self._waiting[worker].append(request)
                    if not self._running[worker] and not self._started[worker]:
                        self._take(computed, worker)
                elif what == _DONE:
                    for one in self._running[worker]:
                        ends[one] = computed
                    left -= len(self._running[worker])
                    self._finish(computed, worker)
        return ends

    def _compute(self, now: float, seconds: float, job: tuple[int, int, int]) -> None:
        """Compute the part of a job that answers wait for, and the rest beside it."""
        self._cores.add(now, self._in_path * seconds, job)
        if self._in_path < 1.0:
            self._cores.add(now, (1.0 - self._in_path) * seconds, (_NOTHING, 0, 0))

    def _take(self, now: float, worker: int) -> None:
        """Take what waits; if that is more than one request, let others come first."""
        self._started[worker] = now
        gather = self._costs.gather_seconds if len(self._waiting[worker]) > 1 else 0.0
        heappush(self._waits, (now + gather, worker, _BEGIN))

    def _after_wait(self, now: float, worker: int, what: int) -> None:
        if what == _BEGIN:
            queue = self._waiting[worker]
            count = min(len(queue), self._costs.max_batch)
            self._running[worker] = [queue.popleft() for _ in range(count)]
            heappush(self._waits, (now + self._other_seconds[self.batches], worker, _DONE))
            self.batches += 1
        else:
            seconds = self._cpu_of(len(self._running[worker]))
            self._compute(now, seconds, (_DONE, worker, 0))

    def _finish(self, now: float, worker: int) -> None:
        self.busy += now - self._started[worker]
        self._running[worker], self._started[worker] = [], 0.0
        if self._waiting[worker]:
            self._take(now, worker)
