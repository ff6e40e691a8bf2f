"""What the database adds up is what the lists say."""

import numpy as np
import pytest

from tests.store.making import add_users, answered, event, slate
from variegate.store import Store, UserRewards


def test_counts_tell_what_there_is(store: Store) -> None:
    add_users(store, "ada", "bob")
    with store.batch() as batch:
        batch.add_slates([slate("01A"), slate("01B"), slate("01C")])
        batch.change_slates([answered(slate("01B"), [1.0, None, None])])
        batch.add_events([event()] * 4)

    with store.reading() as reader:
        assert reader.counts() == {"users": 2, "slates": 3, "answered": 1, "events": 4}


def test_counts_of_an_empty_store_are_zero(store: Store) -> None:
    with store.reading() as reader:
        assert set(reader.counts().values()) == {0}
        assert reader.rewards_by_user() == []


def test_rewards_add_up_answered_slates_by_policy_and_user(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates(
            [
                answered(slate("01A", "bob", spread={"cosine": 0.5}), [1.0, None, 0.25]),
                answered(slate("01B", "bob", spread={"cosine": 0.25, "x": 1.0}), [0.0, None, None]),
                answered(slate("01C", "bob", policy="mmr", spread={}), [None, None, None]),
                answered(slate("01D", "ada", spread={"cosine": 1.0}), [1.0, 1.0, 1.0]),
                slate("01E", "ada", spread={"cosine": 1.0}),
            ]
        )

    with store.reading() as reader:
        assert reader.rewards_by_user() == [
            UserRewards("lmdh", "ada", 1, 3.0, 3, {"cosine": 1.0}),
            UserRewards("lmdh", "bob", 2, 1.25, 3, {"cosine": 0.75, "x": 1.0}),
            UserRewards("mmr", "bob", 1, 0.0, 0, {}),
        ]


def test_rewards_of_many_slates_are_those_that_python_adds_up(store: Store) -> None:
    rng = np.random.default_rng(5)
    rows = [
        answered(
            slate(f"01{n:04d}", f"u{rng.integers(7)}", spread={"cosine": float(rng.random())}),
            [None if rng.random() < 0.3 else float(rng.random()) for _ in range(3)],
        )
        for n in range(300)
    ]
    with store.batch() as batch:
        batch.add_slates(rows)

    with store.reading() as reader:
        found = {row.user: row for row in reader.rewards_by_user()}

    assert found.keys() == {row.user_id for row in rows}
    for name, sums in found.items():
        mine = [row for row in rows if row.user_id == name]
        assert sums.answered == len(mine)
        assert sums.positions == sum(reward is not None for row in mine for reward in row.rewards)
        assert sums.earned == pytest.approx(sum(row.earned for row in mine))
        assert sums.spread["cosine"] == pytest.approx(sum(row.spread["cosine"] for row in mine))
