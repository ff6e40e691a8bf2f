"""What an operator asks of the last minutes, from sums that are kept as things happen."""

from collections import Counter

import numpy as np
import pytest

from tests.store.making import add_users, answered, event, slate
from variegate.store import Batch, PeriodSums, Recent, Store

START = 1_700_000_040.0  # the beginning of a minute
MINUTE = int(START // 60)


def recent(store: Store, since: float = 0.0, width: int = 1) -> Recent:
    with store.reading() as reader:
        return reader.recent(since, width)


def test_lists_are_counted_by_the_minute_they_were_given_in(store: Store) -> None:
    times = {"01A": START - 1, "01B": START, "01C": START + 59.9, "01D": START + 60}
    with store.batch() as batch:
        batch.add_slates([slate(name, created=time) for name, time in times.items()])

    assert recent(store).lists == {MINUTE - 1: 1, MINUTE: 2, MINUTE + 1: 1}
    assert recent(store, START).lists == {MINUTE: 2, MINUTE + 1: 1}


def test_feedback_is_counted_and_other_events_are_not(store: Store) -> None:
    with store.batch() as batch:
        batch.add_events(
            [
                event(kind="feedback", time=START - 0.1),
                event(kind="feedback", time=START),
                event(kind="close", time=START),
                event(kind="feedback", time=START + 130),
            ]
        )

    assert recent(store, START).feedback == {MINUTE: 1, MINUTE + 2: 1}


def test_rewards_are_added_up_by_policy_and_minute(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates(
            [
                answered(
                    slate("01A", "bob", created=START, diversity={"cosine": 0.5}), [1.0, None, 0.25]
                ),
                answered(
                    slate("01B", "ada", created=START + 10, diversity={"cosine": 0.25, "x": 0.0}),
                    [0.0, None, None],
                ),
                answered(
                    slate("01C", "ada", policy="mmr", created=START + 70, diversity={}),
                    [1.0, 1.0, 1.0],
                ),
                slate("01D", "ada", created=START),
            ]
        )

    assert recent(store).rewards == [
        PeriodSums("lmdh", MINUTE, 2, 3, 1.25, {"cosine": 0.75, "x": 0.0}),
        PeriodSums("mmr", MINUTE + 1, 1, 3, 3.0, {}),
    ]


def test_sums_of_many_lists_are_those_that_python_adds_up(store: Store) -> None:
    rng = np.random.default_rng(3)
    rows = [
        answered(
            slate(f"01{n:04d}", created=START + float(rng.uniform(0, 600))),
            [float(rng.random()) for _ in range(3)],
        )
        for n in range(200)
    ]
    with store.batch() as batch:
        batch.add_slates(rows)

    found = recent(store, width=2).rewards
    assert {sums.first for sums in found} == {2 * int(row.created // 120) for row in rows}
    for sums in found:
        mine = [row for row in rows if 2 * (row.created // 120) == sums.first]
        assert sums.answered == len(mine)
        assert sums.earned == pytest.approx(sum(row.earned for row in mine), abs=1e-12)
        assert sums.diversity["cosine"] == pytest.approx(
            sum(row.diversity["cosine"] for row in mine)
        )


def test_old_minutes_are_dropped_and_the_sums_of_all_time_stay(store: Store) -> None:
    day = 86_400.0
    with store.batch() as batch:
        batch.add_slates([slate("01A"), slate("01B", created=START + 6 * day)])
        batch.delete_old_sums(START + 9 * day)

    assert recent(store).lists == {MINUTE + 6 * 24 * 60: 1}
    with store.reading() as reader:
        assert reader.counts()["slates"] == 2
        assert reader.count_wrong_sums(START + 9 * day) == 0


def test_the_users_of_the_last_events_come_latest_first(store: Store) -> None:
    add_users(store, "ada", "bob", "cyd", "dan")
    with store.batch() as batch:
        batch.add_events([event(name) for name in ("ada", "bob", "cyd", "ada")])

    with store.reading() as reader:
        assert reader.recent_users(10) == ["ada", "cyd", "bob"]
        assert reader.recent_users(2) == ["ada", "cyd"]


def test_an_empty_store_has_nothing_to_tell(store: Store) -> None:
    assert recent(store) == Recent(Counter(), Counter(), [])
    with store.reading() as reader:
        assert reader.recent_users(5) == []


def test_parts_add_up_whoever_wrote_what(store: Store) -> None:
    given = slate("01A", created=START, diversity={"x": 0.5})
    told: list[list[float | None]] = [[1.0, None, None], [1.0, 0.25, None], [1.0, 0.25, 0.5]]
    for part, rewards in enumerate(told):
        with store._database.writing() as transaction:
            batch = Batch(transaction, part)
            if not part:
                batch.add_slates([given])
            batch.update_slates([answered(given, rewards)])
            batch.write_sums()

    assert recent(store).rewards == [PeriodSums("lmdh", MINUTE, 1, 3, 1.75, {"x": 0.5})]
    with store.reading() as reader:
        assert reader.count_wrong_sums(START) == 0
