"""Interactions outside lists: learnt once, stored, exported, hidden, and found again in the log."""

import re
from typing import Any

import numpy as np
import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import NOON, Clock, Shop, catalogue, new_item
from tests.store.factories import threads
from variegate.engine.interactions import Interaction, LearnInteractions, check_interaction
from variegate.engine.replay import RebuildUser, relearn
from variegate.engine.terms import DAY
from variegate.errors import ConflictError, DataError, InputError, NotFoundError
from variegate.policies import State, make_policy
from variegate.store import Store

ARMS = {"a": "lmdh:ridge=1", "b": "linucb", "c": "lsb", "d": "lmdp", "e": "popular"}


def buy(shop: Shop, user: str = "ann", *items: str, **how: Any) -> dict[str, Any]:
    rewards = dict.fromkeys(items or ("i3",), 1.0)
    return shop.do(LearnInteractions(user, (Interaction(rewards, **how),)))


def test_it_teaches_what_the_library_learns(any_store: Store) -> None:
    shop = Shop(any_store)
    policy = make_policy("lmdh:ridge=1,exploration=0.3", shop.items)

    answer = shop.do(LearnInteractions("ann", (Interaction({"i3": 1.0, "i5": 0.25}),)))

    policy.learn_relevance(shop.items.rows(["i3", "i5"]), [1.0, 0.25])
    assert answer == {"user": "ann", "learnt": ["i3", "i5"], "new": 1}
    assert State.from_bytes(shop.user().state or b"") == policy.state()
    (event,) = shop.events("ann")
    assert (event.kind, event.slate_id, event.time) == ("interaction", None, NOON)
    assert shop.engine.counts() == {"users": 1, "slates": 0, "answered": 0, "events": 1}


def test_same_event_is_learnt_once(any_store: Store) -> None:
    shop = Shop(any_store)
    first = buy(shop, event="order 1", time=5.0)
    before = shop.user(), shop.events()

    shop.clock.now += 9.0
    again = buy(shop, event="order 1", time=5.0)

    assert again == first | {"new": 0}
    assert (shop.user(), shop.events()) == before
    # Another user's order may have the same number.
    assert buy(shop, "bob", event="order 1")["new"] == 1


def test_same_event_twice_in_one_transaction_is_learnt_once(any_store: Store) -> None:
    shop = Shop(any_store)
    one = Interaction({"i3": 1.0}, "order 1")

    outcomes = shop.all(LearnInteractions("ann", (one, one)), LearnInteractions("ann", (one,)))

    assert [outcome["new"] for outcome in outcomes] == [1, 0]
    assert len(shop.events()) == 1
    assert shop.check().wrong == ()


def test_without_an_id_each_is_another(shop: Shop) -> None:
    buy(shop)
    buy(shop)

    assert len(shop.events()) == 2
    assert shop.check().wrong == ()


@pytest.mark.parametrize(
    "other",
    [
        Interaction({"i4": 1.0}, "order 1"),
        Interaction({"i3": 0.5}, "order 1"),
        Interaction({"i3": 1.0}, "order 1", time=7.0),
        Interaction({"i3": 1.0}, "order 1", allow_repeats=True),
    ],
)
def test_another_event_of_the_same_id_is_a_conflict(shop: Shop, other: Interaction) -> None:
    buy(shop, event="order 1")
    before = shop.user(), shop.events()

    with pytest.raises(ConflictError, match="`event` 'order 1' was used for another interaction"):
        shop.do(LearnInteractions("ann", (other,)))

    assert (shop.user(), shop.events()) == before


def test_unknown_items_are_named_and_leave_no_trace(any_store: Store) -> None:
    shop = Shop(any_store)
    items = {f"x{number}": 1.0 for number in range(7)} | {"i1": 1.0}

    with pytest.raises(
        NotFoundError, match=re.escape("no item 'x0', 'x1', 'x2', 'x3', 'x4' and 2")
    ):
        shop.do(LearnInteractions("ann", (Interaction({"i2": 1.0}), Interaction(items))))

    assert shop.engine.counts()["users"] == 0
    assert shop.events() == []


