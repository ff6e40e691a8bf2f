"""The running sums agree with the slates after any change; reports of the last minutes."""

import math
import threading
import time
from collections import Counter
from functools import partial

import numpy as np
import pytest

from tests.store.factories import add_users, answered, event, slate, threads, user
from variegate.store import Batch, Moments, PeriodSums, PolicySums, Recent, Store
from variegate.store.store import open_database
from variegate.store.sums import UNIT

NOW = 1_700_000_600.0


def sums_of(store: Store) -> dict[str, PolicySums]:
    with store.reading() as reader:
        assert reader.count_wrong_sums(NOW) == 0
        return {one.policy: one for one in reader.policy_sums()}


def moments(*values: float) -> Moments:
    exact = [int(value * UNIT) for value in values]
    return Moments(len(values), sum(exact), sum(value * value for value in exact))


def test_counts_are_those_of_the_rows(store: Store) -> None:
    add_users(store, "ada", "bob")
    add_users(store, "bob")
    with store.batch() as batch:
        batch.add_slates([slate("01A"), slate("01B"), slate("01C")])
        batch.update_slates([answered(slate("01B"), [1.0, None, None])])
        batch.add_events([event()] * 4)

    with store.reading() as reader:
        assert reader.counts() == {"users": 2, "slates": 3, "answered": 1, "events": 4}


def test_counts_of_an_empty_store_are_zero(store: Store) -> None:
    with store.reading() as reader:
        assert set(reader.counts().values()) == {0}
        assert reader.policy_sums() == []


