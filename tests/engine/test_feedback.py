"""Feedback: what is learnt at once, what is summed, what comes late, and default rewards."""

from typing import Any

import numpy as np
import pytest

from tests.engine.lessons import expected, given, state_of
from tests.engine.shop import Shop
from variegate.engine import Feedback
from variegate.engine.feedback import MAX_REPORTS, check_rewards
from variegate.errors import ConflictError, InputError, NotFoundError
from variegate.store import Store


def test_a_report_teaches_all_positions(any_store: Store) -> None:
    shop = Shop(any_store)
    slate, (a, b, c, d) = given(shop)
    assert shop.tell(slate, {b: 1.0}) == {
        "slate_id": slate,
        "status": "learnt",
        "learnt": [a, b, c, d],
    }
    assert state_of(shop) == expected(shop, (slate, {0: 0.0, 1: 1.0, 2: 0.0, 3: 0.0}))
    row = shop.slate(slate)
    assert (row.rewards, row.taught) == ([0.0, 1.0, 0.0, 0.0], [True] * 4)
    assert (row.earned, row.answered) == (1.0, True)


def test_what_was_not_seen_teaches_nothing(shop: Shop) -> None:
    slate, (a, b, c, _d) = given(shop)
    assert shop.tell(slate, {a: 0.5}, seen=[b])["learnt"] == [a, b]
    assert state_of(shop) == expected(shop, (slate, {0: 0.5, 1: 0.0}))
    assert shop.slate(slate).rewards == [0.5, 0.0, None, None]
    assert shop.tell(slate, {c: 1.0}, seen=[a, b, c])["learnt"] == [c]
    assert state_of(shop) == expected(shop, (slate, {0: 0.5, 1: 0.0}), (slate, {2: 1.0}))


def test_the_same_again_changes_nothing_and_answers_the_same(any_store: Store) -> None:
    shop = Shop(any_store)
    slate, (a, _b, _c, d) = given(shop)
    first = shop.tell(slate, {a: 1.0}, seen=[a, d])
    user, row, log = shop.user(), shop.slate(slate), shop.events()
    shop.clock.now += 5
    assert shop.tell(slate, {a: 1.0}, seen=[d, a, d]) == first
    assert (shop.user(), shop.slate(slate), shop.events()) == (user, row, log)


def test_the_same_twice_in_one_transaction_is_learnt_once(shop: Shop) -> None:
    slate, (a, *_) = given(shop)
    report = Feedback(slate, {a: 1.0})
    one, two, three = shop.all(report, report, Feedback(slate, {a: 0.5}))
    assert one == two
    assert isinstance(three, ConflictError)
    assert state_of(shop) == expected(shop, (slate, {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0}))


def test_the_same_again_is_answered_the_same_though_more_came_between(shop: Shop) -> None:
    slate, (a, b, *_) = given(shop)
    first = shop.tell(slate, {a: 1.0}, seen=[a])
    shop.tell(slate, {b: 1.0}, seen=[b])
    assert shop.tell(slate, {a: 1.0}, seen=[a]) == first


@pytest.mark.parametrize("second", [0.0, 0.5])
def test_a_contradiction_is_a_conflict_and_leaves_no_trace(shop: Shop, second: float) -> None:
    slate, (a, b, *_) = given(shop)
    shop.tell(slate, {a: 1.0}, seen=[a])
    before = shop.user(), shop.slate(slate), shop.events()
    with pytest.raises(ConflictError, match=r"has earned 1.0 already, got 0"):
        shop.tell(slate, {b: 1.0, a: second})
    assert (shop.user(), shop.slate(slate), shop.events()) == before


def test_silence_that_was_reported_is_contradicted_by_a_click(shop: Shop) -> None:
    slate, (a, b, *_) = given(shop)
    shop.tell(slate, {a: 1.0})
    with pytest.raises(ConflictError, match="name only what was looked at in `seen`"):
        shop.tell(slate, {b: 1.0})


def test_what_is_known_already_is_stated_so(shop: Shop) -> None:
    slate, (a, b, *_) = given(shop)
    shop.tell(slate, {a: 1.0})
    before = shop.user()
    assert shop.tell(slate, {a: 1.0}, seen=[b]) == {
        "slate_id": slate,
        "status": "duplicate",
        "learnt": [],
    }
    assert shop.user()._replace(version=before.version) == before


