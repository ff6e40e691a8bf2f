"""An export is a backup: into an empty store over the same catalogue it restores everything."""

import json
from typing import Any

import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import Shop, catalogue, new_item
from variegate.engine import export
from variegate.engine.experiment import full_prior
from variegate.errors import ConflictError, DataError
from variegate.policies import Dial, State
from variegate.prior import Prior
from variegate.service.keys import make_key
from variegate.store import PriorRow, Store

POLICIES = {"a": "lmdp", "b": "lmdh:ridge=1"}
Lines = list[dict[str, Any]]


def grown_shop(store: Store) -> Shop:
    """Return a shop in which all happened that a backup must hold."""
    shop = Shop(store, POLICIES, aggregation="sum", default_reward=0.0, late="learn")
    shop.snapshot(new_item("n1"), new_item("n2", features=[8.0, 1.0, 0.5, 0.25]))
    for number, user in enumerate(["ann", "bob", "cid", "dörte €", "a/b", "emil"] * 2):
        shop.click(user, place=number % 4, dial=Dial(scale=0.5) if number % 2 else None)
        shop.clock.now += 1
    shop.snapshot({"id": "i3", "title": "Renamed"}, new_item("n1", title="Again"))
    shop.retire("n2")
    shop.retire("i5")
    shop.give("ann", exclude=("i1",), instead_of=shop.give("ann")["slate_id"])
    shop.close(100 * 86400.0)
    given = shop.give("bob", k=3, allow_repeats=True)
    shop.tell(given["slate_id"], {given["items"][0]["id"]: 0.25}, seen=[], event="e1")
    keep_prior(shop, "a")
    return shop


def keep_prior(shop: Shop, policy: str, noise: float = 0.2) -> None:
    prior = full_prior(shop.experiment.new_policy(policy, shop.items))
    assert prior is not None
    names = prior.feature_names, prior.distances
    fitted = Prior(prior.mean, prior.covariance, noise, *names, users=120)
    with shop.store.batch() as batch:
        known = batch.priors().get(policy, PriorRow(policy))
        batch.save_prior(known._replace(data=fitted.to_bytes(), users=120, fitted=5.0))


def text_of(shop: Shop) -> list[bytes]:
    """Return an export's lines; the time in the header is left out."""
    header, *lines = shop.engine.export_lines()
    plain = json.loads(header)
    assert plain.pop("time") == shop.clock.now
    return [json.dumps(plain).encode(), *lines]


@pytest.mark.parametrize("kinds", [("sqlite", "postgres"), ("postgres", "sqlite")])
def test_a_backup_goes_from_one_kind_of_store_to_the_other_byte_for_byte(
    opening: Opening, kinds: tuple[str, str]
) -> None:
    old = grown_shop(opening(kinds[0]))
    new = Shop(opening(kinds[1]), POLICIES, clock=old.clock, aggregation="sum")
    new.take_in(list(old.engine.export_lines()))
    assert text_of(new) == text_of(old)
    third = Shop(opening("sqlite"), POLICIES, clock=old.clock, aggregation="sum")
    third.take_in(list(new.engine.export_lines()))
    assert text_of(third) == text_of(old)
    for shop in (new, third):
        assert (shop.check().users, shop.check().wrong, shop.check().largest) == (6, (), 0.0)
        assert shop.engine.item("n1") == old.engine.item("n1")
        assert shop.engine.item("i5")["retired"]
        assert shop.engine.priors.view("a")["noise"] == 0.2
        for user in ("ann", "bob", "a/b"):
            assert shop.engine.user(user) == old.engine.user(user)
            assert shop.engine.history(user, 9, None) == old.engine.history(user, 9, None)
    assert [new.ids(user) for user in ("ann", "bob")] == [old.ids(user) for user in ("ann", "bob")]


def test_a_backup_that_is_restored_again_changes_nothing(any_store: Store) -> None:
    shop = grown_shop(any_store)
    lines, before = list(shop.engine.export_lines()), text_of(shop)
    with any_store.reading() as reader:
        users = reader.all_users(None, 100)
    shop.take_in(lines)
    assert text_of(shop) == before
    with any_store.reading() as reader:
        assert reader.all_users(None, 100) == users  # with the same versions: nothing was written


