"""What an operator asks of the last minutes, added up by the database."""

import numpy as np
import pytest

from tests.store.making import add_users, answered, event, slate
from variegate.store import Store, TimedRewards

START = 1_700_000_040.0  # the beginning of a minute


def test_lists_are_counted_by_the_stretch_they_were_given_in(store: Store) -> None:
    times = {"01A": START - 1, "01B": START, "01C": START + 59.9, "01D": START + 60}
    with store.batch() as batch:
        batch.add_slates([slate(name, created=time) for name, time in times.items()])

    with store.reading() as reader:
        every = reader.lists_by_time("0", 60.0)
        later = reader.lists_by_time("01B", 60.0)

    minute = int(START // 60)
    assert every == {minute - 1: 1, minute: 2, minute + 1: 1}
    assert later == {minute: 2, minute + 1: 1}


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

    with store.reading() as reader:
        minute = int(START // 60)
        assert reader.reports_by_time(START, 60.0) == {minute: 1, minute + 2: 1}


def test_rewards_are_added_up_by_policy_and_stretch(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates(
            [
                answered(
                    slate("01A", "bob", created=START, spread={"cosine": 0.5}), [1.0, None, 0.25]
                ),
                answered(
                    slate("01B", "ada", created=START + 10, spread={"cosine": 0.25, "x": 1.0}),
                    [0.0, None, None],
                ),
                answered(
                    slate("01C", "ada", policy="mmr", created=START + 70, spread={}),
                    [1.0, 1.0, 1.0],
                ),
                slate("01D", "ada", created=START),
            ]
        )

    minute = int(START // 60)
    with store.reading() as reader:
        assert reader.rewards_by_time("0", 60.0) == [
            TimedRewards("lmdh", minute, 2, 1.25, 3, {"cosine": 0.75, "x": 1.0}),
            TimedRewards("mmr", minute + 1, 1, 3.0, 3, {}),
        ]
        assert [row.policy for row in reader.rewards_by_time("01C", 60.0)] == ["mmr"]


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

    with store.reading() as reader:
        found = {row.bucket: row for row in reader.rewards_by_time("0", 120.0)}

    assert set(found) == {int(row.created // 120) for row in rows}
    for bucket, sums in found.items():
        mine = [row for row in rows if row.created // 120 == bucket]
        assert sums.answered == len(mine)
        assert sums.earned == pytest.approx(sum(row.earned for row in mine))
        assert sums.spread["cosine"] == pytest.approx(sum(row.spread["cosine"] for row in mine))


def test_the_users_of_the_last_events_come_latest_first(store: Store) -> None:
    add_users(store, "ada", "bob", "cyd", "dan")
    with store.batch() as batch:
        batch.add_events([event(name) for name in ("ada", "bob", "cyd", "ada")])

    with store.reading() as reader:
        assert reader.last_users(10) == ["ada", "cyd", "bob"]
        assert reader.last_users(2) == ["ada", "cyd"]


def test_an_empty_store_has_nothing_to_tell(store: Store) -> None:
    with store.reading() as reader:
        assert reader.lists_by_time("0", 60.0) == {}
        assert reader.reports_by_time(0.0, 60.0) == {}
        assert reader.rewards_by_time("0", 60.0) == []
        assert reader.last_users(5) == []
