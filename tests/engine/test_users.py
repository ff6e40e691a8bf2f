"""Users: views, moves to other policies, removal."""

from zlib import crc32

import numpy as np
import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import LMDH, NOON, Shop, catalogue
from variegate.engine import Feedback
from variegate.engine.codecs import unpack_slate
from variegate.errors import NotFoundError
from variegate.policies import State
from variegate.store import Store
from variegate.store.schema import TABLES


class TestView:
    def test_it_tells_weights_with_intervals_and_words(self, shop: Shop) -> None:
        for _ in range(3):
            shop.click()
        shop.clock.now += 9
        shop.give()
        policy = shop.experiment.policy_of(shop.user(), shop.items)
        wants = policy.preferences
        view = shop.engine.user("ann")
        assert (view["policy"], view["slates"]) == ("lmdh", 4)
        assert (view["created"].timestamp(), view["changed"].timestamp()) == (NOON, NOON + 9)
        relevance = view["learnt"]["relevance"]
        assert [one["name"] for one in relevance] == ["fast", "sad", "loud", "long"]
        assert [one["weight"] for one in relevance] == wants.relevance.tolist()
        assert [one["low"] for one in relevance] == wants.relevance_interval[0].tolist()
        assert [one["high"] for one in relevance] == wants.relevance_interval[1].tolist()
        diversity = view["learnt"]["diversity"]
        assert [one["weight"] for one in diversity] == wants.diversity.tolist()
        assert all(one["low"] <= one["weight"] <= one["high"] for one in diversity)
        total = view["learnt"]["total_diversity"]
        assert total["weight"] == wants.total_diversity
        assert [total["low"], total["high"]] == wants.total_diversity_interval.tolist()
        assert view["learnt"]["words"]["likes"].startswith(("You", "Perhaps"))

    def test_a_new_user_is_not_clear_yet(self, shop: Shop) -> None:
        shop.give()
        words = shop.engine.user("ann")["learnt"]["words"]
        assert words["likes"] == "What you like is not clear yet."
        assert words["variety"] == "How varied you like it is not clear yet."

    def test_features_without_a_name_are_shown_by_titles(self, store: Store) -> None:
        items = catalogue().with_features({"feature 5": np.linspace(-1.0, 1.0, 24)})
        shop = Shop(store, {"lmdp": "lmdp"}, items=items)
        shop.click()
        learnt, prior = shop.engine.user("ann")["learnt"], shop.engine.priors.view("lmdp")
        for weights in (learnt["relevance"], prior["relevance"]):
            labels = {one["name"]: one["label"] for one in weights}
            assert labels["sad"] == "sad"
            assert labels["feature 5"].startswith("items like Film ")
        assert "feature 5" not in f"{learnt['words']} {prior['words']}"

    def test_nobody_is_not_found(self, shop: Shop) -> None:
        with pytest.raises(NotFoundError, match="no user 'ann'"):
            shop.engine.user("ann")
        with pytest.raises(NotFoundError, match="no user 'ann'"):
            shop.engine.history("ann", 5, None)


