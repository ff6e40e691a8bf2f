"""Users are kept as they are given, and change only from the version that was read."""

import pytest

from tests.store.making import add_users, event, in_one_batch, slate, user
from variegate.errors import ConflictError
from variegate.store import Store, UserRow

PEOPLE = {
    "quotes": "o'b\"rien`; DROP TABLE users; --",
    "percent": "100%s %(x)s ? :id $1",
    "emoji": "👩‍🚀 żółw \u202e",
    "long": "x" * 1024,
    "long emoji": "🦉" * 256,
    "path": "../../etc/passwd",
    "json": '["a", {"b": null}]',
    "spaces": "  \t\n ",
    "empty": "",
}


@pytest.mark.parametrize("state", [None, b"", b"\x00\xff" * 5000], ids=["none", "empty", "long"])
def test_user_comes_back_as_they_were_added(store: Store, state: bytes | None) -> None:
    row = user(state=state)

    with store.batch() as batch:
        batch.ensure_users([row])

    with store.reading() as reader:
        assert reader.users(["ada", "nobody"]) == {"ada": row}


@pytest.mark.parametrize("name", PEOPLE.values(), ids=PEOPLE)
def test_any_text_is_an_id(store: Store, name: str) -> None:
    with store.batch() as batch:
        batch.ensure_users([user(name)])
        batch.add_slates([slate("01A", name)])
        batch.add_events([event(name)])

    with store.batch() as batch:
        assert batch.existing_users([name, "nobody", name]) == {name}
        assert list(batch.lock_users([name])) == [name]
        assert batch.slate_owners(["01A"]) == {"01A": name}
        assert [row.id for row in batch.history(name, 5)] == ["01A"]
        assert [row.user_id for row in batch.events(name, limit=5)] == [name]
        assert batch.forget_user(name)


def test_user_who_is_there_stays_as_they_are(store: Store) -> None:
    add_users(store, "ada")

    with store.batch() as batch:
        batch.ensure_users([user("ada", slates=99), user("bob"), user("bob", slates=98)])

    with store.reading() as reader:
        assert reader.users(["ada", "bob"]) == {"ada": user("ada"), "bob": user("bob")}


def test_asking_for_nobody_gives_nobody(store: Store) -> None:
    with store.batch() as batch:
        assert (batch.users([]), batch.lock_users([]), batch.existing_users([])) == ({}, {}, set())
        assert (batch.slates([]), batch.slate_owners([])) == ({}, {})


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
def test_user_who_changed_meanwhile_is_a_conflict(store: Store, rows: list[UserRow]) -> None:
    add_users(store, "ada", "bob")

    with pytest.raises(ConflictError, match=r"^1 of 2 users changed since they were read: read"):
        in_one_batch(
            store, lambda batch: batch.add_events([event()]), lambda batch: batch.save_users(rows)
        )

    with store.reading() as reader:
        assert reader.users(["ada", "bob"]) == {"ada": user("ada"), "bob": user("bob")}
        assert reader.events(limit=5) == []


def test_what_a_list_changes_is_saved_without_what_was_learnt(store: Store) -> None:
    add_users(store, "ada", "bob")
    given = user(policy="mmr", state=None, shown=b"\x03", slates=4, created=1.0, changed=2.5)

    with store.batch() as batch:
        batch.save_seen_items([given])

    with store.reading() as reader:
        expected = user(shown=b"\x03", slates=4, version=1, changed=2.5)
        assert reader.users(["ada", "bob"]) == {"ada": expected, "bob": user("bob")}


def test_list_for_a_user_who_changed_meanwhile_is_a_conflict(store: Store) -> None:
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
