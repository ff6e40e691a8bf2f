"""Response times of a worker that takes all waiting requests as one batch, by arrival rate."""

from bisect import bisect_right
from typing import Final, NamedTuple

import numpy as np

from variegate.arrays import check_positive
from variegate.capacity.costs import Costs
from variegate.errors import InputError

#: Requests of a simulation: the 1% above the 99% quantile are a thousand.
REQUESTS: Final = 100_000


class Latency(NamedTuple):
    """What requests of a worker see at an arrival rate."""

    #: Response times in seconds
    p50: float
    p99: float
    #: Requests per batch, on average
    batch: float
    #: Share of the time in which the worker is busy
    busy: float


def batch_seconds(costs: Costs, n: int) -> float:
    """Return the mean time of a batch of n requests."""
    more = costs.gather_seconds + (n - 1) * costs.request_seconds if n > 1 else 0.0
    return float(np.mean(costs.lone_seconds)) + more


def saturation(costs: Costs, *, clients: int | None = None) -> float:
    """Return the largest rate of one worker, in requests per second.

    Parameters
    ----------
    clients
        How many wait for a worker, each for one answer at a time. Without it, as many as fill
        every batch.
    """
    n = min(costs.max_batch, clients or costs.max_batch)
    return n / batch_seconds(costs, n)


def latency(costs: Costs, rate: float, *, requests: int = REQUESTS, seed: int = 0) -> Latency:
    """Return the response times of a worker at which requests arrive as a Poisson process.

    This is the queue M/G/1 with batches (bulk service): when the worker is free it takes all
    requests that wait, at most `max_batch`, and they are answered together. A batch of n takes as
    long as a lone request, drawn from the measured ones, and `request_seconds` for each further
    one. There is no closed formula for its quantiles, so it is simulated, with a seed.

    Raises InputError if the rate is above saturation: the queue would grow without end.
    """
    check_positive(rate=rate, requests=requests)
    if rate >= (most := saturation(costs)):
        raise InputError(f"`rate` must be below the saturation, {most:.0f} per second, got {rate}")
    rng = np.random.default_rng(seed)
    arrivals = rng.exponential(1 / rate, requests).cumsum()
    lone = rng.choice(np.array(costs.lone_seconds), requests).tolist()
    ends, busy, batches = _served(costs, arrivals.tolist(), lone)
    p50, p99 = np.quantile(np.array(ends) - arrivals, [0.5, 0.99])
    return Latency(float(p50), float(p99), requests / batches, busy / ends[-1])


def _served(
    costs: Costs, arrivals: list[float], lone: list[float]
) -> tuple[list[float], float, int]:
    """Return when each request was answered, the busy seconds, and the number of batches."""
    ends: list[float] = []
    now = busy = 0.0
    batches = 0
    while (first := len(ends)) < len(arrivals):
        start = max(now, arrivals[first])
        last = bisect_right(arrivals, start, first)
        gather = costs.gather_seconds if last - first > 1 else 0.0
        last = min(bisect_right(arrivals, start + gather, first), first + costs.max_batch)
        more = (last - first - 1) * costs.request_seconds
        now = start + gather + lone[batches] + more
        busy += now - start
        batches += 1
        ends += [now] * (last - first)
    return ends, busy, batches