class TestHistory:
    def test_it_tells_what_came_of_each_list_the_newest_first(self, shop: Shop) -> None:
        first = shop.click()
        shop.clock.now += 1
        second = shop.give()
        history = shop.engine.history("ann", 10, None)
        assert [one["slate_id"] for one in history["slates"]] == [
            second["slate_id"],
            first["slate_id"],
        ]
        old = history["slates"][1]
        assert (old["answered"], old["earned"], old["closed"]) == (True, 1.0, False)
        assert [one["reward"] for one in old["items"]] == [1.0, 0.0, 0.0, 0.0]
        assert [one["learnt"] for one in old["items"]] == [True] * 4
        assert [one["title"] for one in old["items"]] == [one["title"] for one in first["items"]]
        assert (history["user"], history["next"]) == ("ann", None)

    def test_pages_follow_each_other(self, shop: Shop) -> None:
        slates = []
        for _ in range(5):
            slates.append(shop.give(k=1)["slate_id"])
            shop.clock.now += 1
        page = shop.engine.history("ann", 3, None)
        older = shop.engine.history("ann", 3, page["next"])
        result = [one["slate_id"] for one in page["slates"] + older["slates"]]
        assert result == slates[::-1]
        assert older["next"] is None

    def test_full_last_page_is_the_last(self, shop: Shop) -> None:
        for _ in range(4):
            shop.give(k=1)
            shop.clock.now += 1
        first = shop.engine.history("ann", 2, None)
        last = shop.engine.history("ann", 2, first["next"])
        assert [len(page["slates"]) for page in (first, last)] == [2, 2]
        assert first["next"] == first["slates"][-1]["slate_id"]
        assert last["next"] is None
        assert shop.engine.history("ann", 4, None)["next"] is None


