"""Users, slates and events come back as they were stored."""

import pytest

from tests.store.factories import add_users, answered, event, in_one_batch, slate, user
from variegate.errors import ConflictError
from variegate.store import SlateRow, Store, UserRow

#: Ids with what could break a statement, an index or a path
PEOPLE = [
    "o'b\"rien`; DROP TABLE users; --",
    "100%s %(x)s ? :id $1",
    "👩‍🚀 żółw \u202e",
    "x" * 1024,
    "🦉" * 256,
    "../../etc/passwd",
    '["a", {"b": null}]',
    "  \t\n ",
    "",
]


@pytest.mark.parametrize("state", [None, b"", b"\x00\xff" * 5000], ids=["none", "empty", "long"])
def test_user_comes_back_as_added(store: Store, state: bytes | None) -> None:
    row = user(state=state)

    with store.batch() as batch:
        batch.ensure_users([row])

    with store.reading() as reader:
        assert reader.users(["ada", "nobody"]) == {"ada": row}


def test_any_text_is_an_id(store: Store) -> None:
    with store.batch() as batch:
        batch.ensure_users([user(name) for name in PEOPLE])
        batch.add_slates([slate(name, name, request=name) for name in PEOPLE])
        batch.add_events([event(name) for name in PEOPLE])

    with store.batch() as batch:
        assert batch.existing([*PEOPLE, "nobody", *PEOPLE]) == ({*PEOPLE}, {})
        assert batch.lock_users(PEOPLE).keys() == {*PEOPLE}
        assert batch.existing(slates=PEOPLE) == (set(), {name: name for name in PEOPLE})
        for name in PEOPLE:
            assert [row.id for row in batch.history(name, 5)] == [name]
            assert [row.user_id for row in batch.events(name, limit=5)] == [name]
            assert batch.forget_user(name)


def test_existing_user_stays_unchanged(store: Store) -> None:
    add_users(store, "ada")

    with store.batch() as batch:
        batch.ensure_users([user("ada", slates=99), user("bob"), user("bob", slates=98)])

    with store.reading() as reader:
        assert reader.users(["ada", "bob"]) == {"ada": user("ada"), "bob": user("bob")}


def test_no_ids_give_no_rows(store: Store) -> None:
    with store.batch() as batch:
        assert (batch.users([]), batch.lock_users([])) == ({}, {})
        assert (batch.slates([]), batch.existing()) == ({}, (set(), {}))


def test_many_users_are_found_at_once(store: Store) -> None:
    names = [f"user {number}" for number in range(1500)]
    add_users(store, *names)

    with store.batch() as batch:
        assert batch.lock_users(reversed(names)).keys() == set(names)


def test_saved_user_has_the_next_version(store: Store) -> None:
    add_users(store, "ada", "bob")
    changed = user(policy="mmr", state=None, shown=b"", slates=4, created=1.0, changed=2.5)

    with store.batch() as batch:
        batch.save_users([changed])
        assert batch.users(["ada"]) == {"ada": changed._replace(version=1)}

    with store.reading() as reader:
        expected = {"ada": changed._replace(version=1), "bob": user("bob")}
        assert reader.users(["ada", "bob"]) == expected


@pytest.mark.parametrize(
    "rows",
    [
        [user("bob"), user("ada", version=1)],
        [user("ada"), user("ada")],
        [user("ada"), user("nobody")],
    ],
    ids=["another version", "twice", "not there"],
)
def test_user_changed_meanwhile_is_a_conflict(store: Store, rows: list[UserRow]) -> None:
    add_users(store, "ada", "bob")

    with pytest.raises(ConflictError, match=r"^1 of 2 users changed since they were read: read"):
        in_one_batch(
            store, lambda batch: batch.add_events([event()]), lambda batch: batch.save_users(rows)
        )

    with store.reading() as reader:
        assert reader.users(["ada", "bob"]) == {"ada": user("ada"), "bob": user("bob")}
        assert reader.events(limit=5) == []


def test_seen_items_are_saved_without_the_state(store: Store) -> None:
    add_users(store, "ada", "bob")
    given = user(policy="mmr", state=None, shown=b"\x03", slates=4, created=1.0, changed=2.5)

    with store.batch() as batch:
        batch.save_seen_items([given])

    with store.reading() as reader:
        expected = user(shown=b"\x03", slates=4, version=1, changed=2.5)
        assert reader.users(["ada", "bob"]) == {"ada": expected, "bob": user("bob")}


def test_seen_items_of_a_user_changed_meanwhile_are_a_conflict(store: Store) -> None:
    add_users(store, "ada", "bob")

    with pytest.raises(ConflictError, match=r"^1 of 2 users changed since they were read: read"):
        in_one_batch(
            store, lambda batch: batch.save_seen_items([user("bob"), user("ada", version=1)])
        )

    with store.reading() as reader:
        assert reader.users(["ada", "bob"]) == {"ada": user("ada"), "bob": user("bob")}


