"""Feedback over time: sums, what comes late, and what silence is worth."""

import pytest

from tests.engine.lessons import expected, given, state_of
from tests.engine.shop import Shop
from variegate.store import Store


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
        told = [(slate, {0: 0.25})] + [(slate, {1: 1.0})] * (late == "learn")
        assert state_of(shop) == expected(shop, *told)


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
        assert shop.user() == before
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
