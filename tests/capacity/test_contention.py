"""Response times of workers that share cores: against closed formulas where there are some."""

import numpy as np
import pytest

from tests.capacity.making import costs
from variegate.capacity import latency, shared_latency
from variegate.errors import InputError

NO_CPU = {
    "batch_cpu": 0.0,
    "request_cpu": 0.0,
    "batch_database_cpu": 0.0,
    "request_database_cpu": 0.0,
}


def test_without_cpu_a_worker_is_the_queue_m_m_1() -> None:
    quantiles = -np.log1p(-(np.arange(1000) + 0.5) / 1000) * 0.01
    given = costs(**{**NO_CPU, "lone_seconds": tuple(quantiles)})

    found = shared_latency(given, 50.0, workers=1, cores=1)

    # The tolerance is that of the sample.
    assert found.p50 == pytest.approx(np.log(2) / 50, rel=0.05)
    assert found.p99 == pytest.approx(np.log(100) / 50, rel=0.08)


def test_a_core_that_all_share_is_a_queue_with_processor_sharing() -> None:
    given = costs(**{**NO_CPU, "batch_cpu": 0.01})

    # So many workers that no request waits for one: only the core is shared.
    found = shared_latency(given, 50.0, workers=2000, cores=1)

    # Requests of 10 ms on a core that is busy for half of the time take 20 ms on average, whatever
    # their distribution; the time in which workers are busy gives the mean.
    assert found.busy * 2000 / 50.0 == pytest.approx(0.02, rel=0.05)


def test_with_cores_enough_it_is_the_queue_of_one_worker() -> None:
    given = costs(
        max_batch=64,
        lone_seconds=(0.012,),
        request_seconds=0.006,  # the CPU of a request
        gather_seconds=0.003,
    )

    ours = shared_latency(given, 200.0, workers=2, cores=100)
    theirs = latency(given, 100.0)

    assert ours.batch == pytest.approx(theirs.batch, rel=0.05)
    assert (ours.p50, ours.p99) == pytest.approx((theirs.p50, theirs.p99), rel=0.05)


def test_fewer_cores_and_clients_beside_the_service_lengthen_responses() -> None:
    given = costs(max_batch=64)
    found = [
        shared_latency(given, 100.0, workers=2, cores=2, requests=20_000),
        shared_latency(given, 100.0, workers=2, cores=1.2, requests=20_000),
        shared_latency(given, 100.0, workers=2, cores=1.2, client_cpu=0.002, requests=20_000),
    ]

    assert found[0].p99 < found[1].p99 < found[2].p99
    assert found[0] == shared_latency(given, 100.0, workers=2, cores=2, requests=20_000)


def test_cpu_that_a_lone_answer_did_not_wait_for_is_computed_beside_it() -> None:
    # 10 ms of CPU for an answer that comes after 4 ms
    given = costs(lone_seconds=(0.004,))

    found = shared_latency(given, 0.1, workers=1, cores=2, requests=1000)

    assert found.p50 == pytest.approx(0.004)


def test_cores_must_be_positive() -> None:
    with pytest.raises(InputError, match="`cores` must be a number greater than 0, got 0"):
        shared_latency(costs(), 10.0, workers=1, cores=0)