class TestEvents:
    def test_an_event_names_a_report(self, shop: Shop) -> None:
        slate, (a, b, *_) = given(shop)
        first = shop.tell(slate, {a: 1.0}, seen=[a], event="e1")
        assert shop.tell(slate, {a: 1.0}, seen=[a], event="e1") == first
        with pytest.raises(ConflictError, match="`event` 'e1' was used for another report"):
            shop.tell(slate, {b: 1.0}, seen=[b], event="e1")

    def test_an_event_of_another_slate_is_another(self, shop: Shop) -> None:
        (one, (a, *_)), (two, (b, *_)) = given(shop), given(shop)
        assert shop.tell(one, {a: 1.0}, event="e1")["status"] == "learnt"
        assert shop.tell(two, {b: 0.0}, event="e1")["status"] == "learnt"

    def test_no_event_can_pass_for_a_report_without_one(self, store: Store) -> None:
        shop = Shop(store, aggregation="sum")
        slate, (a, *_) = given(shop)
        shop.tell(slate, {a: 0.25})
        (key,) = shop.slate(slate).reports
        shop.tell(slate, {a: 0.25}, event=key)
        assert shop.slate(slate).rewards[0] == 0.5

    def test_reports_have_an_end(self, shop: Shop) -> None:
        slate, _ = given(shop)
        reports = [Feedback(slate, {}, (), f"e{number}") for number in range(MAX_REPORTS + 1)]
        outcomes = shop.all(*reports)
        assert isinstance(outcomes[-1], ConflictError)
        assert all(isinstance(one, dict) for one in outcomes[:-1])


def test_a_report_that_says_nothing_does_not_count_as_an_answer(shop: Shop) -> None:
    slate, _ = given(shop)
    assert shop.tell(slate, {}, seen=[]) == {"slate_id": slate, "status": "duplicate", "learnt": []}
    assert not shop.slate(slate).answered
    assert shop.user().state is None


@pytest.mark.parametrize(
    ("slate", "rewards", "seen", "words"),
    [
        ("nope", {}, None, "no slate 'nope'"),
        (None, {"nope": 1.0}, None, "no item 'nope' in this slate: it has i"),
        (None, {}, ["nope"], "no item 'nope' in this slate"),
    ],
)
def test_what_was_never_given_is_not_found(
    shop: Shop, slate: str | None, rewards: dict[str, float], seen: Any, words: str
) -> None:
    known, _ = given(shop)
    before = shop.user(), shop.slate(known), shop.events()
    with pytest.raises(NotFoundError, match=words):
        shop.tell(slate or known, rewards, seen)
    assert (shop.user(), shop.slate(known), shop.events()) == before


@pytest.mark.parametrize("reward", [-0.1, 1.1, float("nan"), float("inf")])
def test_rewards_lie_from_0_to_1(reward: float) -> None:
    with pytest.raises(InputError, match="`rewards` must be from 0 to 1"):
        check_rewards({"a": reward})


def test_the_log_says_what_came_and_what_was_learnt(shop: Shop) -> None:
    slate, (a, b, *_) = given(shop)
    shop.tell(slate, {a: 1.0}, seen=[b], event="e1")
    (event,) = shop.events("ann")
    assert (event.kind, event.slate_id, event.time) == ("feedback", slate, shop.clock.now)
    assert event.body == {
        "rewards": {a: 1.0},
        "seen": [b],
        "event": "e1",
        "status": "learnt",
        "taught": {"0": 1.0, "1": 0.0},
    }


def test_feedback_makes_the_list_better(shop: Shop) -> None:
    loud = np.argsort(-shop.items.features[:, 2])[:6]
    liked = {shop.items.ids[row] for row in loud}
    for _ in range(8):
        answer = shop.give(allow_repeats=True)
        ids = [item["id"] for item in answer["items"]]
        shop.tell(answer["slate_id"], {item: 1.0 for item in ids if item in liked})
    assert len(set(shop.ids(allow_repeats=True)) & liked) >= 3


