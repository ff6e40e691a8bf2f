"""The log keeps what happened in its order."""

from tests.store.making import add_users, event
from variegate.store import Store


def test_events_are_numbered_in_the_order_in_which_they_came(store: Store) -> None:
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


def test_number_of_a_forgotten_event_is_not_given_again(store: Store) -> None:
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
