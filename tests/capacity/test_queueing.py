"""Response times of the queue: against closed formulas where there are some."""

import numpy as np
import pytest

from tests.capacity.making import costs
from variegate.capacity import latency, saturation
from variegate.errors import InputError


def test_one_exponential_request_at_a_time_is_the_queue_m_m_1() -> None:
    quantiles = -np.log1p(-(np.arange(1000) + 0.5) / 1000) * 0.01

    found = latency(costs(lone_seconds=tuple(quantiles)), 50.0, requests=400_000)

    # Times in M/M/1 are exponential with the rate 100 - 50. The tolerance is that of the sample.
    assert found.p50 == pytest.approx(np.log(2) / 50, rel=0.05)
    assert found.p99 == pytest.approx(np.log(100) / 50, rel=0.05)
    assert found.busy == pytest.approx(0.5, rel=0.02)
    assert found.batch == 1.0


def test_requests_that_come_one_by_one_take_as_long_as_lone_ones() -> None:
    # At one request in 100 seconds of 10 ms each, hardly any meets another.
    found = latency(costs(max_batch=64), 0.01, requests=1000)

    assert (found.p50, found.p99) == pytest.approx((0.01, 0.01))


def test_waiting_requests_become_one_batch() -> None:
    batching = costs(max_batch=64, request_seconds=0.001, gather_seconds=0.003)

    # 10 + 3 + 3 x 1 ms for 4 requests, 10 + 3 + 63 for 64
    assert saturation(batching, clients=4) == pytest.approx(4 / 0.016)
    assert saturation(batching) == pytest.approx(64 / 0.076)
    assert latency(batching, 400.0).batch > 4  # 400 x 10 ms arrive while one is answered


def test_larger_rates_have_longer_waits() -> None:
    found = [latency(costs(), rate) for rate in (20.0, 50.0, 80.0)]

    assert [one.p99 for one in found] == sorted(one.p99 for one in found)
    assert found[0] == latency(costs(), 20.0)


def test_a_rate_above_saturation_is_refused() -> None:
    with pytest.raises(InputError, match="`rate` must be below the saturation, 100 per second"):
        latency(costs(), 100.0)