def test_one_that_cannot_be_learnt_leaves_the_policy_as_it_was(shop: Shop) -> None:
    shop.click()
    before = shop.user()
    wrong = Interaction({"i4": 7.0})

    with pytest.raises(InputError, match=r"`rewards` must lie from 0 to 1, got 7\.0"):
        shop.do(LearnInteractions("ann", (Interaction({"i3": 1.0}), wrong)))
    shop.click(candidates=("i7", "i8", "i9", "i10"))

    assert before.state != shop.user().state
    assert shop.check().wrong == ()


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (Interaction({}), "`rewards` must name at least one item, got none"),
        (
            Interaction({"i1": -1.0, "i2": 2.0}, time=-5.0),
            "`rewards` must be from 0 to 1, got -1.0 for 'i1'; `rewards` must be from 0 to 1, "
            "got 2.0 for 'i2'; `time` must be in seconds since 1970, from 0 to 4294967295, got "
            "-5.0",
        ),
        (Interaction({"i1": float("nan")}), "`rewards` must be from 0 to 1, got nan for 'i1'"),
    ],
)
def test_all_that_is_wrong_is_named(one: Interaction, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        check_interaction(one)


def test_items_are_not_recommended_next(any_store: Store) -> None:
    shop = Shop(any_store, k=4)
    pool = ("i1", "i2", "i3", "i4", "i5", "i6")
    buy(shop, "ann", "i3", "i4")

    assert sorted(shop.ids(candidates=pool)) == ["i1", "i2", "i5", "i6"]
    # What was shown returns before what was bought.
    assert "i3" not in shop.ids(candidates=pool, k=4)
    given = shop.give(candidates=("i3", "i4"), k=1)
    assert given["items"][0]["shown_before"] is False
    assert len(shop.ids(candidates=pool, allow_repeats=True, k=6)) == 6


def test_items_may_be_recommended_again_by_request_or_after_the_memory(shop: Shop) -> None:
    pool = ("i1", "i2", "i3", "i4")
    buy(shop, "ann", "i3", allow_repeats=True)
    buy(shop, "bob", "i3")
    buy(shop, "bob", "i3", allow_repeats=True)

    assert "i3" in shop.ids("ann", candidates=pool)
    shop.clock.now += 31 * DAY
    assert "i3" in shop.ids("bob", candidates=pool)


def test_a_withdrawn_list_leaves_what_was_used_hidden(shop: Shop) -> None:
    first = shop.give(candidates=("i1", "i2", "i3", "i4"))
    buy(shop, "ann", "i2")

    second = shop.ids(candidates=("i1", "i2", "i3", "i4"), k=3, instead_of=first["slate_id"])

    assert sorted(second) == ["i1", "i3", "i4"]


def test_memory_is_bounded(store: Store) -> None:
    shop = Shop(store, memory=2)
    for item in ("i1", "i2", "i3"):
        buy(shop, "ann", item)

    assert len(shop.user().consumed or b"") == 16
    assert "i1" in shop.ids(candidates=("i1", "i2", "i3", "i4"), k=2)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_log_gives_the_same_state_bit_for_bit(opening: Opening, kind: str) -> None:
    shop = Shop(opening(kind), ARMS)
    for number, user in enumerate(f"user {place}" for place in range(10)):
        buy(shop, user, f"i{number}", "i20", event="a")
        shop.click(user)
        # What an item was like when it was used counts.
        shop.snapshot({"id": "i20", "features": [float(number), 0.5, 0.25, 1.0]})
        shop.do(LearnInteractions(user, tuple(Interaction({f"i{n}": n / 9}) for n in range(9))))
    states = {f"user {n}": shop.user(f"user {n}").state for n in range(10)}

    found = shop.check()

    assert (found.users, found.wrong, found.largest, found.wrong_sums) == (10, (), 0.0, 0)
    for user, state in states.items():
        shop.do(RebuildUser(user))
        assert shop.user(user).state == state


def test_an_export_carries_it(opening: Opening) -> None:
    old = Shop(opening("sqlite"), ARMS)
    for user in ("ann", "bob", "cyd", "dan", "eve"):
        buy(old, user, "i3", "i4", event="order 1", time=3.5)
        old.click(user)
        buy(old, user, "i7", allow_repeats=True)
    new = Shop(opening("postgres"), ARMS, clock=old.clock)
    lines = old.exported()

    new.take_in(lines)
    new.take_in(lines)

    assert new.exported() == lines
    assert (new.check().wrong, new.check().largest) == ((), 0.0)
    assert buy(new, "ann", "i3", "i4", event="order 1", time=3.5)["new"] == 0
    assert new.ids("bob") == old.ids("bob")


def test_items_in_other_rows_are_found_by_their_ids(opening: Opening) -> None:
    old = Shop(opening("sqlite"), {"b": "linucb"})
    old.snapshot(new_item("n1"), new_item("n2"))
    buy(old, "ann", "n1")
    new = Shop(opening("sqlite"), {"b": "linucb"}, clock=old.clock)
    new.snapshot(new_item("n2"))
    new.snapshot(new_item("n1"))

    new.take_in(old.exported(), replace=True)

    assert (new.check().wrong, new.check().largest) == ((), 0.0)
    assert sorted(new.ids(candidates=("n1", "n2", "i1"), k=2)) == ["i1", "n2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rewards": {"i3": 2.0}}, "`events.0.interaction.body.rewards.i3` must be less than"),
        ({"rewards": {"x": 1.0}}, "`rewards`: no item 'x'"),
        ({"rewards": {}}, "`events.0.interaction.body.rewards` must have at least 1 item"),
        ({"features": "?"}, "`features` must be base64"),
        ({"features": "AAAA"}, "has a format that this version does not read"),
    ],
)
def test_a_wrong_line_is_refused(shop: Shop, change: dict[str, Any], message: str) -> None:
    buy(shop)
    header, line = shop.exported()
    line["events"][0]["body"] |= change
    shop.forget()

    with pytest.raises(DataError, match=re.escape(message)):
        shop.take_in([header, line])

    assert shop.events() == []