class TestSum:
    def test_rewards_add_up_to_1_and_are_learnt_in_the_end(self, any_store: Store) -> None:
        shop = Shop(any_store, aggregation="sum", wait_seconds=60.0)
        slate, (a, b, *_) = given(shop)
        assert shop.tell(slate, {a: 0.25, b: 0.5}, seen=[a, b], event="1")["status"] == "pending"
        assert shop.tell(slate, {a: 0.25, b: 0.75}, seen=[], event="2")["status"] == "pending"
        assert shop.slate(slate).rewards == [0.5, 1.0, None, None]
        assert shop.slate(slate).earned == 1.5
        assert shop.user().state is None
        shop.close(60.0)
        assert state_of(shop) == expected(shop, (slate, {0: 0.5, 1: 1.0}))
        row = shop.slate(slate)
        assert (row.closed, row.taught) == (True, [True, True, False, False])

    def test_the_same_again_adds_nothing(self, store: Store) -> None:
        shop = Shop(store, aggregation="sum")
        slate, (a, *_) = given(shop)
        for _ in range(2):
            shop.tell(slate, {a: 0.25})
            shop.tell(slate, {a: 0.25}, event="e")
        assert shop.slate(slate).rewards == [0.5, 0.0, 0.0, 0.0]

    @pytest.mark.parametrize(("late", "status"), [("drop", "late"), ("learn", "learnt")])
    def test_after_closing_what_is_open_still_may_be_learnt(
        self, store: Store, late: str, status: str
    ) -> None:
        shop = Shop(store, aggregation="sum", wait_seconds=60.0, late=late)
        slate, (a, b, *_) = given(shop)
        shop.tell(slate, {a: 0.25}, seen=[a])
        shop.close(61.0)
        answer = shop.tell(slate, {a: 1.0, b: 1.0}, seen=[])
        assert answer["status"] == status
        result = [(slate, {0: 0.25})] + [(slate, {1: 1.0})] * (late == "learn")
        assert state_of(shop) == expected(shop, *result)


class TestLate:
    def test_feedback_in_time_counts_to_the_last_moment(self, store: Store) -> None:
        shop = Shop(store, wait_seconds=60.0)
        slate, (a, *_) = given(shop)
        shop.clock.now += 60.0
        assert shop.tell(slate, {a: 1.0})["status"] == "learnt"

    def test_late_feedback_is_dropped(self, store: Store) -> None:
        shop = Shop(store, wait_seconds=60.0)
        slate, (a, *_) = given(shop)
        shop.clock.now += 60.5
        late = {"slate_id": slate, "status": "late", "learnt": []}
        assert shop.tell(slate, {a: 1.0}) == shop.tell(slate, {a: 1.0}) == late
        assert shop.user().state is None
        row = shop.slate(slate)
        assert (row.rewards, row.answered) == ([None] * 4, False)

    def test_late_feedback_is_learnt_if_so_configured(self, store: Store) -> None:
        shop = Shop(store, wait_seconds=60.0, late="learn")
        slate, (a, *_) = given(shop)
        shop.clock.now += 1e6
        assert shop.tell(slate, {a: 1.0})["status"] == "learnt"
        assert state_of(shop) == expected(shop, (slate, {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0}))

    def test_a_report_in_time_answers_the_same_when_it_is_late(self, store: Store) -> None:
        shop = Shop(store, wait_seconds=60.0)
        slate, (a, *_) = given(shop)
        first = shop.tell(slate, {a: 1.0})
        shop.clock.now += 61.0
        assert shop.tell(slate, {a: 1.0}) == first


class TestSilence:
    def test_silence_earns_the_default(self, any_store: Store) -> None:
        shop = Shop(any_store, wait_seconds=60.0, default_reward=0.125)
        slate, (a, *_) = given(shop)
        shop.tell(slate, {a: 1.0}, seen=[a])
        shop.close(59.0)
        assert not shop.slate(slate).closed
        shop.close(1.0)
        silent = {1: 0.125, 2: 0.125, 3: 0.125}
        assert state_of(shop) == expected(shop, (slate, {0: 1.0}), (slate, silent))
        row = shop.slate(slate)
        assert (row.closed, row.answered, row.taught) == (True, True, [True] * 4)
        assert row.earned == 1.375

    @pytest.mark.parametrize("late", ["drop", "learn"])
    def test_what_was_learnt_from_silence_is_not_learnt_again(
        self, store: Store, late: str
    ) -> None:
        shop = Shop(store, wait_seconds=60.0, default_reward=0.0, late=late)
        slate, (a, *_) = given(shop)
        shop.close(61.0)
        before = shop.user()
        assert shop.tell(slate, {a: 1.0})["status"] == "late"
        assert shop.user()._replace(version=before.version) == before
        assert shop.slate(slate).rewards == [0.0] * 4

    def test_closing_twice_changes_nothing(self, store: Store) -> None:
        shop = Shop(store, wait_seconds=60.0, default_reward=0.0)
        given(shop)
        shop.close(61.0)
        before = shop.user(), shop.events()
        shop.close(1.0)
        assert (shop.user(), shop.events()) == before

    def test_without_a_default_silence_teaches_nothing(self, shop: Shop) -> None:
        slate, _ = given(shop)
        shop.close(1e9)
        assert (shop.slate(slate).closed, shop.user().state) == (False, None)
