"""The check of the capacity plan judges its predictions by the numbers."""

import asyncio
from collections import Counter

import pytest

from tools.capacity.calibrate import per_batch
from tools.capacity.check import Check, Compared, verdicts
from tools.capacity.service import Spent
from tools.loadtest.open_loop import OpenLoop
from tools.loadtest.run import Phase


@pytest.mark.parametrize(
    ("predicted", "is_close"), [(1.29, True), (1.31, False), (0.71, True), (0.69, False)]
)
def test_predictions_are_judged_by_their_difference(predicted: float, is_close: bool) -> None:
    one = Compared("rate", predicted, 1.0, "/s")

    assert one.holds == is_close
    assert ("not within 30%" in one.row) != is_close


def test_the_middle_run_decides_about_a_promise() -> None:
    def check(predicted: float) -> Check:
        one = Compared("p99", predicted, 1.0, "ms", where=f"at {predicted}/s")
        return Check([one, Compared("p50", 9.0, 1.0, "ms", is_promised=False)], (0.0, 0.0), [])

    (good,) = verdicts([check(number) for number in (1.29, 0.2, 0.9)])
    (bad,) = verdicts([check(number) for number in (1.31, 0.9, 1.4)])

    assert good.holds
    assert good.row == "| p99 | -10% | 2 of 3 | holds |"
    assert not bad.holds
    assert bad.row == "| p99 | +31% | 1 of 3 | **does not hold** |"


def test_an_open_loop_without_free_connections_counts_failures_at_its_rate() -> None:
    phase = Phase()

    asyncio.run(OpenLoop([], users=10, seed=0).run(2000.0, 0.1, phase))

    assert 150 < len(phase.failures) < 250  # 200 arrivals, with a deviation of 14
    assert Counter(one.split(":")[0] for one in phase.failures) == {"list": len(phase.failures)}


def test_the_cost_of_a_batch_and_of_a_request_follow_from_two_sizes() -> None:
    # 1.25 ms per batch and 0.75 ms per request: 2 ms alone, 1 ms each in batches of 5
    lone = Spent(Phase(1.0, {"list": [0.01] * 100}), {"HTTP": 0.2}, batches=100)
    many = Spent(Phase(1.0, {"list": [0.01] * 1000}), {"HTTP": 1.0}, batches=200)

    assert per_batch(lone, many, "HTTP", "engine") == pytest.approx((0.00125, 0.00075))


def test_the_costs_of_a_service_are_those_of_all_its_processes() -> None:
    lone = Spent(Phase(1.0, {"list": [0.01] * 100}), {"HTTP": 0.1, "engine": 0.1}, batches=100)
    many = Spent(Phase(1.0, {"list": [0.01] * 1000}), {"HTTP": 0.4, "engine": 0.6}, batches=200)

    assert per_batch(lone, many, "HTTP", "engine") == pytest.approx((0.00125, 0.00075))
