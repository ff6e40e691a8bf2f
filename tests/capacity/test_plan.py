"""Plans computed by hand, and what they advise."""

from dataclasses import replace

import pytest

from tests.capacity.making import costs
from variegate.capacity import Limits, Load, plan
from variegate.capacity.report import advice, assumptions, rows_of
from variegate.errors import InputError

#: 100 lists and 100 reports of feedback per second
LOAD = Load(users=864_000, lists_per_day=10, peak=1, keep_days=10, catalogue=1000)


def test_a_plan_adds_up() -> None:
    found = plan(costs(), LOAD)

    assert (found.load.lists, found.load.requests) == pytest.approx((100, 200))
    assert found.workers == 4  # half of 100 requests per second each
    assert (found.replicas, found.connections) == (1, 32)
    # Without batches each request is a transaction.
    assert found.commits == pytest.approx(200)
    assert found.service_cores == pytest.approx(200 * 0.003)
    assert found.database_cores == pytest.approx(200 * 0.007)
    assert found.wal_bytes == pytest.approx(200_000)
    assert found.iops == pytest.approx(200 + 3 * 200)
    assert found.user_bytes == pytest.approx(1.2 * 864e6)
    assert found.history_bytes == pytest.approx(1.2 * 864_000 * 10 * 10 * 150)
    assert found.bytes_per_user == pytest.approx(1.2 * (1000 + 100 * 150))


def test_the_busiest_hour_costs_cores_and_no_storage() -> None:
    mean, busy = plan(costs(), LOAD), plan(costs(), replace(LOAD, peak=2))

    assert (busy.workers, busy.storage) == (2 * mean.workers, mean.storage)


def test_data_beyond_memory_are_read_before_they_are_changed() -> None:
    # The data take 864,000 x 16 kB, a fifth more with dead rows, of which half is in memory.
    found = plan(costs(), LOAD, Limits(memory=1.2 * 864_000 * 8000))

    assert found.iops == pytest.approx(200 + 1.5 * 3 * 200)


def test_the_first_limit_is_the_bottleneck() -> None:
    found = plan(costs(), LOAD, Limits(iops=400, database_cores=28))

    # 800 accesses of 400; 1.4 cores of half of 28
    assert (found.shares["random I/O"], found.shares["database cores"]) == pytest.approx((2, 0.1))
    assert (found.bottleneck, found.primaries) == ("random I/O", 2)
    assert found.users_per_primary == pytest.approx(432_000)


def test_scoring_a_large_catalogue_takes_workers() -> None:
    scored = costs(item_cpu=1e-8, item_bytes=100.0)

    found = plan(scored, replace(LOAD, catalogue=1e6 + 1000))

    # 10 ms per list are 5 ms per request: 15 instead of 10.
    assert found.scoring_seconds == pytest.approx(0.01)
    assert found.workers == 6
    assert found.worker_bytes == pytest.approx(2e8)
    assert any("scoring 1 million items takes 10 ms" in line for line in advice(found))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(), "Next bottleneck: database cores, at 9.87 million users per primary."),
        (Limits(iops=300), "Shard: divide users by a hash among 3 primaries."),
        (Limits(iops=10), "Another store: 80 primaries are more than 16"),
        (Limits(connections=10), "PgBouncer in transaction mode: 32 connections are more than 10"),
        (
            Limits(table_bytes=7.776e9),
            "lists and feedback reach 7.78 GB per primary after 5.0 days",
        ),
        (Limits(table_bytes=8e8), "Large tables: users take more than 800 MB per primary"),
    ],
)
def test_advice_names_what_is_reached(limits: Limits, expected: str) -> None:
    assert any(expected in line for line in advice(plan(costs(), LOAD, limits)))


def test_the_table_has_a_column_for_each_plan() -> None:
    rows = rows_of([plan(costs(), LOAD), plan(costs(), replace(LOAD, users=8.64e6))])

    assert rows[0] == ["", "864,000", "8.64 million"]
    assert ["worker processes", "4", "40"] in rows
    assert ["storage of users", "1.04 GB", "10.4 GB"] in rows


def test_assumptions_name_the_costs_and_the_load() -> None:
    text = "\n".join(assumptions(plan(costs(), LOAD), costs()))

    assert "by hand" in text
    assert "10 lists per user and day" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"users": 0}, "`users` must be a number greater than 0, got 0"),
        ({"feedback": -1}, "`feedback` must be a number of at least 0, got -1"),
        ({"peak": 0.5}, "`peak` must be at least 1, got 0.5"),
    ],
)
def test_impossible_loads_are_refused(changes: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Load(**{"users": 1.0, **changes})


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="`iops` must be a number greater than 0, got 0"):
        Limits(iops=0)
