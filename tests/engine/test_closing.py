"""Closing many lists: all of them, in turns, whatever is wrong with one."""

from tests.engine.conftest import Opening
from tests.engine.shop import Shop
from variegate.engine.feedback import CloseSlate
from variegate.engine.queue import MAX_BATCH
from variegate.store import Store


def test_more_lists_than_fit_a_transaction_are_closed(store: Store) -> None:
    shop = Shop(store, wait_seconds=60.0, default_reward=0.5)
    slates = [shop.give(f"u{number % 7}", k=2)["slate_id"] for number in range(MAX_BATCH + 9)]
    shop.close(60.0)
    assert all(shop.slate(slate).closed for slate in slates)
    assert shop.check().wrong == ()


def test_a_list_that_cannot_be_learnt_from_is_closed_all_the_same(store: Store) -> None:
    shop = Shop(store, wait_seconds=60.0, default_reward=0.5)
    slates = [shop.give(k=1)["slate_id"] for _ in range(3)]
    with store.batch() as batch:
        batch._transaction.change("UPDATE slates SET features = ? WHERE id = ?", b"?", slates[1])
    # One that has not cached the lists.
    shop = Shop(store, clock=shop.clock, wait_seconds=60.0, default_reward=0.5)
    shop.close(61.0)
    assert [shop.slate(slate).closed for slate in slates] == [True] * 3
    assert [shop.slate(slate).taught for slate in slates] == [[True], [False], [True]]
    assert shop.check().wrong == ()


def test_a_clock_that_stands_still_ends_the_closing(store: Store) -> None:
    shop = Shop(store, wait_seconds=0.0, default_reward=0.5)
    for number in range(MAX_BATCH):
        shop.give(f"u{number}", k=1)
    shop.engine.close_due()
    with store.reading() as reader:
        assert reader.due_slates(shop.clock.now, 1) == []


def test_what_another_process_closed_is_left_alone(store: Store) -> None:
    shop = Shop(store, wait_seconds=60.0, default_reward=0.5)
    slate = shop.give()["slate_id"]
    assert shop.all(CloseSlate(slate)) == [{"closed": False}]
    shop.clock.now += 60.0
    assert shop.all(CloseSlate(slate), CloseSlate(slate)) == [{"closed": True}, {"closed": False}]
    assert [event.kind for event in shop.events()] == ["close"]


def test_closing_waits_for_no_user_whom_another_process_has_locked(opening: Opening) -> None:
    store = opening("postgres")
    shop = Shop(store, wait_seconds=60.0, default_reward=0.5)
    ann, bob = (shop.give(user)["slate_id"] for user in ("ann", "bob"))
    with store.batch() as other:
        other.lock_users(["ann"])
        shop.close(61.0)
        assert [shop.slate(slate).closed for slate in (ann, bob)] == [False, True]
    shop.close(0.0)
    assert shop.slate(ann).closed