def test_users_count_once_per_policy(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates(
            [
                answered(slate("01A", "bob", diversity={"cosine": 0.5}), [1.0, None, 0.25]),
                answered(
                    slate("01B", "bob", diversity={"cosine": 0.25, "x": 0.0}), [0.0, None, 1.0]
                ),
                answered(slate("01C", "bob", policy="mmr", diversity={}), [None, None, None]),
                answered(slate("01D", "ada", diversity={"cosine": 1.0}), [1.0, 1.0, 1.0]),
                slate("01E", "ada", diversity={"cosine": 1.0}),
            ]
        )

    diversity = {"cosine": moments(0.375, 1.0), "x": moments(0.0, 0.0)}
    assert sums_of(store) == {
        "lmdh": PolicySums("lmdh", 2, 3, moments(2.25 / 4, 1.0), diversity),
        "mmr": PolicySums("mmr", 1, 1, moments(0.0), {}),
    }


def test_changed_slate_counts_in_its_new_state(store: Store) -> None:
    given = slate("01A", diversity={"cosine": 0.5})
    with store.batch() as batch:
        batch.add_slates([given])
    for rewards in ([1.0, None, None], [1.0, 0.25, None], [1.0, 0.25, 0.5]):
        with store.batch() as batch:
            batch.update_slates([answered(given, rewards)])

    assert sums_of(store)["lmdh"] == PolicySums(
        "lmdh", 1, 1, moments(int(1.75 * UNIT) // 3 / UNIT), {"cosine": moments(0.5)}
    )


def test_slate_created_and_answered_in_one_batch_counts_once(store: Store) -> None:
    given = slate("01A", diversity={})
    with store.batch() as batch:
        batch.add_slates([given])
        batch.update_slates([answered(given, [1.0, None, None])])
        batch.update_slates([answered(given, [1.0, 0.5, None])])

    assert sums_of(store)["lmdh"] == PolicySums("lmdh", 1, 1, moments(0.75), {})


def test_forgotten_user_leaves_the_sums_as_before(store: Store) -> None:
    add_users(store, "ada")
    with store.batch() as batch:
        batch.add_slates([answered(slate("01A", "ada"), [0.3, None, 0.1])])
        batch.add_events([event("ada", "feedback")])
    before = sums_of(store)

    add_users(store, "bob")
    with store.batch() as batch:
        batch.add_slates([slate("02A", "bob", diversity={"huge": 1e308})])
        batch.update_slates([answered(slate("02A", "bob", diversity={"huge": 1e308}), [0.7] * 3)])
        batch.add_events([event("bob", "feedback"), event("bob", "close")])
    assert sums_of(store) != before
    with store.batch() as batch:
        batch.forget_user("bob")

    assert sums_of(store) == before
    with store.reading() as reader:
        assert reader.counts() == {"users": 1, "slates": 1, "answered": 1, "events": 1}


def test_user_replaced_in_one_batch_counts_in_the_new_state(store: Store) -> None:
    with store.batch() as batch:
        batch.ensure_users([user("ada")])
        batch.add_slates([answered(slate("01A", "ada"), [0.3, None, 0.1])])
    with store.batch() as batch:
        batch.update_slates([answered(slate("01A", "ada"), [0.3, 0.9, 0.1])])
        batch.forget_user("ada")
        batch.ensure_users([user("ada")])
        batch.add_slates([answered(slate("01B", "ada", diversity={}), [0.5, None, None])])

    assert sums_of(store) == {"lmdh": PolicySums("lmdh", 1, 1, moments(0.5), {})}


def test_huge_numbers_give_finite_sums(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates(
            [
                answered(slate("01A", "ada", diversity={"x": 1e308}), [1.0, None, None]),
                answered(slate("01B", "bob", diversity={"x": -1e308}), [1.0, None, None]),
                answered(slate("01C", "cyd", diversity={"x": 1e308}), [1.0])._replace(earned=1e308),
            ]
        )

    found = sums_of(store)["lmdh"]
    assert all(map(math.isfinite, (found.reward.mean, found.reward.error)))
    assert all(map(math.isfinite, (found.diversity["x"].mean, found.diversity["x"].error)))


def test_intervals_lose_no_digits() -> None:
    rng = np.random.default_rng(2)
    values = 0.7 + 1e-9 * rng.random(1000)
    exact = [int(value * UNIT) for value in values]
    found = Moments(1000, sum(exact), sum(value * value for value in exact))
    assert found.mean == pytest.approx(values.mean(), abs=1e-15)
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(1000), rel=1e-5)


def test_many_writers_at_once_lose_nothing(url: str) -> None:
    Store.open(url).close()
    begin = threading.Barrier(4)

    def write(number: int) -> None:
        with Store.open(url) as mine:
            begin.wait(10)
            for turn in range(10):
                name = f"u{(number + turn) % 5}"
                with mine.batch() as batch:
                    while not batch.lock_users([name]):  # another forgot them in between
                        batch.ensure_users([user(name)])
                    row = slate(f"{number}-{turn}", name, created=NOW)
                    batch.add_slates([row])
                    batch.update_slates([answered(row, [0.5, None, None])])
                if turn % 4 == 3:
                    with mine.batch() as batch:
                        batch.forget_user(name)

    with threads(4) as start:
        for done in [start(partial(write, number)) for number in range(4)]:
            done.result()
    with Store.open(url) as store, store.reading() as reader:
        assert reader.count_wrong_sums(NOW) == 0
        assert reader.counts()["users"] == len(reader.all_users(None, 9))


def test_wrong_sums_are_found_and_recomputed(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates([answered(slate("01A", "ada"), [0.3, None, 0.1])])
    before = sums_of(store)
    with store._database.writing() as transaction:
        transaction.change("UPDATE sums SET sums = '{\"lists\":7}'")
        transaction.change("DELETE FROM user_sums")
    with store.reading() as reader:
        assert reader.count_wrong_sums(NOW) == 3
    with store.batch() as batch:
        batch.recompute_sums(NOW)

    assert sums_of(store) == before


def test_sums_of_a_store_without_them_are_computed_when_it_is_opened(url: str) -> None:
    now = time.time()
    rows = [
        answered(slate(f"01{n}", f"u{n % 3}", created=now - 60 * n), [n / 20, None, None])
        for n in range(20)
    ]
    with Store.open(url) as store:
        with store.batch() as batch:
            batch.ensure_users([user("u0"), user("u1")])
            batch.add_slates([*rows, slate("02")])
            batch.add_events([event("u0", "feedback", time=now), event("u1")])
        with store.reading() as reader:
            before = reader.policy_sums(), reader.recent(now - 3600), reader.counts()
    database = open_database(url, create=False)
    with database.writing() as transaction:
        for statement in (
            "DELETE FROM sums",
            "DELETE FROM user_sums",
            "DELETE FROM meta WHERE key = 'sums'",
        ):
            transaction.change(statement)
    database.close()

    with Store.open(url) as store, store.reading() as reader:
        assert (reader.policy_sums(), reader.recent(now - 3600), reader.counts()) == before


START = 1_700_000_040.0  # the beginning of a minute
MINUTE = int(START // 60)


def recent(store: Store, since: float = 0.0, width: int = 1) -> Recent:
    with store.reading() as reader:
        return reader.recent(since, width)


def test_slates_are_counted_by_the_minute_of_their_creation(store: Store) -> None:
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


def test_sums_of_many_slates_are_those_of_python(store: Store) -> None:
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


def test_old_minutes_are_deleted_and_the_sums_of_all_time_stay(store: Store) -> None:
    day = 86_400.0
    with store.batch() as batch:
        batch.add_slates([slate("01A"), slate("01B", created=START + 6 * day)])
        batch.delete_old_sums(START + 9 * day)

    assert recent(store).lists == {MINUTE + 6 * 24 * 60: 1}
    with store.reading() as reader:
        assert reader.counts()["slates"] == 2
        assert reader.count_wrong_sums(START + 9 * day) == 0


def test_recent_users_come_latest_first(store: Store) -> None:
    add_users(store, "ada", "bob", "cyd", "dan")
    with store.batch() as batch:
        batch.add_events([event(name) for name in ("ada", "bob", "cyd", "ada")])

    with store.reading() as reader:
        assert reader.recent_users(10) == ["ada", "cyd", "bob"]
        assert reader.recent_users(2) == ["ada", "cyd"]


def test_recent_users_are_found_behind_many_events_of_one(store: Store) -> None:
    add_users(store, "ada", "bob")
    with store.batch() as batch:
        batch.add_events([event(name) for name in ("bob", *["ada"] * 20)])

    with store.reading() as reader:
        assert reader.recent_users(2) == ["ada", "bob"]
        assert reader.recent_users(1) == ["ada"]


def test_empty_store_has_no_activity(store: Store) -> None:
    assert recent(store) == Recent(Counter(), Counter(), [])
    with store.reading() as reader:
        assert reader.recent_users(5) == []


def test_parts_add_up(store: Store) -> None:
    given = slate("01A", created=START, diversity={"x": 0.5})
    steps: list[list[float | None]] = [[1.0, None, None], [1.0, 0.25, None], [1.0, 0.25, 0.5]]
    for part, rewards in enumerate(steps):
        with store._database.writing() as transaction:
            batch = Batch(transaction, part)
            if not part:
                batch.add_slates([given])
            batch.update_slates([answered(given, rewards)])
            batch.write_sums()

    assert recent(store).rewards == [PeriodSums("lmdh", MINUTE, 1, 3, 1.75, {"x": 0.5})]
    with store.reading() as reader:
        assert reader.count_wrong_sums(START) == 0
