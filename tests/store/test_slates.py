"""Lists are kept whole; what feedback and time change of them is all that changes."""

import pytest

from tests.store.making import answered, event, in_one_batch, slate
from variegate.errors import ConflictError
from variegate.store import SlateRow, Store

NEVER = slate(
    "01C",
    deadline=None,
    due=None,
    request=None,
    terms={},
    propensities=None,
    items=(),
    diversity={},
    rewards=[],
    taught=[],
)


@pytest.mark.parametrize(
    "row", [slate(), answered(slate(), [1.0, None, 0.1]), NEVER], ids=["new", "answered", "empty"]
)
def test_slate_comes_back_as_it_was_added(store: Store, row: SlateRow) -> None:
    with store.batch() as batch:
        batch.add_slates([row, slate("01Z")])

    with store.reading() as reader:
        assert reader.slates([row.id, "01X"]) == {row.id: row}


def test_change_keeps_what_can_change(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates([slate("01A"), slate("01B")])
    changed = answered(slate("01A"), [1.0, None, 0.5])._replace(closed=True)

    with store.batch() as batch:
        batch.update_slates([changed._replace(policy="other", items=("x",), features=b"y", k=9)])

    with store.reading() as reader:
        assert reader.slates(["01A", "01B"]) == {"01A": changed, "01B": slate("01B")}


def test_change_of_a_slate_that_is_gone_is_a_conflict(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates([slate("01A")])

    gone = [answered(slate("01A"), [1.0]), slate("01B")]
    with pytest.raises(ConflictError, match=r"^1 of 2 slates do not exist: read them again$"):
        in_one_batch(store, lambda batch: batch.update_slates(gone))

    with store.reading() as reader:
        assert reader.slates(["01A"]) == {"01A": slate("01A")}


def test_slate_with_an_id_that_is_taken_is_a_conflict(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates([slate("01A")])

    with pytest.raises(ConflictError, match="something with the same id was added meanwhile"):
        in_one_batch(
            store,
            lambda batch: batch.add_events([event()]),
            lambda batch: batch.add_slates([slate("01B"), slate("01A", "eve")]),
        )

    with store.reading() as reader:
        assert reader.counts() == {"users": 0, "slates": 1, "answered": 0, "events": 0}


def test_history_comes_newest_first_in_pages(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates([slate(f"01{letter}") for letter in "CAEBD"])
        batch.add_slates([slate("01BB", "bob")])

    with store.reading() as reader:
        assert [row.id for row in reader.history("ada", 2)] == ["01E", "01D"]
        assert [row.id for row in reader.history("ada", 2, "01D")] == ["01C", "01B"]
        assert [row.id for row in reader.history("ada", 9, before="01B")] == ["01A"]
        assert reader.history("ada", 9, before="01A") == []
        assert reader.history("bob", 1) == [slate("01BB", "bob")]


def test_owners_are_told_for_slates_that_there_are(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates([slate("01A", "ada"), slate("01B", "bob")])

        assert batch.slate_owners(["01B", "01A", "01X", "01A"]) == {"01A": "ada", "01B": "bob"}


def test_due_are_open_slates_whose_time_has_come(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates(
            [
                slate("01A", due=30.0),
                slate("01B", "bob", due=10.0),
                slate("01C", due=None),
                slate("01D", due=5.0, closed=True),
                slate("01E", due=20.5),
            ]
        )

        assert batch.due_slates(20.5, 9) == [("01B", "bob"), ("01E", "ada")]
        assert batch.due_slates(1e12, 1) == [("01B", "bob")]
        assert batch.due_slates(9.9, 9) == []

        batch.update_slates([slate("01B", closed=True)])
        assert batch.due_slates(25.0, 9) == [("01E", "ada")]