def test_an_id_twice_in_a_line_is_refused(shop: Shop) -> None:
    buy(shop, event="order 1")
    header, line = shop.exported()
    line["events"] *= 2
    shop.forget()

    with pytest.raises(DataError, match="`request` of interactions must be distinct"):
        shop.take_in([header, line])


def test_a_list_is_no_interaction(shop: Shop) -> None:
    given = shop.give(k=1)
    buy(shop)
    header, line = shop.exported()
    line["events"][0]["body"]["features"] = line["lists"][0]["features"]
    line["events"][0]["body"]["rewards"] = {given["items"][0]["id"]: 1.0, "i1": 1.0}
    shop.forget()

    with pytest.raises(DataError, match="`features` of an interaction must be those of"):
        shop.take_in([header, line])


def test_an_interaction_with_diversity_gains_is_refused(shop: Shop) -> None:
    given = shop.give(k=2)
    buy(shop)
    header, line = shop.exported()
    line["events"][0]["body"]["features"] = line["lists"][0]["features"]
    line["events"][0]["body"]["rewards"] = {item["id"]: 1.0 for item in given["items"]}
    shop.forget()

    with pytest.raises(DataError, match="of an interaction must have no diversity gains"):
        shop.take_in([header, line])


def test_forgetting_a_user_deletes_it(any_store: Store) -> None:
    shop = Shop(any_store)
    buy(shop, event="order 1")
    shop.forget()

    assert shop.events() == []
    assert buy(shop, event="order 1")["new"] == 1
    assert shop.check().wrong_sums == 0


def test_another_catalogue_relearns_it(store: Store) -> None:
    shop = Shop(store)
    shop.click("bob")
    buy(shop, "ann", "i3", "i20")
    buy(shop, "ann", "i22")
    other = catalogue(22, seed=8)

    relearn(store, other, shop.experiment, lambda _done: None)
    later = Shop(store, items=other, clock=shop.clock)

    policy = later.experiment.new_policy("lmdh", other)
    policy.learn_relevance(other.rows(["i3", "i20"]), [1.0, 1.0])
    assert State.from_bytes(later.user().state or b"") == policy.state()
    assert later.check().wrong == ()
    assert len(later.user().consumed or b"") == 16  # i22 is gone
    assert "i3" not in later.ids(candidates=("i3", "i1"), k=1)


def test_threads_learn_one_event_once(any_store: Store) -> None:
    shop = Shop(any_store)
    command = LearnInteractions("ann", (Interaction({"i3": 1.0}, "order 1"),))

    with threads(4) as start:
        running = [start(lambda: shop.executor([command])) for _ in range(4)]
    new = [outcome["new"] for one in running for outcome in one.result()]

    assert sorted(new) == [0, 0, 0, 1]
    assert len(shop.events()) == 1
    assert shop.check().wrong == ()


def test_a_fitted_prior_counts_it_as_a_like(store: Store) -> None:
    shop = Shop(store, {"lmdh": "lmdp"}, clock=Clock(), prior_min_users=10)
    for number in range(12):
        buy(shop, f"user {number}", "i3")

    with store.reading() as reader:
        states = reader.user_states("lmdh", "", 99)
    assert len(states) == 12
    assert all(State.from_bytes(state).arrays["seen"] == np.array([1.0]) for _, state in states)
    assert shop.engine.priors.fit("lmdh")["users"] == 12
