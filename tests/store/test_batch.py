"""A batch is committed as a whole or not at all; items, keys and their revisions."""

from collections.abc import Callable
from concurrent.futures import TimeoutError as StillWaiting
from functools import partial

import pytest

from tests.store.factories import (
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
from variegate.store import (
    ITEMS_HISTORY,
    ITEMS_REVISION,
    KEYS_REVISION,
    Batch,
    ItemRow,
    PriorRow,
    Store,
    UserRow,
)


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
    """Give a user one more slate, as the engine does; return the user before it."""
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


def test_batch_without_an_exception_is_committed(store: Store) -> None:
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


def test_batch_with_a_caught_conflict_is_not_committed(store: Store) -> None:
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


def test_conflict_among_changes_sent_together_rolls_them_all_back(store: Store) -> None:
    add_users(store, "ada", "bob")

    def change(batch: Batch) -> None:
        with batch.together():
            batch.add_slates([slate("01A")])
            batch.save_users([user("ada"), user("bob", version=7)])

    with pytest.raises(ConflictError, match=r"^1 of 2 users changed since they were read"):
        in_one_batch(store, change)
    with store.reading() as reader:
        assert reader.slates(["01A"]) == {}
        assert reader.users(["ada"])["ada"].version == 0


def test_batch_continues_after_invalid_input(store: Store) -> None:
    add_users(store, "ada")

    with store.batch() as batch:
        with pytest.raises(InputError, match="finite numbers only"):
            batch.add_events([event("bob"), event(body={"reward": float("nan")})])
        with pytest.raises(InputError, match="`user` must hold no NUL character"):
            batch.lock_users(["a\0da"])
        batch.add_events([event("ada")])

    with store.reading() as reader:
        assert [row.user_id for row in reader.events(limit=9)] == ["ada"]


def test_reader_sees_one_snapshot(store: Store) -> None:
    add_users(store, "ada")

    with store.reading() as reader:
        before = reader.counts()
        add_users(store, "bob")
        assert reader.counts() == before
        assert reader.users(["bob"]) == {}
    with store.reading() as reader:
        assert reader.counts()["users"] == 2


def test_reader_does_not_see_uncommitted_changes(store: Store) -> None:
    with store.batch() as batch:
        batch.ensure_users([user("ada")])
        with store.reading() as reader:
            assert reader.users(["ada"]) == {}


def test_lock_on_a_user_lasts_until_the_batch_ends(url: str) -> None:
    with Store.open(url) as store, Store.open(url) as other, threads(1) as start:
        add_users(store, "ada")
        with store.batch() as batch:
            row = batch.lock_users(["ada"])["ada"]
            waiting = start(partial(learn_once, other))
            with pytest.raises(StillWaiting):
                waiting.result(timeout=0.3)
            batch.save_users([row._replace(policy="mmr")])

        assert waiting.result(timeout=20) == user("ada", policy="mmr", version=1)


def test_batches_with_users_in_different_orders_do_not_deadlock(url: str) -> None:
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


def test_concurrent_changes_are_each_committed_once(url: str) -> None:
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


DATA = {"title": "Das Boot’s", "attributes": {"genre": ["war"]}, "features": [0.1, -2.0]}


def revision(store: Store, name: str) -> int:
    with store.reading() as reader:
        return int(reader.meta(name) or 0)


def test_items_come_by_their_row(store: Store) -> None:
    rows = [item(0, "m1"), item(1, "m2", retired=True), item(2, "m3", data=DATA)]

    with store.batch() as batch:
        batch.add_items(rows[::-1])

    with store.reading() as reader:
        assert reader.items() == rows


def test_changed_item_is_stored(store: Store) -> None:
    with store.batch() as batch:
        batch.add_items([item(0, "m1"), item(1, "m2", data=DATA)])
        batch.update_items([item(1, "m2", retired=True, data=None)])

    with store.reading() as reader:
        assert reader.items() == [item(0, "m1"), item(1, "m2", retired=True)]


@pytest.mark.parametrize("taken", [item(0, "new"), item(7, "m1")], ids=["row", "id"])
def test_item_with_a_row_or_id_that_is_taken_is_a_conflict(store: Store, taken: ItemRow) -> None:
    with store.batch() as batch:
        batch.add_items([item(0, "m1")])

    with pytest.raises(ConflictError, match="added meanwhile: retry"), store.batch() as batch:
        batch.add_items([taken])

    with store.reading() as reader:
        assert reader.items() == [item(0, "m1")]


@pytest.mark.parametrize("unknown", [item(1, "m1"), item(0, "m2")], ids=["row", "id"])
def test_update_of_a_missing_item_is_a_conflict(store: Store, unknown: ItemRow) -> None:
    with store.batch() as batch:
        batch.add_items([item(0, "m1")])

    with pytest.raises(ConflictError, match=r"^1 of 1 items do not exist"), store.batch() as batch:
        batch.update_items([unknown])


def test_every_change_of_items_is_counted(store: Store) -> None:
    with store.batch() as batch:
        batch.add_items([])
        batch.update_items([])
    assert revision(store, ITEMS_REVISION) == 0

    with store.batch() as batch:
        batch.add_items([item(0, "m1"), item(1, "m2")])
    after_adding = revision(store, ITEMS_REVISION)
    with store.batch() as batch:
        batch.update_items([item(0, "m1", retired=True)])

    assert 0 < after_adding < revision(store, ITEMS_REVISION)


def test_items_of_every_revision_can_be_read(store: Store) -> None:
    with store.batch() as batch:
        batch.add_items([item(0, "m1"), item(5, "m2", data=DATA)])
    with store.batch() as batch:
        batch.save_prior(PriorRow("lmdp"))  # counts up too
    with store.batch() as batch:
        batch.update_items([item(5, "m2", retired=True, data=DATA)])
        batch.add_items([item(6, "m3")])
    with store.batch() as batch:
        batch.update_items([item(5, "m2", data={"title": "new"})])

    with store.reading() as reader:
        at = {revision: reader.items_at(revision) for revision in range(7)}
        assert reader.item_revisions() == [1, 3, 4, 5]
        assert reader.items() == at[5] == at[6]
    first = [item(0, "m1"), item(5, "m2", data=DATA)]
    retired = [item(0, "m1"), item(5, "m2", retired=True, data=DATA)]
    assert (at[0], at[1], at[2], at[3]) == ([], first, first, retired)
    assert at[4] == [*retired, item(6, "m3")]
    assert at[5] == [item(0, "m1"), item(5, "m2", data={"title": "new"}), item(6, "m3")]


def test_history_starts_again_when_all_items_are_replaced(store: Store) -> None:
    with store.batch() as batch:
        batch.add_items([item(0, "m1"), item(1, "m2")])
    with store.batch() as batch:
        batch.replace_items([item(0, "m3", retired=True)])

    with store.reading() as reader:
        assert reader.meta(ITEMS_HISTORY) == reader.meta(ITEMS_REVISION) == "2"
        assert (reader.items_at(1), reader.items_at(2)) == ([], [item(0, "m3", retired=True)])


def test_change_that_is_rolled_back_leaves_no_history(store: Store) -> None:
    def fail() -> None:
        with store.batch() as batch:
            batch.add_items([item(0, "m1")])
            batch.update_items([item(1, "m2")])

    with pytest.raises(ConflictError):
        fail()

    with store.reading() as reader:
        assert (reader.items(), reader.item_revisions()) == ([], [])


def test_concurrent_changes_of_items_are_all_counted(store: Store) -> None:
    def add(row: int) -> None:
        with store.batch() as batch:
            batch.add_items([item(row, f"m{row}")])

    with threads(4) as start:
        added = [start(partial(add, row)) for row in range(8)]

    assert [thread.result() for thread in added] == [None] * 8
    assert revision(store, ITEMS_REVISION) == 8


def test_key_is_valid_until_it_is_revoked(store: Store) -> None:
    old, new = key("k1"), key("k2", created=1_800_000_000.0, role="admin", name="Zoë's 'key'")

    with store.batch() as batch:
        batch.add_key(new)
        batch.add_key(old)
        assert batch.keys() == [old, new]
        assert batch.revoke_key("k1", 5.5) is True
        assert batch.revoke_key("k1", 6.5) is False
        assert batch.revoke_key("k3", 6.5) is False

    with store.reading() as reader:
        assert reader.keys() == [old._replace(revoked=5.5), new]


def test_every_change_of_keys_is_counted(store: Store) -> None:
    with store.batch() as batch:
        batch.add_key(key("k1"))
    after_adding = revision(store, KEYS_REVISION)
    with store.batch() as batch:
        batch.revoke_key("unknown", 1.0)
    assert revision(store, KEYS_REVISION) == after_adding

    with store.batch() as batch:
        batch.revoke_key("k1", 1.0)
    assert 0 < after_adding < revision(store, KEYS_REVISION)


def test_entry_of_meta_is_replaced(store: Store) -> None:
    with store.batch() as batch:
        assert batch.meta("catalogue") is None
        batch.set_meta("catalogue", "first")
        batch.set_meta("catalogue", "it's the second")

    with store.reading() as reader:
        assert reader.meta("catalogue") == "it's the second"
