"""Items, keys and notes, and the numbers that grow when they change."""

from functools import partial

import pytest

from tests.store.making import item, key, threads
from variegate.errors import ConflictError
from variegate.store import ITEMS_HISTORY, ITEMS_REVISION, KEYS_REVISION, ItemRow, PriorRow, Store

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


def test_changed_item_is_kept(store: Store) -> None:
    with store.batch() as batch:
        batch.add_items([item(0, "m1"), item(1, "m2", data=DATA)])
        batch.update_items([item(1, "m2", retired=True, data=None)])

    with store.reading() as reader:
        assert reader.items() == [item(0, "m1"), item(1, "m2", retired=True)]


@pytest.mark.parametrize("taken", [item(0, "new"), item(7, "m1")], ids=["row", "id"])
def test_item_in_the_place_of_another_is_a_conflict(store: Store, taken: ItemRow) -> None:
    with store.batch() as batch:
        batch.add_items([item(0, "m1")])

    with pytest.raises(ConflictError, match="added meanwhile: retry"), store.batch() as batch:
        batch.add_items([taken])

    with store.reading() as reader:
        assert reader.items() == [item(0, "m1")]


@pytest.mark.parametrize("unknown", [item(1, "m1"), item(0, "m2")], ids=["row", "id"])
def test_change_of_an_item_that_is_not_there_is_a_conflict(store: Store, unknown: ItemRow) -> None:
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


def test_items_of_every_revision_can_be_had(store: Store) -> None:
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


def test_history_begins_again_where_all_items_are_replaced(store: Store) -> None:
    with store.batch() as batch:
        batch.add_items([item(0, "m1"), item(1, "m2")])
    with store.batch() as batch:
        batch.replace_items([item(0, "m3", retired=True)])

    with store.reading() as reader:
        assert reader.meta(ITEMS_HISTORY) == reader.meta(ITEMS_REVISION) == "2"
        assert (reader.items_at(1), reader.items_at(2)) == ([], [item(0, "m3", retired=True)])


def test_change_that_is_taken_back_leaves_no_history(store: Store) -> None:
    def fail() -> None:
        with store.batch() as batch:
            batch.add_items([item(0, "m1")])
            batch.update_items([item(1, "m2")])

    with pytest.raises(ConflictError):
        fail()

    with store.reading() as reader:
        assert (reader.items(), reader.item_revisions()) == ([], [])


def test_changes_of_items_at_once_are_all_counted(store: Store) -> None:
    def add(row: int) -> None:
        with store.batch() as batch:
            batch.add_items([item(row, f"m{row}")])

    with threads(4) as start:
        added = [start(partial(add, row)) for row in range(8)]

    assert [thread.result() for thread in added] == [None] * 8
    assert revision(store, ITEMS_REVISION) == 8


def test_key_is_kept_until_it_is_revoked(store: Store) -> None:
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


def test_note_takes_the_place_of_the_one_before(store: Store) -> None:
    with store.batch() as batch:
        assert batch.meta("catalogue") is None
        batch.set_meta("catalogue", "first")
        batch.set_meta("catalogue", "it's the second")

    with store.reading() as reader:
        assert reader.meta("catalogue") == "it's the second"
