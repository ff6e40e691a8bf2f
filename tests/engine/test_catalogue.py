"""A store is bound to one catalogue: a larger file adds items, any other is refused."""

import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import numpy as np
import pytest

from tests.engine.shop import Shop, catalogue, new_item
from variegate import Catalogue
from variegate.data.films import film_catalogue
from variegate.engine.catalogue import LiveCatalogue, StoreCatalogue, item_values
from variegate.engine.replay import accept, relearn
from variegate.errors import DataError, StoreError
from variegate.model.distances import Distance, jaccard
from variegate.store import CATALOGUE, RELEARNING, Store


def retrained(items: Catalogue, seed: int = 3) -> Catalogue:
    """Return the same items under the same names, with features of another training."""
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(items.d, items.d)))[0]
    return items.with_changes(items.ids, items.features @ turn)


def grown(items: Catalogue, *names: str, genre: str = "aaa") -> Catalogue:
    """Return the catalogue with more items after its own, and a label before all others."""
    rng = np.random.default_rng(len(names))
    data: dict[str, Distance] = {}
    for h in items.distances[1:]:
        rows = np.repeat(h.rows[:1], len(names), axis=0)
        data[h.name] = Distance(h.formula, h.name, rows, h.scale, h.labels)
    data["genres"] = jaccard([[genre]] * len(names), name="genres")
    return items.with_items(names, rng.normal(size=(len(names), items.d)), data, titles=names)


def rows(shop: Shop) -> dict[str, int]:
    with shop.store.reading() as reader:
        found = shop.engine.live.as_of(reader).catalogue
    return {item: row for row, item in enumerate(found.ids)}


def test_retrained_features_under_the_same_names_are_refused(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.click()
    before = shop.user()
    with pytest.raises(DataError) as error:
        Shop(any_store, items=retrained(shop.items))
    message = str(error.value)
    assert "made for another catalogue" in message
    assert "features of the same items differ" in message
    for way in ("Serve the catalogue", "rebuild --relearn", "rebuild --accept", "--store"):
        assert way in message
    assert (Shop(any_store).check().wrong, shop.user()) == ((), before)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda c: c.first(20), "4 items are gone: it has 20, and there were 24"),
        (lambda _c: catalogue(seed=8), "distance genres differs"),
        (lambda c: c.with_features({"f": range(24)}), "it has 5 features, and there were 4"),
    ],
)
def test_what_differs_is_stated(
    store: Store, other: Callable[[Catalogue], Catalogue], words: str
) -> None:
    shop = Shop(store)
    with pytest.raises(DataError, match=words):
        Shop(store, items=other(shop.items))


def test_accepting_is_offered_only_where_it_can_be(store: Store) -> None:
    shop = Shop(store)
    with pytest.raises(DataError) as error:
        Shop(store, items=shop.items.first(20))
    assert "--accept" not in str(error.value)