def test_saving_nobody_changes_nothing(store: Store) -> None:
    with store.batch() as batch:
        batch.save_users([])
        batch.save_seen_items([])
        batch.ensure_users([])
        assert batch.counts()["users"] == 0


def test_users_come_in_pages_by_their_characters(store: Store) -> None:
    # A language would sort these otherwise; the store sorts as Python does.
    names = sorted(["a", "B", "b", "_", "Z", "é", "z", "🦉", "~", "-1"])
    add_users(store, *reversed(names))

    with store.reading() as reader:
        first = reader.all_users(None, 6)
        rest = reader.all_users(first[-1].id, 6)

    assert [row.id for row in first] == names[:6]
    assert [row.id for row in rest] == names[6:]


def test_forgotten_user_leaves_nothing(store: Store) -> None:
    add_users(store, "ada", "bob")
    with store.batch() as batch:
        batch.add_slates([slate("01A", "ada"), slate("01B", "bob")])
        batch.add_events([event("ada"), event("bob")])

    with store.batch() as batch:
        assert batch.forget_user("ada") is True
        assert batch.forget_user("ada") is False

    with store.reading() as reader:
        assert reader.counts() == {"users": 1, "slates": 1, "answered": 0, "events": 1}
        assert reader.users(["ada"]) == {}
        assert reader.slates(["01A"]) == {}
        assert reader.events("ada", limit=5) == []


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
def test_slate_comes_back_as_added(store: Store, row: SlateRow) -> None:
    with store.batch() as batch:
        batch.add_slates([row, slate("01Z")])

    with store.reading() as reader:
        assert reader.slates([row.id, "01X"]) == {row.id: row}


def test_update_of_a_slate_changes_feedback_only(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates([slate("01A"), slate("01B")])
    changed = answered(slate("01A"), [1.0, None, 0.5])._replace(closed=True)

    with store.batch() as batch:
        batch.update_slates([changed._replace(policy="other", items=("x",), features=b"y", k=9)])

    with store.reading() as reader:
        assert reader.slates(["01A", "01B"]) == {"01A": changed, "01B": slate("01B")}


def test_update_of_a_missing_slate_is_a_conflict(store: Store) -> None:
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


def test_owners_of_existing_slates(store: Store) -> None:
    with store.batch() as batch:
        batch.add_slates([slate("01A", "ada"), slate("01B", "bob")])

        found = batch.existing(slates=["01B", "01A", "01X", "01A"])
        assert found == (set(), {"01A": "ada", "01B": "bob"})


def test_due_slates_are_open_and_their_time_has_come(store: Store) -> None:
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


def test_events_are_numbered_in_their_order(store: Store) -> None:
    rows = [event("ada"), event("bob", "feedback"), event("ada", "policy", slate_id=None)]

    with store.batch() as batch:
        batch.add_events(rows[:2])
    with store.batch() as batch:
        batch.add_events(rows[2:])

    with store.reading() as reader:
        kept = reader.events(limit=9)
    assert [row._replace(seq=None) for row in kept] == rows
    first, second, third = (row.seq or 0 for row in kept)
    assert 0 < first < second < third


def test_events_of_one_user_come_in_pages(store: Store) -> None:
    with store.batch() as batch:
        batch.add_events([event("ada" if n % 2 else "bob", time=float(n)) for n in range(9)])

    with store.reading() as reader:
        first = reader.events("ada", limit=3)
        rest = reader.events("ada", after_seq=first[-1].seq or 0, limit=3)
        everything = reader.events(after_seq=first[-1].seq or 0, limit=99)

    assert [row.time for row in first + rest] == [1.0, 3.0, 5.0, 7.0]
    assert [row.time for row in everything] == [6.0, 7.0, 8.0]


def test_number_of_a_deleted_event_is_not_used_again(store: Store) -> None:
    add_users(store, "ada")
    with store.batch() as batch:
        batch.add_events([event("ada")])
        (gone,) = batch.events(limit=9)
        batch.forget_user("ada")
        batch.add_events([event("bob")])

    with store.reading() as reader:
        (kept,) = reader.events(limit=9)
    assert (kept.seq or 0) > (gone.seq or 0)


def test_one_batch_of_many_events_keeps_their_order(store: Store) -> None:
    with store.batch() as batch:
        batch.add_events([event(body={"n": n}) for n in range(1000)])

    with store.reading() as reader:
        assert [row.body["n"] for row in reader.events("ada", limit=2000)] == list(range(1000))
