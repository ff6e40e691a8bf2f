"""The log is the truth: every state can be had from it, and what is not so is found."""

from typing import Any

import numpy as np
import pytest

from tests.engine.shop import LMDH, Shop
from variegate.engine import Feedback
from variegate.engine.replay import RebuildUser, check_states, lessons
from variegate.policies import State
from variegate.store import EventRow, Store


def lived_in(store: Store, **rules: Any) -> Shop:
    shop = Shop(store, LMDH, **rules)
    for number in range(4):
        for user in ("ann", "bob", "cid"):
            shop.click(user, place=number)
    return shop


def save_state(shop: Shop, user: str, state: bytes | None) -> None:
    with shop.store.batch() as batch:
        batch.save_users([shop.user(user)._replace(state=state)])


def tampered(shop: Shop, amount: float) -> bytes:
    state = State.from_bytes(shop.user("bob").state or b"")
    gram = np.array(state.arrays["gram"])
    gram[3] += amount
    return State(state.policy, {**state.arrays, "gram": gram}, state.version).to_bytes()


def test_states_equal_what_the_log_says(any_store: Store) -> None:
    check = lived_in(any_store).check()
    assert (check.users, check.wrong, check.largest) == (3, (), 0.0)


def test_sums_and_silence_are_in_the_log_too(any_store: Store) -> None:
    shop = lived_in(any_store, aggregation="sum", wait_seconds=60.0, default_reward=0.25)
    shop.close(61.0)
    with any_store.reading() as reader:
        taught = [rewards for _slate, rewards in lessons(reader, "ann")]
    assert [len(rewards) for rewards in taught] == [4] * 4
    check = shop.check()
    assert (check.users, check.wrong, check.largest) == (3, (), 0.0)


@pytest.mark.parametrize("amount", [2e-9, 1.0, float("nan"), float("inf")])
def test_a_state_that_was_tampered_with_is_found(any_store: Store, amount: float) -> None:
    shop = lived_in(any_store)
    save_state(shop, "bob", tampered(shop, amount))
    check = shop.check()
    assert (check.users, check.wrong) == (3, ("bob",))
    assert check.largest > 1e-9


@pytest.mark.parametrize("state", [None, b"", b"rubbish", State("mmr", {}).to_bytes()])
def test_a_state_that_is_no_state_is_found(store: Store, state: bytes | None) -> None:
    shop = lived_in(store)
    save_state(shop, "bob", state)
    assert shop.check().wrong == ("bob",)


def test_a_state_of_other_shapes_is_found(store: Store) -> None:
    shop = lived_in(store)
    arrays = {"gram": np.zeros(1), "response": np.zeros(1), "seen": np.zeros(1)}
    save_state(shop, "bob", State("lmdh", arrays).to_bytes())
    assert shop.check().wrong == ("bob",)


def test_a_log_that_says_something_twice_is_found(store: Store) -> None:
    shop = lived_in(store)
    event = shop.events("bob")[0]
    with store.batch() as batch:
        batch.add_events([EventRow(None, *event[1:])])
        row = shop.user("bob")
    shop.all(RebuildUser("bob"))  # now the state says it twice as well
    assert row.state != shop.user("bob").state
    assert shop.check().wrong == ("bob",)


def test_a_wrong_state_is_rebuilt(any_store: Store) -> None:
    shop = lived_in(any_store)
    right = [shop.user(user) for user in ("ann", "bob", "cid")]
    save_state(shop, "bob", tampered(shop, 1.0))
    shop.all(RebuildUser("bob"))
    assert [shop.user(user).state for user in ("ann", "bob", "cid")] == [u.state for u in right]
    assert shop.check().wrong == ()


def test_lists_after_a_rebuild_are_made_by_the_new_state(store: Store) -> None:
    shop, twin = lived_in(store), Shop(store)
    shop.give("bob")  # remembered here
    save_state(shop, "bob", tampered(shop, 100.0))
    twin.give("bob")
    shop.all(RebuildUser("bob"))
    policy = shop.experiment.policy_of(shop.user("bob"), shop.items)
    expected = list(policy.recommend(4).ids)
    assert shop.ids("bob", allow_repeats=True) == twin.ids("bob", allow_repeats=True) == expected


def test_rebuilding_nobody_does_nothing(shop: Shop) -> None:
    assert shop.all(RebuildUser("ann")) == [{}]
    assert shop.check().users == 0


def test_users_of_a_policy_that_is_gone_are_not_called_wrong(store: Store) -> None:
    lived_in(store)
    later = Shop(store, {"new": "c2ucb"})
    assert later.check().wrong == ()
    later.all(RebuildUser("bob"))
    assert later.user("bob").policy == "new"
    assert later.check().wrong == ()


def test_a_long_log_is_read_in_pages(store: Store) -> None:
    shop = Shop(store, memory=0)
    reports = []
    for _ in range(130):
        given = shop.give(k=5)
        for item in given["items"]:
            reports.append(Feedback(given["slate_id"], {item["id"]: 0.5}, ()))
    shop.all(*reports)
    assert len(shop.events()) == 650
    seen: list[int] = []
    assert (shop.check().wrong, shop.check().largest) == ((), 0.0)
    check_states(store, shop.engine.live, shop.experiment, seen.append)
    assert seen == [1]
