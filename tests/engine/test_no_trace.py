"""What is refused, or fails, leaves nothing: not in the store, not in memory."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import LMDH, Shop, new_item
from variegate.engine import Feedback, RecommendRequest, items
from variegate.engine.items import UpsertItems
from variegate.errors import ConflictError, InputError, NotFoundError, StoreError
from variegate.policies import State
from variegate.store import Batch, Store, UserRow


def everything(store: Store) -> list[Any]:
    """Return all rows of the store that are about users."""
    with store.reading() as reader:
        users = reader.all_users(None, 1000)
        slates = [row for user in users for row in reader.history(user.id, 1000)]
        return [users, slates, reader.events(limit=1000), reader.counts()]


def test_a_refused_operation_leaves_the_others(any_store: Store) -> None:
    shop = Shop(any_store)
    given = shop.give("ann")
    liked = given["items"][0]["id"]
    refused, learnt, missing, listed = shop.all(
        RecommendRequest("bob", k=0),
        Feedback(given["slate_id"], {liked: 1.0}),
        Feedback("nope", {}),
        RecommendRequest("cid"),
    )
    assert isinstance(refused, InputError)
    assert learnt["status"] == "learnt"
    assert isinstance(missing, NotFoundError)
    assert len(listed["items"]) == 4
    with any_store.reading() as reader:
        assert set(reader.users(["ann", "bob", "cid"])) == {"ann", "cid"}
    assert shop.check().wrong == ()


def test_a_refused_request_of_a_known_user_changes_nothing(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.click()
    before = everything(any_store)
    outcomes = shop.all(
        RecommendRequest("ann", k=0),
        RecommendRequest("ann", candidates=("nope",), strict=True),
        RecommendRequest("bob", exclude=("nope",), strict=True),
    )
    assert all(isinstance(one, (InputError, NotFoundError)) for one in outcomes)
    assert everything(any_store) == before


def test_a_refused_request_does_not_move_a_user_to_another_policy(store: Store) -> None:
    Shop(store).click()
    before = everything(store)
    later = Shop(store, {"new": "c2ucb"})
    (outcome,) = later.all(RecommendRequest("ann", k=0))
    assert isinstance(outcome, InputError)
    assert everything(store) == before


def test_a_user_who_was_refused_and_then_given_a_list_is_kept(shop: Shop) -> None:
    refused, given = shop.all(RecommendRequest("ann", k=0), RecommendRequest("ann"))
    assert isinstance(refused, InputError)
    assert shop.user().slates == 1
    assert shop.slate(given["slate_id"]).user_id == "ann"


class TestFailedCommit:
    """The work was done in memory, and then the store refused it."""

    @pytest.fixture
    def shop(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> Shop:
        shop = Shop(store)
        shop.click()
        given = shop.give()
        self.report = Feedback(given["slate_id"], {given["items"][1]["id"]: 1.0})
        self.failing(monkeypatch, StoreError("the disk is full"))
        return shop

    def failing(self, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        self.patch = monkeypatch

        def save_users(_batch: Batch, _rows: Sequence[UserRow]) -> None:
            raise error

        monkeypatch.setattr(Batch, "save_users", save_users)

    def test_nothing_is_kept_and_all_are_reported(self, shop: Shop) -> None:
        before = everything(shop.store)
        with pytest.raises(StoreError, match="the disk is full"):
            shop.all(self.report, RecommendRequest("ann"), RecommendRequest("bob"))
        assert everything(shop.store) == before

    def test_memory_holds_nothing_of_it(self, shop: Shop) -> None:
        with pytest.raises(StoreError, match="the disk is full"):
            shop.all(self.report)
        self.patch.undo()
        assert shop.all(self.report)[0]["status"] == "learnt"
        assert (shop.check().wrong, shop.check().largest) == ((), 0.0)

    def test_the_next_list_is_made_by_what_is_kept(self, shop: Shop) -> None:
        with pytest.raises(StoreError, match="the disk is full"):
            shop.all(self.report)
        self.patch.undo()
        policy = shop.experiment.policy_of(shop.user(), shop.items)
        assert shop.ids(allow_repeats=True) == list(policy.recommend(4).ids)

    def test_a_fault_of_ours_leaves_nothing_either(self, shop: Shop) -> None:
        self.failing(self.patch, ZeroDivisionError("ours"))
        with pytest.raises(ZeroDivisionError):
            shop.all(self.report)
        self.patch.undo()
        shop.all(self.report)
        assert (shop.check().wrong, shop.check().largest) == ((), 0.0)


def test_items_are_kept_all_of_them_or_none(any_store: Store) -> None:
    shop = Shop(any_store)
    (outcome,) = shop.all(UpsertItems([new_item("good"), new_item("bad", features=[1.0])]))
    assert isinstance(outcome, InputError)
    assert shop.engine.items("good", 10, 0)["items"] == []
    with any_store.reading() as reader:
        assert reader.items() == []


def test_items_whose_commit_fails_are_not_recommended(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = items.new_snapshot

    def then_fail(batch: Batch, executor: Any) -> None:
        assert len(build(batch, executor).catalogue) == 25
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(items, "new_snapshot", then_fail)
        with pytest.raises(StoreError, match="the disk is full"):
            shop.snapshot(new_item())
    assert "new" not in shop.ids(k=24)
    assert shop.engine.catalogue()["items"] == 24


def test_a_user_that_another_process_brought_in_meanwhile_is_not_forgotten(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Refused, a new user's row goes again, but only if it is the one that was made for them.
    store = opening("postgres")
    shop = Shop(store)
    other = Shop(opening("sqlite"), LMDH)
    other.click("ann")
    lines = other.exported()
    ensure = Batch.ensure_users

    def after_the_import(batch: Batch, rows: Sequence[UserRow]) -> None:
        monkeypatch.setattr(Batch, "ensure_users", ensure)
        Shop(store).take_in(lines)
        batch.ensure_users(rows)

    monkeypatch.setattr(Batch, "ensure_users", after_the_import)
    (outcome,) = shop.all(RecommendRequest("ann", k=0))
    assert isinstance(outcome, InputError)
    assert shop.user().state == other.user().state


def test_a_user_that_another_process_forgot_meanwhile_is_new_again(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opening("postgres")
    shop = Shop(store)
    shop.click("ann")
    lock = Batch.lock

    def after_forgetting(batch: Batch, *wanted: Any) -> Any:
        monkeypatch.setattr(Batch, "lock", lock)
        Shop(store).forget("ann")
        return batch.lock(*wanted)

    monkeypatch.setattr(Batch, "lock", after_forgetting)
    given, listed = shop.all(RecommendRequest("ann"), RecommendRequest("bob"))
    assert [item["id"] for item in given["items"]] == [item["id"] for item in listed["items"]]
    assert (shop.user().slates, shop.user().state) == (1, None)


def test_numbers_that_no_json_holds_are_refused(shop: Shop) -> None:
    (outcome,) = shop.all(UpsertItems([new_item(features=[float("nan"), 0.0, 0.0, 0.0])]))
    assert isinstance(outcome, InputError)
    (outcome,) = shop.all(UpsertItems([new_item(attributes={"year": float("inf")})]))
    assert isinstance(outcome, InputError)
    assert shop.engine.catalogue()["items"] == 24


def test_a_conflict_in_the_store_rolls_all_back(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.click()
    before = everything(shop.store)
    lock = Batch.lock_users

    def with_an_old_version(batch: Batch, *wanted: Any) -> dict[str, UserRow]:
        return {name: row._replace(version=0) for name, row in lock(batch, *wanted).items()}

    monkeypatch.setattr(Batch, "lock_users", with_an_old_version)
    with pytest.raises(ConflictError, match="changed since they were read"):
        shop.all(RecommendRequest("ann"), RecommendRequest("bob"))
    assert everything(shop.store) == before


def test_a_state_that_cannot_be_read_is_learnt_again_from_the_log(shop: Shop) -> None:
    shop.click()
    kept = shop.user().state
    with shop.store.batch() as batch:
        batch.save_users([shop.user()._replace(state=b"rubbish")])
    assert shop.check().wrong == ("ann",)
    assert shop.engine.user("ann")["learnt"] is not None
    shop.give()
    assert shop.user().state == kept
    assert kept is not None
    assert State.from_bytes(kept).policy == "lmdh"