def test_a_forgotten_user_is_in_no_table(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.click("ann")
    shop.click("bob")
    assert shop.forget("ann") == {"user": "ann", "forgotten": True}
    with any_store._database.reading() as transaction:
        for table in TABLES:
            for row in transaction.rows(f"SELECT * FROM {table}"):  # noqa: S608
                assert "ann" not in map(str, row)
    assert shop.user("bob").slates == 1
    with pytest.raises(NotFoundError, match="no user 'ann'"):
        shop.forget("ann")


def test_feedback_for_a_forgotten_user_is_not_found(any_store: Store) -> None:
    shop = Shop(any_store)
    slate = shop.give()["slate_id"]
    shop.forget()
    with pytest.raises(NotFoundError, match="its user was forgotten"):
        shop.tell(slate, {})


def test_a_forgotten_user_who_comes_back_is_new(any_store: Store) -> None:
    shop = Shop(any_store)
    first = shop.ids()
    shop.click()
    shop.forget()
    assert shop.ids() == first
    assert (shop.user().state, shop.user().slates) == (None, 1)


@pytest.mark.parametrize("line", ["lmdh:ridge=5", "c2ucb", "linucb", "dc2b", "mmr"])
def test_a_user_whose_policy_is_gone_learns_again_from_the_log(store: Store, line: str) -> None:
    old = Shop(store, {"old": "lmdh:ridge=1"})
    slates = [old.click(place=place)["slate_id"] for place in (0, 2, 1)]
    new = Shop(store, {"new": line}, clock=old.clock)
    before = new.engine.user("ann")
    policy = new.experiment.new_policy("new", new.items)
    for slate, place in zip(slates, (0, 2, 1), strict=True):
        policy.update(unpack_slate(new.slate(slate)), np.eye(4)[place])
    given = new.give(allow_repeats=True)
    user = new.user()
    assert user.policy == given["policy"] == "new"
    assert user.state == policy.state().to_bytes()
    rng = np.random.default_rng((0, crc32(b"ann"), 3))
    assert [one["id"] for one in given["items"]] == list(policy.recommend(4, rng=rng).ids)
    after = new.engine.user("ann")
    assert (before["policy"], before["learnt"]) == ("new", after["learnt"])
    assert (new.check().wrong, new.check().largest) == ((), 0.0)


def test_feedback_moves_a_user_whose_policy_is_gone_too(store: Store) -> None:
    old = Shop(store, {"old": "lmdh:ridge=1"})
    old.click()
    given = old.give()
    new = Shop(store, {"new": "c2ucb"}, clock=old.clock)
    new.tell(given["slate_id"], {given["items"][0]["id"]: 1.0})
    user = new.user()
    assert (user.policy, State.from_bytes(user.state or b"").policy) == ("new", "c2ucb")
    assert (new.check().wrong, new.check().largest) == ((), 0.0)
    assert new.slate(given["slate_id"]).policy == "old"


def test_a_policy_of_another_kind_by_the_same_name_learns_from_the_log(store: Store) -> None:
    old = Shop(store, {"it": "lmdh"})
    old.click()
    new = Shop(store, {"it": "c2ucb"}, clock=old.clock)
    assert new.check().wrong == ("ann",)
    new.give()
    assert State.from_bytes(new.user().state or b"").policy == "c2ucb"
    assert new.check().wrong == ()


def test_other_options_of_a_policy_keep_what_was_learnt(store: Store) -> None:
    old = Shop(store, {"it": "lmdh:ridge=1"})
    old.click()
    before = old.user().state
    Shop(store, {"it": "lmdh:ridge=50,exploration=0"}).give()
    assert old.user().state == before


class TestListsThatAPolicyCannotRead:
    """LSB learns from its own lists only."""

    @pytest.fixture
    def moved(self, store: Store) -> Shop:
        old = Shop(store, {"old": "lmdh"}, wait_seconds=60.0, default_reward=0.5)
        old.click()
        self.open = old.give()
        return Shop(store, {"new": "lsb"}, clock=old.clock, wait_seconds=60.0, default_reward=0.5)

    def test_it_begins_with_nothing(self, moved: Shop) -> None:
        given = moved.give()
        assert (given["policy"], len(given["items"])) == ("new", 4)
        blank = moved.experiment.new_policy("new", moved.items)
        assert moved.user().state == blank.state().to_bytes()
        assert moved.check().wrong == ()

    def test_feedback_on_them_is_late(self, moved: Shop) -> None:
        liked = {self.open["items"][0]["id"]: 1.0}
        answer = moved.tell(self.open["slate_id"], liked)
        assert (answer["status"], answer["learnt"]) == ("late", [])
        assert moved.tell(self.open["slate_id"], liked) == answer
        assert not moved.slate(self.open["slate_id"]).answered

    def test_they_are_closed_all_the_same(self, moved: Shop) -> None:
        moved.close(61.0)
        row = moved.slate(self.open["slate_id"])
        assert (row.closed, row.taught) == (True, [False] * 4)

    def test_its_own_lists_teach_it(self, moved: Shop) -> None:
        given = moved.click()
        assert moved.slate(given["slate_id"]).taught == [True] * 4
        assert (moved.check().wrong, moved.check().largest) == ((), 0.0)


class TestTwoProcesses:
    """Two executors over one store, each with its own cached policies."""

    def test_what_one_learnt_the_other_knows(self, any_store: Store) -> None:
        one = Shop(any_store)
        two = Shop(any_store, clock=one.clock)
        for shop in (one, two, two, one, two, one):
            shop.click(allow_repeats=True)
        policy = one.experiment.policy_of(one.user(), one.items)
        assert one.ids(allow_repeats=True) == list(policy.recommend(4).ids)
        assert (one.check().wrong, one.check().largest) == ((), 0.0)

    def test_a_user_who_was_replaced_elsewhere_is_not_remembered(
        self, opening: Opening, any_store: Store
    ) -> None:
        one = Shop(any_store)
        one.give("ann")
        early = one.exported()
        one.click("ann")  # remembered here, with what it has learnt
        remembered = one.user().version
        two = Shop(any_store, clock=one.clock)
        two.take_in(early, replace=True)
        two.give("ann")
        # By the version alone one could tell: all times are equal.
        assert abs(two.user().version - remembered) > 100
        fresh = Shop(opening("sqlite"), LMDH)
        assert one.ids("ann", allow_repeats=True) == fresh.ids("ann")

    def test_both_taking_the_same_report_learn_it_once(self, any_store: Store) -> None:
        one, two = Shop(any_store), Shop(any_store)
        given = one.give()
        report = Feedback(given["slate_id"], {given["items"][0]["id"]: 1.0})
        assert one.all(report) == two.all(report)
        assert len(one.events()) == 1
        assert (one.check().wrong, one.check().largest) == ((), 0.0)
