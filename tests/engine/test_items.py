"""Items that come, change and go, and users who are none the worse."""

from typing import Any

import numpy as np
import pytest

from tests.engine.shop import Shop, catalogue, new_item
from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.items import RetireItem, UpsertItems
from variegate.errors import ConflictError, DataError, InputError, NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import jaccard
from variegate.policies import Dial
from variegate.store import Store


def test_a_new_item_can_be_in_the_next_list(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.give()
    shop.snapshot(new_item())
    given = shop.give()
    assert given["items"][0]["id"] == "new"  # it is like nothing before
    assert given["items"][0]["title"] == "The new"


def test_feedback_on_a_new_item_is_learnt(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.snapshot(new_item())
    given = shop.give()
    assert shop.tell(given["slate_id"], {"new": 1.0})["status"] == "learnt"
    assert (shop.check().wrong, shop.check().largest) == ((), 0.0)


def test_the_shelf_is_the_librarys_catalogue_extended(shop: Shop) -> None:
    shop.snapshot(new_item())
    with shop.store.reading() as reader:
        snapshot = shop.engine.live.as_of(reader).catalogue
    assert (snapshot.ids[-1], len(snapshot)) == ("new", 25)
    by_name = {h.name: h for h in snapshot.distances}
    assert by_name["genres"].from_item(24)[:24].tolist() == [1.0] * 24
    assert by_name["country"].from_item(24)[:24].tolist() == [1.0] * 24
    years = np.abs(2031 - np.array(shop.items.attributes["year"])) / by_name["years"].scale
    assert np.allclose(by_name["years"].from_item(24)[:24], years, atol=1e-12)
    for old, new in zip(shop.items.distances, snapshot.distances, strict=True):
        assert np.array_equal(old.matrix(), new.matrix()[:24, :24])


def test_a_retired_item_is_in_no_list(any_store: Store) -> None:
    shop = Shop(any_store)
    best = shop.ids("ann")[0]
    assert shop.retire(best) == shop.retire(best) == {"id": best, "retired": True}
    assert best not in shop.ids("bob", k=24)
    assert best not in shop.ids("ann", k=24, allow_repeats=True)
    with pytest.raises(InputError, match="must leave an item that is not retired"):
        shop.give(candidates=(best,))


def test_feedback_on_an_item_that_was_retired_meanwhile_counts(shop: Shop) -> None:
    given = shop.give()
    shop.retire(given["items"][0]["id"])
    assert shop.tell(given["slate_id"], {given["items"][0]["id"]: 1.0})["status"] == "learnt"
    assert shop.check().wrong == ()


def test_a_retired_item_comes_back_when_it_is_stocked_again(shop: Shop) -> None:
    shop.retire("i3")
    shop.snapshot({"id": "i3"})
    assert shop.ids(candidates=("i3",)) == ["i3"]
    assert shop.engine.item("i3")["title"] == "Film 3"


def test_what_an_item_was_when_shown_is_what_is_learnt(any_store: Store) -> None:
    shop = Shop(any_store)
    one = Shop(any_store, clock=shop.clock)
    given = shop.give()
    first = given["items"][0]["id"]
    policy = shop.experiment.new_policy("lmdh", shop.items)
    slate = policy.recommend(4)
    one.snapshot({"id": first, "features": [0.0, 0.0, 0.0, 100.0]})
    shop.tell(given["slate_id"], {first: 1.0})
    policy.update(slate, [1.0, 0.0, 0.0, 0.0])
    assert shop.user().state == policy.state().to_bytes()
    assert (shop.check().wrong, shop.check().largest) == ((), 0.0)


def test_learnt_users_are_unharmed_by_changes_of_items(any_store: Store) -> None:
    shop = Shop(any_store, {"a": "lmdh:ridge=1", "b": "linucb", "c": "lsb", "d": "dc2b"})
    users = [f"u{number}" for number in range(8)]
    for user in users:
        shop.click(user)
    before = [(shop.user(user), shop.engine.user(user)["learnt"]) for user in users]
    shop.snapshot(new_item("n1"), {"id": "i0", "distances": {"genres": ["opera", "silent"]}})
    shop.snapshot(new_item("n2"), {"id": "n1", "title": "N1", "features": [1.0, 2.0, 3.0, 4.0]})
    shop.retire("i5")
    assert [(shop.user(user), shop.engine.user(user)["learnt"]) for user in users] == before
    for user in users:
        shop.click(user)
    assert (shop.check().wrong, shop.check().largest) == ((), 0.0)


def test_a_change_keeps_what_is_not_named(shop: Shop) -> None:
    before = shop.engine.item("i4")
    shop.snapshot({"id": "i4", "title": "Other", "attributes": {"year": 1999}})
    after = shop.engine.item("i4")
    assert (after.pop("title"), before.pop("title")) == ("Other", "Film 4")
    assert after["attributes"] == {"year": 1999, "genres": before["attributes"]["genres"]}
    assert {**after, "attributes": None} == {**before, "attributes": None}


def test_an_attribute_can_be_taken_away(shop: Shop) -> None:
    shop.snapshot({"id": "i4", "attributes": {"year": None}})
    assert shop.engine.item("i4")["attributes"]["year"] is None


def test_one_distance_can_be_changed_alone(shop: Shop) -> None:
    before = shop.engine.item("i4")["distances"]
    shop.snapshot({"id": "i4", "distances": {"country": "is"}})
    assert shop.engine.item("i4")["distances"] == {**before, "country": "is"}


def test_features_can_be_named(shop: Shop) -> None:
    shop.snapshot(new_item(features={"sad": 2.5}))
    assert shop.engine.item("new")["features"] == [0.0, 2.5, 0.0, 0.0]


def test_known_and_new_items_can_come_together(any_store: Store) -> None:
    # A known one that was never changed before is new to the store, but keeps its row.
    shop = Shop(any_store)
    shop.snapshot({"id": "i1", "title": "One"}, new_item("n1"), {"id": "i2", "title": "Two"})
    shop.snapshot(new_item("n2"), {"id": "n1", "title": "N"}, new_item("n3"))
    with any_store.reading() as reader:
        snapshot = shop.engine.live.as_of(reader)
        rows = {row.id: row.row for row in reader.items()}
    assert rows == {"i1": 1, "i2": 2, "n1": 24, "n2": 25, "n3": 26}
    assert {name: snapshot.row_of(name) for name in rows} == rows
    shop.retire("n1")
    assert not set(shop.ids(candidates=("n1", "n2"))) - {"n2"}


def test_another_process_sees_what_changed(any_store: Store) -> None:
    one, two = Shop(any_store), Shop(any_store)
    two.give("ann")  # its policy is remembered, over the old catalogue
    one.snapshot(new_item("n1"))
    two.snapshot(new_item("n2"))
    one.retire("n2")
    assert two.ids("ann")[0] == "n1"
    assert one.engine.item("n2")["retired"]
    assert two.engine.catalogue()["items"] == 25


def test_a_process_that_starts_later_has_the_same_items(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.snapshot(new_item("n1"), {"id": "i1", "title": "One", "distances": {"genres": ["opera"]}})
    shop.retire("i2")
    shop.click()
    later = Shop(any_store, clock=shop.clock)
    assert later.engine.items("", 100, 0) == shop.engine.items("", 100, 0)
    assert later.engine.item("i1") == shop.engine.item("i1")
    assert (later.check().wrong, later.check().largest) == ((), 0.0)


def test_a_reader_that_began_before_a_change_does_not_turn_the_shelf_back(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(any_store)
    with any_store.reading() as early:
        assert early.meta("items_revision") is None
        shop.snapshot(new_item())
        assert len(shop.engine.live.as_of(early).catalogue) == 24
    monkeypatch.setattr(LiveCatalogue, "build", None)  # what is there will do
    assert shop.ids()[0] == "new"
    with any_store.reading() as reader:
        assert len(shop.engine.live.as_of(reader).catalogue) == 25


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"id": "x"}, "`features` must be given for the new item 'x'"),
        ({"id": "x", "features": [1.0, 2.0]}, "`features` must be 4 numbers, .* got 2"),
        ({"id": "x", "features": {"nope": 1.0}}, "`features` must be among .* got 'nope'"),
        ({"id": "x", "features": [0.0] * 4}, "`distances` must have a value for 'genres'"),
        (new_item(features="abcd"), "`features` must be"),
        (new_item(features=[1e200, 0.0, 0.0, 0.0]), "`features` must be"),
        (new_item(attributes={"colour": "red"}), "`attributes` must be among .* got 'colour'"),
        (new_item(distances={"cosine": 1}), "`distances` must be among .* got 'cosine'"),
        ({"id": "i1", "distances": {"genres": "drama"}}, "genres` must have a list of labels"),
        ({"id": "i1", "distances": {"years": "x"}}, "years` must have a number"),
        ({"id": "i1", "distances": {"country": ["fr"]}}, "country` must have a label"),
        ({"id": "i1", "distances": {"place": [1.0]}}, "place` must have a list of 2 numbers"),
        (new_item("a\nb"), "`id` must be 1 to 200 printable characters"),
        (new_item("x" * 201), "`id` must be 1 to 200 printable characters"),
        (new_item(""), "`id` must be 1 to 200 printable characters"),
    ],
)
def test_an_item_that_does_not_fit_is_refused(shop: Shop, item: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        shop.snapshot(item)
    with shop.store.reading() as reader:
        assert reader.items() == []


def test_an_item_stands_once_in_a_request(shop: Shop) -> None:
    with pytest.raises(InputError, match="distinct ids, got 'new' twice"):
        shop.snapshot(new_item(), new_item())


def test_what_some_policy_could_not_serve_is_not_kept(store: Store) -> None:
    shop = Shop(store, {"top": f"popular:popularity={list(range(24))}".replace(" ", "")})
    with pytest.raises(InputError, match="`popularity` must have 25 numbers"):
        shop.snapshot(new_item())
    assert len(shop.ids()) == 4


def test_the_last_item_stays(store: Store) -> None:
    items = Catalogue(["a", "b"], [[1.0], [2.0]], "cosine")
    shop = Shop(store, items=items, k=2)
    shop.retire("a")
    with pytest.raises(ConflictError, match="the last item cannot be retired"):
        shop.retire("b")
    assert shop.ids() == ["b"]


@pytest.mark.parametrize("what", ["retire", "look"])
def test_an_item_that_is_not_there_is_not_found(shop: Shop, what: str) -> None:
    with pytest.raises(NotFoundError, match="no item 'nope'"):
        shop.retire("nope") if what == "retire" else shop.engine.item("nope")


def test_a_store_serves_one_catalogue_alone(store: Store) -> None:
    Shop(store)
    with pytest.raises(DataError, match="made for another catalogue than Catalogue"):
        Shop(store, items=catalogue(25))


def test_a_policy_that_does_not_fit_is_found_at_the_start(store: Store) -> None:
    with pytest.raises(InputError, match="`popularity` must have 24 numbers"):
        Shop(store, {"top": "popular:popularity=[1,2]"})


def test_a_policy_is_remembered_over_one_catalogue_alone(shop: Shop) -> None:
    shop.click("ann")
    shop.snapshot(new_item())
    assert shop.ids("ann", allow_repeats=True, dial=Dial(floor=9.0), k=25)
    with shop.store.reading() as reader:
        assert len(shop.engine.live.as_of(reader).catalogue) == 25
    shop.click("ann", candidates=("new",))
    assert shop.check().wrong == ()


def test_a_distance_on_labels_takes_new_ones_at_any_time(store: Store) -> None:
    items = Catalogue(["a", "b"], [[1.0], [2.0]], jaccard([["x"], ["y"]], name="tags"))
    shop = Shop(store, items=items, k=2)
    outcomes = [
        *shop.all(UpsertItems([{"id": "c", "features": [3.0], "distances": {"tags": ["z", "x"]}}])),
        *shop.all(UpsertItems([{"id": "a", "distances": {"tags": []}}])),
        *shop.all(RetireItem("b")),
    ]
    assert all(isinstance(one, dict) for one in outcomes)
    assert shop.engine.item("a")["distances"] == {"tags": []}
    assert sorted(shop.ids()) == ["a", "c"]
