"""Items are added, changed and retired at run time; attributes become features and distances."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.shop import Shop, catalogue, new_item
from tests.service.caller import Caller, error
from tests.service.whole import service
from variegate.data.build import content_catalogue
from variegate.data.films import film_catalogue
from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.items import RetireItem, UpsertItems
from variegate.errors import ConflictError, DataError, InputError, NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import jaccard
from variegate.model.encoder import ColumnSource
from variegate.model.item_table import ItemTable
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


def learnt_weights(shop: Shop, user: str) -> dict[str, Any]:
    """Return the weights and their intervals; how sure a statement is depends on the items."""
    learnt = shop.engine.user(user)["learnt"]
    total = {name: learnt["total_diversity"][name] for name in ("weight", "low", "high")}
    return {"relevance": learnt["relevance"], "diversity": learnt["diversity"], "total": total}


def test_learnt_users_are_unharmed_by_changes_of_items(any_store: Store) -> None:
    shop = Shop(any_store, {"a": "lmdh:ridge=1", "b": "linucb", "c": "lsb", "d": "dc2b"})
    users = [f"u{number}" for number in range(8)]
    for user in users:
        shop.click(user)
    before = [(shop.user(user), learnt_weights(shop, user)) for user in users]
    shop.snapshot(new_item("n1"), {"id": "i0", "distances": {"genres": ["opera", "silent"]}})
    shop.snapshot(new_item("n2"), {"id": "n1", "title": "N1", "features": [1.0, 2.0, 3.0, 4.0]})
    shop.retire("i5")
    assert [(shop.user(user), learnt_weights(shop, user)) for user in users] == before
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


def table() -> ItemTable:
    ids = tuple(f"b{number}" for number in range(12))
    return ItemTable(
        ids,
        tuple(map(str.upper, ids)),
        numbers={"price": np.arange(10.0, 130.0, 10.0)},
        categories={"maker": ("us", "them", "") * 4},
        lists={"tags": (("war",), ("art", "new"), ("sea",)) * 4},
    )


@pytest.fixture
def books(any_store: Store) -> Shop:
    return Shop(any_store, items=content_catalogue(table()))


def stocked(shop: Shop) -> Catalogue:
    with shop.store.reading() as reader:
        return shop.engine.live.as_of(reader).catalogue


def test_an_edited_attribute_changes_what_is_made_from_it(books: Shop) -> None:
    change = {"tags": ["art", "new"], "price": 20}
    books.snapshot({"id": "b0", "attributes": change})
    library = books.items.with_attributes(["b0"], {name: [v] for name, v in change.items()})
    item = books.engine.item("b0")
    assert item["features"] == library.features[0].tolist()
    assert item["distances"] == {"price": 20.0, "maker": "us", "tags": ["art", "new"]}
    for ours, theirs in zip(stocked(books).distances, library.distances, strict=True):
        np.testing.assert_array_equal(ours.matrix(), theirs.matrix())


def test_the_next_list_scores_the_item_by_its_new_attributes(books: Shop) -> None:
    for _ in range(3):
        given = books.give(k=6, allow_repeats=True)
        likes = {i["id"]: float(int(i["id"][1:]) % 3 == 1) for i in given["items"]}
        books.tell(given["slate_id"], likes)

    def score(item: str) -> float:
        (found,) = books.give(candidates=(item,), allow_repeats=True)["items"]
        return float(found["score"])

    before = score("b0")
    books.snapshot({"id": "b0", "attributes": {"tags": ["art", "new"], "maker": "them"}})
    assert score("b0") > before + 0.05
    assert (books.check().wrong, books.check().largest) == ((), 0.0)


def test_a_list_given_before_teaches_what_it_was_shown_with(books: Shop) -> None:
    given = books.give()
    first = given["items"][0]["id"]
    kept = books.slate(given["slate_id"]).features
    books.snapshot({"id": first, "attributes": {"tags": ["sea", "art"], "price": 120}})
    assert books.slate(given["slate_id"]).features == kept
    policy = books.experiment.new_policy("lmdh", books.items)
    policy.update(policy.recommend(4), [1.0, 0.0, 0.0, 0.0])
    books.tell(given["slate_id"], {first: 1.0})
    assert books.user().state == policy.state().to_bytes()


def test_features_and_distances_that_are_given_win(books: Shop) -> None:
    d = books.items.d
    books.snapshot(
        {
            "id": "b0",
            "attributes": {"tags": ["art"], "price": 50},
            "features": [0.125] * d,
            "distances": {"tags": ["sea"]},
        }
    )
    item = books.engine.item("b0")
    assert item["features"] == [0.125] * d
    assert (item["distances"]["tags"], item["distances"]["price"]) == (["sea"], 50.0)
    assert item["attributes"]["tags"] == ["art"]


def test_a_new_item_can_be_given_by_its_attributes_alone(books: Shop) -> None:
    books.snapshot({"id": "n", "title": "N", "attributes": {"tags": ["war"], "price": 40}})
    item = books.engine.item("n")
    b3 = books.engine.item("b3")  # the same but for its maker
    shared = [not name.startswith("maker") for name in books.items.feature_names]
    assert np.array(item["features"])[shared].tolist() == np.array(b3["features"])[shared].tolist()
    assert item["distances"] == {"price": 40.0, "maker": "", "tags": ["war"]}
    assert books.ids(candidates=("n",)) == ["n"]


def test_a_new_label_and_a_high_price_are_as_the_encoder_says(books: Shop) -> None:
    books.snapshot({"id": "n", "attributes": {"tags": ["yoga"], "price": 1e9}})
    item = books.engine.item("n")
    result = dict(zip(books.items.feature_names, item["features"], strict=True))
    top = dict(zip(books.items.feature_names, books.engine.item("b11")["features"], strict=True))
    assert result["price"] == top["price"]
    assert [result[name] for name in ("war", "art", "new", "sea")] == [0.0] * 4
    assert item["distances"]["tags"] == ["yoga"]
    assert item["attributes"]["price"] == 1e9


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"id": "b0", "attributes": {"price": "dear"}}, "`attributes.price` must be a number"),
        ({"id": "b0", "attributes": {"tags": "war"}}, "`attributes.tags` must be a list of labels"),
        ({"id": "b0", "attributes": {"maker": ["us"]}}, "`attributes.maker` must be a label"),
        ({"id": "n", "attributes": {"price": [1]}}, "`attributes.price` must be a number"),
        ({"id": "n", "attributes": {"colour": 1}}, "`attributes` must be among .* got 'colour'"),
        ({"id": "n", "attributes": {"tags": []}}, "must have a known value for item 'n'"),
        ({"id": "n"}, "`features` must be given for the new item 'n': or else `attributes`: price"),
    ],
)
def test_what_does_not_fit_is_refused(store: Store, item: dict[str, Any], words: str) -> None:
    books = Shop(store, items=content_catalogue(table()))
    with pytest.raises(InputError, match=words):
        books.snapshot(item)
    with store.reading() as reader:
        assert reader.items() == []


def embedded() -> Catalogue:
    tags = list(table().lists["tags"])
    return Catalogue(
        table().ids,
        np.random.default_rng(1).normal(size=(12, 3)),
        ["cosine", jaccard(tags, name="genres")],
        attributes={"tags": tags, "aisle": [None] * 12},
        sources={"genres": ColumnSource("tags", "list")},
    )


def test_without_an_encoder_the_distance_alone_changes(store: Store) -> None:
    shop = Shop(store, items=embedded())
    before = shop.engine.item("b0")
    shop.snapshot({"id": "b0", "attributes": {"tags": ["sea"], "aisle": "top"}})
    after = shop.engine.item("b0")
    assert (after["features"], after["distances"]) == (before["features"], {"genres": ["sea"]})
    with pytest.raises(InputError, match=r"'n': this catalogue has no encoder that computes them"):
        shop.snapshot({"id": "n", "attributes": {"tags": ["sea"]}})
    with pytest.raises(InputError, match="`distances` must have a value for 'genres'"):
        shop.snapshot({"id": "n", "features": [1.0, 0.0, 0.0], "attributes": {"aisle": "top"}})
    shop.snapshot({"id": "n", "features": [1.0, 0.0, 0.0], "attributes": {"tags": ["sea"]}})
    assert shop.engine.item("n")["distances"] == {"genres": ["sea"]}


@pytest.fixture(scope="module")
def films() -> Catalogue:
    pytest.importorskip("bokeh_sampledata", reason="the extra `films` is not installed")
    return film_catalogue(films=300)


@pytest.fixture
def caller(tmp_path: Path, films: Catalogue) -> Iterator[Caller]:
    with service(tmp_path, items=films, policies={"lmdh": "lmdh:ridge=1"}) as whole:
        yield Caller(*whole)


def test_an_edited_film_is_another_film_to_the_next_list(caller: Caller) -> None:
    given = caller.slate("ann", k=10)
    item = given["items"][0]["id"]
    likes = {one["id"]: float(one["id"] == item) for one in given["items"]}
    caller.get("POST", f"/v1/slates/{given['slate_id']}/feedback", {"rewards": likes})

    def result() -> dict[str, Any]:
        one = {"candidates": [item], "allow_repeats": True, "explain": True}
        (found,) = caller.slate("ann", k=1, **one)["items"]
        why: dict[str, Any] = found["explanation"]
        return why

    before, whole = result(), caller.get("GET", f"/v1/items/{item}")
    change = {"genres": ["Western"], "year": 1941, "countries": ["Atlantis"]}
    caller.get("PUT", f"/v1/items/{item}", {"attributes": change})
    after, edited = result(), caller.get("GET", f"/v1/items/{item}")
    assert after["relevance"] < before["relevance"]  # nobody has liked a Western yet
    assert edited["distances"]["genres"] == ["Western"]
    assert (edited["distances"]["years"], edited["attributes"]["year"]) == (1941.0, 1941)
    assert edited["distances"]["features"] != whole["distances"]["features"]
    assert "`attributes.year` must be a number or null, got 'then'" in error(
        caller.send("PUT", f"/v1/items/{item}", {"attributes": {"year": "then"}}), 422
    )


def test_a_film_comes_by_its_facts_alone(caller: Caller) -> None:
    facts = {"genres": ["Horror", "Sci-Fi"], "year": 2014, "countries": ["France"]}
    body = {"title": "Alien 9", "attributes": {**facts, "actors": ["Sigourney Weaver"]}}
    assert caller.get("PUT", "/v1/items/new-1", body) == {"items": ["new-1"]}
    item = caller.get("GET", "/v1/items/new-1")
    names = caller.get("GET", "/v1/catalogue")["features"]
    result = {name for name, value in zip(names, item["features"], strict=True) if value}
    assert {"Horror", "Sci-Fi", "2010s"} <= result
    assert caller.slate("bob", k=1, candidates=["new-1"])["items"][0]["title"] == "Alien 9"
