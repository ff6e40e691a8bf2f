"""What an operator asks of the last minutes, from sums that are kept as things happen."""

import numpy as np
import pytest

from tests.store.making import add_users, answered, event, slate
from variegate.store import MinuteSums, Store

START = 1_700_000_040.0  # the beginning of a minute
MINUTE = int(START // 60)


def minutes(store: Store, since: float = 0.0) -> list[MinuteSums]:
    with store.reading() as reader:
        return reader.minute_sums(since)


def test_lists_are_counted_by_the_minute_they_were_given_in(store: Store) -> None:
    times = {"01A": START - 1, "01B": START, "01C": START + 59.9, "01D": START + 60}
    with store.batch() as batch:
        batch.add_slates([slate(name, created=time) for name, time in times.items()])

    every = {one.minute: one.lists for one in minutes(store)}
    later = {one.minute: one.lists for one in minutes(store, START)}
    assert every == {MINUTE - 1: 1, MINUTE: 2, MINUTE + 1: 1}
    assert later == {MINUTE: 2, MINUTE + 1: 1}


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

    found = {one.minute: one.feedback for one in minutes(store, START)}
    assert found == {MINUTE: 1, MINUTE + 2: 1}


def test_rewards_are_added_up_by_policy_and_minute(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates(
            [
                answered(
                    slate("01A", "bob", created=START, spread={"cosine": 0.5}), [1.0, None, 0.25]
                ),
                answered(
                    slate("01B", "ada", created=START + 10, spread={"cosine": 0.25, "x": 0.0}),
                    [0.0, None, None],
                ),
                answered(
                    slate("01C", "ada", policy="mmr", created=START + 70, spread={}),
                    [1.0, 1.0, 1.0],
                ),
                slate("01D", "ada", created=START),
            ]
        )

    assert minutes(store) == [
        MinuteSums("lmdh", MINUTE, 3, 0, 2, 3, 1.25, {"cosine": 0.75, "x": 0.0}),
        MinuteSums("mmr", MINUTE + 1, 1, 0, 1, 3, 3.0, {}),
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

    found = {one.minute: one for one in minutes(store)}
    assert set(found) == {int(row.created // 60) for row in rows}
    for minute, sums in found.items():
        mine = [row for row in rows if row.created // 60 == minute]
        assert sums.answered == len(mine)
        assert sums.earned == pytest.approx(sum(row.earned for row in mine), abs=1e-12)
        assert sums.spread["cosine"] == pytest.approx(sum(row.spread["cosine"] for row in mine))


def test_old_minutes_are_dropped_and_the_sums_of_all_time_stay(store: Store) -> None:
    day = 86_400.0
    with store.batch() as batch:
        batch.add_slates([slate("01A"), slate("01B", created=START + 6 * day)])
        batch.drop_old_minutes(START + 9 * day)

    assert [one.minute for one in minutes(store)] == [MINUTE + 6 * 24 * 60]
    with store.reading() as reader:
        assert reader.counts()["slates"] == 2
        assert reader.wrong_sums(START + 9 * day) == 0


def test_the_users_of_the_last_events_come_latest_first(store: Store) -> None:
    add_users(store, "ada", "bob", "cyd", "dan")
    with store.batch() as batch:
        batch.add_events([event(name) for name in ("ada", "bob", "cyd", "ada")])

    with store.reading() as reader:
        assert reader.last_users(10) == ["ada", "cyd", "bob"]
        assert reader.last_users(2) == ["ada", "cyd"]


def test_an_empty_store_has_nothing_to_tell(store: Store) -> None:
    assert minutes(store) == []
    with store.reading() as reader:
        assert reader.last_users(5) == []
