"""A batch is kept whole or not at all, and nobody changes its users meanwhile."""

from collections.abc import Callable
from concurrent.futures import TimeoutError as StillWaiting
from functools import partial

import pytest

from tests.store.making import (
    add_users,
    answered,
    event,
    in_one_batch,
    item,
    key,
    slate,
    threads,
    user,
)
from variegate.errors import ConflictError, InputError
from variegate.store import Batch, Store, UserRow


def change_everything(batch: Batch) -> None:
    batch.ensure_users([user("bob")])
    batch.save_users([user("ada", slates=9)])
    batch.add_slates([slate("01B")])
    batch.update_slates([answered(slate("01A"), [1.0, None, None])])
    batch.add_events([event()])
    batch.add_items([item()])
    batch.update_items([item(retired=True)])
    batch.add_key(key())
    batch.set_meta("catalogue", "films")
    batch.forget_user("bob")


def raising(error: BaseException) -> Callable[[Batch], None]:
    def step(_batch: Batch) -> None:
        raise error

    return step


def learn_once(store: Store) -> UserRow:
    """Give a user one more list, as the service does; return them as they were before."""
    with store.batch() as batch:
        row = batch.lock_users(["ada"])["ada"]
        batch.save_users([row._replace(slates=row.slates + 1)])
        batch.add_events([event()])
    return row


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_exception_leaves_nothing(store: Store, error: type[BaseException]) -> None:
    with store.batch() as batch:
        batch.ensure_users([user("ada")])
        batch.add_slates([slate("01A")])

    with pytest.raises(error, match="half-way"):
        in_one_batch(store, change_everything, raising(error("half-way")))

    with store.reading() as reader:
        assert reader.all_users(None, 9) == [user("ada")]
        assert reader.slates(["01A", "01B"]) == {"01A": slate("01A")}
        assert reader.counts() == {"users": 1, "slates": 1, "answered": 0, "events": 0}
        assert (reader.items(), reader.keys()) == ([], [])
        assert (reader.meta("catalogue"), reader.meta("items_revision")) == (None, None)


def test_batch_without_an_exception_is_kept(store: Store) -> None:
    with store.batch() as batch:
        batch.ensure_users([user("ada")])
        batch.add_slates([slate("01A")])
    with store.batch() as batch:
        change_everything(batch)

    with store.reading() as reader:
        assert reader.all_users(None, 9) == [user("ada", slates=9, version=1)]
        assert reader.counts() == {"users": 1, "slates": 2, "answered": 1, "events": 1}
        assert (reader.items(), reader.keys()) == ([item(retired=True)], [key()])
        assert reader.meta("catalogue") == "films"


def test_conflict_that_is_caught_inside_is_not_kept_either(store: Store) -> None:
    add_users(store, "ada")

    def swallow(batch: Batch) -> None:
        with pytest.raises(ConflictError, match="changed since they were read"):
            batch.save_users([user("ada", version=7)])
        with pytest.raises(ConflictError, match="changed since they were read"):
            batch.add_events([event()])

    with pytest.raises(ConflictError, match="changed since they were read"):
        in_one_batch(store, lambda batch: batch.add_events([event()]), swallow)

    with store.reading() as reader:
        assert reader.events(limit=9) == []


def test_batch_goes_on_after_what_it_refuses_beforehand(store: Store) -> None:
    add_users(store, "ada")

    with store.batch() as batch:
        with pytest.raises(InputError, match="finite numbers only"):
            batch.add_events([event("bob"), event(body={"reward": float("nan")})])
        with pytest.raises(InputError, match="`user` must hold no NUL character"):
            batch.lock_users(["a\0da"])
        batch.add_events([event("ada")])

    with store.reading() as reader:
        assert [row.user_id for row in reader.events(limit=9)] == ["ada"]


def test_reader_sees_one_moment(store: Store) -> None:
    add_users(store, "ada")

    with store.reading() as reader:
        before = reader.counts()
        add_users(store, "bob")
        assert reader.counts() == before
        assert reader.users(["bob"]) == {}
    with store.reading() as reader:
        assert reader.counts()["users"] == 2


def test_reader_does_not_see_what_is_not_kept_yet(store: Store) -> None:
    with store.batch() as batch:
        batch.ensure_users([user("ada")])
        with store.reading() as reader:
            assert reader.users(["ada"]) == {}


def test_locked_user_waits_for_the_batch_to_end(url: str) -> None:
    with Store.open(url) as store, Store.open(url) as other, threads(1) as start:
        add_users(store, "ada")
        with store.batch() as batch:
            row = batch.lock_users(["ada"])["ada"]
            waiting = start(partial(learn_once, other))
            with pytest.raises(StillWaiting):
                waiting.result(timeout=0.3)
            batch.save_users([row._replace(policy="mmr")])

        assert waiting.result(timeout=20) == user("ada", policy="mmr", version=1)


def test_users_of_two_batches_in_two_orders_do_not_stand_still(url: str) -> None:
    names = [f"user {number}" for number in range(40)]

    def learn(opened: Store, order: list[str]) -> None:
        with opened.batch() as batch:
            batch.ensure_users([user(name) for name in order])
            rows = batch.lock_users(order)
            batch.save_users([rows[name] for name in order])

    with Store.open(url) as store, Store.open(url) as other, threads(2) as start:
        orders = [(store, names), (other, names[::-1])] * 3
        done = [start(partial(learn, opened, order)) for opened, order in orders]
        assert [thread.result(timeout=60) for thread in done] == [None] * 6
        with store.reading() as reader:
            assert {row.version for row in reader.all_users(None, 99)} == {6}


def test_every_one_of_many_changes_at_once_is_kept_once(url: str) -> None:
    with Store.open(url) as store, Store.open(url) as other:
        add_users(store, "ada", slates=0)
        with threads(4) as start:
            done = [start(partial(learn_once, opened)) for opened in [store, other] * 8]
        seen = sorted(thread.result().slates for thread in done)
        with store.reading() as reader:
            assert reader.users(["ada"])["ada"] == user("ada", slates=16, version=16)
            assert reader.counts()["events"] == 16

    assert seen == list(range(16))


def test_readers_in_many_threads_share_a_store(store: Store) -> None:
    add_users(store, "ada")

    def read() -> UserRow:
        with store.reading() as reader:
            return reader.users(["ada"])["ada"]

    with threads(8) as start:
        found = [start(read) for _ in range(40)]

    assert {thread.result().id for thread in found} == {"ada"}