@pytest.mark.parametrize("size", [1, 3000])
def test_a_long_history_goes_on_in_further_lines(
    opening: Opening, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(export, "_LINE_SIZE", size)
    monkeypatch.setattr(export, "_CHUNK_SIZE", 4000)
    old = Shop(opening("sqlite"))
    for number in range(25):
        old.click("ann", place=number % 4, allow_repeats=True)
        old.clock.now += 1
    old.click("bob")
    lines = old.exported()
    assert [line["kind"] for line in lines].count("user") == 2
    assert {line["kind"] for line in lines[1:]} == {"user", "history"}
    assert max(len(json.dumps(line)) for line in lines[1:]) < size + 6000
    new = Shop(opening("postgres"), clock=old.clock)
    new.take_in(lines)
    assert new.exported() == lines
    assert new.check().wrong == ()
    new.take_in(lines)
    with pytest.raises(DataError, match=r"line \d+: user 'ann' must continue in another line"):
        new.take_in([line for line in lines if line.get("kind") == "user"])
    with pytest.raises(DataError, match=r"history must follow the line of its user"):
        new.take_in(lines[2:])


def test_an_import_into_a_store_with_other_items_is_a_conflict(
    any_store: Store, opening: Opening
) -> None:
    shop = Shop(any_store)
    shop.snapshot(new_item("n1"))
    shop.click()
    header, *lines = shop.exported()
    other = Shop(opening("sqlite"), clock=shop.clock)
    other.snapshot(new_item("n1", title="Other"))
    with pytest.raises(ConflictError, match="line 2: item 'n1' exists with other data"):
        other.take_in([header, *lines])
    other.take_in([header, *lines], replace=True)
    assert other.engine.item("n1") == shop.engine.item("n1")
    # The changes of items were others here, so nobody knows what revisions of there mean.
    assert "revision" not in other.exported()[-1]["lists"][0]["terms"]
    assert shop.exported()[-1]["lists"][0]["terms"]["revision"] == "1"
    other.take_in([header, *lines])


def test_an_import_over_another_fitted_prior_is_a_conflict(any_store: Store) -> None:
    shop = Shop(any_store, POLICIES)
    keep_prior(shop, "a")
    lines = shop.exported()
    keep_prior(shop, "a", noise=0.5)
    with pytest.raises(ConflictError, match="line 2: policy 'a' has another fitted prior"):
        shop.take_in(lines)
    shop.take_in(lines, replace=True)
    assert shop.engine.priors.view("a")["noise"] == 0.2


def test_what_the_import_would_retire_last_stays(store: Store, opening: Opening) -> None:
    old = Shop(opening("sqlite"))
    about = {"variegate": 2, "kind": "item", "time": 0.0, "retired": True, "data": None}
    lines = [
        {**about, "id": item, "row": row, "revision": row + 1}
        for row, item in enumerate(old.items.ids)
    ]
    new = Shop(store)
    with pytest.raises(ConflictError, match="the last item cannot be retired"):
        new.take_in(lines)
    assert new.exported()[1:] == []


def test_keys_are_in_no_backup(store: Store) -> None:
    shop = grown_shop(store)
    key, row = make_key(store, "admin", "a test")
    text = b"".join(shop.engine.export_lines())
    assert row.id.encode() not in text
    assert row.hash.encode() not in text
    assert key.encode() not in text


def test_an_export_of_another_catalogue_is_refused(store: Store, opening: Opening) -> None:
    other = Shop(opening("sqlite"), items=catalogue(items=23))
    other.click()
    new = Shop(store)
    with pytest.raises(DataError, match="line 1: `catalogue` must be that of"):
        new.take_in(list(other.engine.export_lines()))
    assert new.exported()[1:] == []


def test_lines_of_format_1_are_read(opening: Opening) -> None:
    old = grown_shop(opening("sqlite"))
    lines = old.exported()
    for line in lines:
        if line["kind"] == "user":
            del line["kind"], line["more"]
            line["variegate"] = 1
            arrays = State.from_bytes(old.user(line["user"]).state or b"").arrays
            line["state"]["arrays"] = {name: array.tolist() for name, array in arrays.items()}
    new = Shop(opening("sqlite"), POLICIES, clock=old.clock, aggregation="sum")
    new.take_in(lines)
    assert new.exported() == old.exported()