def test_a_larger_file_joins(any_store: Store, caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(any_store)
    shop.click()
    larger = grown(shop.items, "n1", "n2")
    with caplog.at_level(logging.INFO):
        later = Shop(any_store, items=larger, clock=shop.clock)
    assert "added 2 new items of the catalogue's file to the store" in caplog.text
    assert rows(later) == {item: row for row, item in enumerate(larger.ids)}
    assert item_values(larger, 25) | {"id": "n2", "retired": False} == later.engine.item("n2")
    later.click()
    assert (later.check().wrong, later.check().largest) == ((), 0.0)
    caplog.clear()
    again = Shop(any_store, items=larger)  # nothing is new by now
    assert rows(again) == rows(later)
    assert "new items of the catalogue" not in caplog.text
    assert rows(Shop(any_store, items=shop.items)) == rows(later)  # the smaller file will still do


def test_rows_stay_where_items_came_at_run_time_before(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.snapshot(new_item("run1"), new_item("n2", title="At run time"))
    shop.retire("run1")
    shop.click(candidates=("n2", "i3", "i4", "i5"))
    before = rows(shop)
    later = Shop(any_store, items=grown(shop.items, "n1", "n2", "n3"), clock=shop.clock)
    assert rows(later) == {**before, "n1": 26, "n3": 27}
    assert later.engine.item("n2")["title"] == "At run time"
    assert later.engine.item("run1")["retired"]
    assert not later.engine.item("n3")["retired"]
    for _ in range(6):
        later.click()
    assert (later.check().wrong, later.check().largest) == ((), 0.0)
    assert shop.give()["items"]  # a process with the smaller file goes on


def test_a_file_that_grew_twice_joins_twice(store: Store) -> None:
    shop = Shop(store)
    once = grown(shop.items, "n1")
    Shop(store, items=once)
    shop.snapshot(new_item("run"))
    twice = grown(once, "n2", genre="bbb")
    assert list(rows(Shop(store, items=twice)))[24:] == ["n1", "run", "n2"]
    with pytest.raises(DataError, match="features of the same items differ"):
        Shop(store, items=twice.with_changes(["n1"], [[9.0] * 4]))


def test_two_that_start_at_once_agree(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.snapshot(new_item("run"))
    larger = grown(shop.items, *(f"n{number}" for number in range(40)))
    with ThreadPoolExecutor(4) as pool:
        shops = list(pool.map(lambda _: Shop(any_store, items=larger), range(4)))
    assert all(rows(one) == rows(shops[0]) for one in shops)
    assert len(rows(shops[0])) == 24 + 1 + 40


def test_two_new_replicas_with_two_catalogues_do_not_both_start(any_store: Store) -> None:
    def started(items: Catalogue) -> bool:
        try:
            Shop(any_store, items=items)
        except DataError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(started, [catalogue(), retrained(catalogue())]))
    assert sorted(outcomes) == [False, True]


def test_a_store_from_before_takes_its_fingerprint(
    any_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop(any_store)
    shop.click()
    old = {
        "items": 24,
        "ids": sha256("\0".join(shop.items.ids).encode()).hexdigest(),
        "features": ["fast", "sad", "loud", "long"],
        "distances": ["cosine", "genres", "years", "country", "place"],
    }
    with any_store.batch() as batch:
        batch.set_meta(CATALOGUE, json.dumps(old))
    with pytest.raises(DataError, match=r"\(24 items, distances: cosine, genres, years"):
        Shop(any_store, items=catalogue(5))
    with caplog.at_level(logging.INFO):
        Shop(any_store)
    assert "the store gets a fingerprint of its catalogue" in caplog.text
    with pytest.raises(DataError, match="features of the same items differ"):
        Shop(any_store, items=retrained(shop.items))


def test_accepted_features_are_served_with_all_that_was_learnt(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.click()
    shop.snapshot(new_item("run"))
    kept = shop.user()
    other = retrained(shop.items)
    assert accept(any_store, other)
    assert not accept(any_store, other)
    later = Shop(any_store, items=other, clock=shop.clock)
    assert later.user() == kept
    assert rows(later)["run"] == 24
    with pytest.raises(DataError, match="features of the same items differ"):
        Shop(any_store, items=shop.items)
    with pytest.raises(StoreError, match="moved to another catalogue: restart this process"):
        shop.give()


def test_what_has_other_items_is_not_accepted(store: Store) -> None:
    with pytest.raises(DataError, match="has no catalogue yet"):
        accept(store, catalogue())
    shop = Shop(store)
    with pytest.raises(DataError, match=r"cannot be accepted .* 4 items are gone.*use --relearn"):
        accept(store, shop.items.first(20))


def test_nobody_is_served_while_users_are_learnt_again(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.click()
    other = retrained(shop.items)

    def stop(_done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        relearn(any_store, other, shop.experiment, stop)
    for items in (shop.items, other):
        with pytest.raises(DataError, match="let `variegate rebuild --relearn` finish"):
            Shop(any_store, items=items)
    with pytest.raises(StoreError, match="let `variegate rebuild --relearn` finish"):
        shop.give()
    with pytest.raises(DataError, match="let `variegate rebuild --relearn` finish"):
        accept(any_store, other)
    relearn(any_store, other, shop.experiment, lambda _done: None)
    assert Shop(any_store, items=other).check().wrong == ()
    with any_store.reading() as reader:
        assert not reader.meta(RELEARNING)
    with pytest.raises(StoreError, match="moved to another catalogue"):
        shop.give()


def test_films_of_another_version_are_refused_with_what_to_do(store: Store) -> None:
    pytest.importorskip("bokeh_sampledata", reason="the extra `films` is not installed")
    films = film_catalogue(films=60)
    Shop(store, items=films)
    other = films.with_attributes([films.ids[0]], {"year": [1941]})
    with pytest.raises(DataError) as error:
        Shop(store, items=other)
    message = str(error.value)
    assert "features of the same items differ; distance features differs" in message
    assert "distance years differs" in message
    assert "the bundled films: install the version of variegate that made the store" in message


def test_the_note_is_what_the_catalogue_says(store: Store) -> None:
    shop = Shop(store)
    with store.reading() as reader:
        noted = StoreCatalogue.read(reader)
    assert noted is not None
    assert noted.base == noted.latest == shop.items.fingerprint


def test_snapshot_of_some_changes_is_that_of_all_changes(store: Store) -> None:
    shop = Shop(store)
    shop.snapshot(
        new_item("one"), new_item("two", distances=new_item()["distances"] | {"years": 3})
    )
    shop.snapshot({"id": "i1", "features": [0.0, 1.0, 0.0, 0.0]}, {"id": "one", "title": "First"})
    shop.retire("i2")
    shop.retire("two")
    shop.snapshot({"id": "two", "distances": {"genres": ["jazz"]}})

    with store.reading() as reader:
        ours = shop.engine.live.as_of(reader)
        fresh = LiveCatalogue.open(shop.items, store).as_of(reader)

    assert ours.revision == fresh.revision
    assert ours.catalogue.fingerprint == fresh.catalogue.fingerprint
    assert (ours.catalogue.titles, ours.catalogue.attributes) == (
        fresh.catalogue.titles,
        fresh.catalogue.attributes,
    )
    np.testing.assert_array_equal(ours.active, fresh.active)
    assert ours.active.tolist() == [row != 2 for row in range(26)]
