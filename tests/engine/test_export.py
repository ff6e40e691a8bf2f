"""An export is a backup: imported into another store, users get the same answers from there."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import Shop, catalogue, new_item
from variegate.engine import export
from variegate.engine.experiment import full_prior
from variegate.engine.terms import DAY
from variegate.errors import ConflictError, DataError, InputError
from variegate.policies import Dial, State
from variegate.prior import Prior
from variegate.service.keys import make_key
from variegate.store import PriorRow, Store

Lines = list[dict[str, Any]]
ARMS = {"a": "lmdh:ridge=1", "b": "linucb", "c": "lsb"}


def lived_in(store: Store, **options: Any) -> Shop:
    shop = Shop(store, ARMS, **options)
    for number in range(3):
        for user in ("ann", "bob", "cid", "dörte €", "emil"):
            shop.click(user, place=number)
            shop.clock.now += 1
    shop.give("ann")
    shop.clock.now += 1
    return shop


@pytest.mark.parametrize(
    ("here", "there"), [("sqlite", "sqlite"), ("sqlite", "postgres"), ("postgres", "sqlite")]
)
def test_an_exported_user_goes_on_elsewhere(opening: Opening, here: str, there: str) -> None:
    old = lived_in(opening(here))
    new = Shop(opening(there), ARMS, clock=old.clock)
    lines = old.exported()
    new.take_in(lines)
    assert new.exported() == lines
    assert (new.check().users, new.check().wrong, new.check().largest) == (5, (), 0.0)
    for user in ("ann", "bob", "dörte €"):
        assert new.engine.user(user) == old.engine.user(user)
        assert new.engine.history(user, 9, None) == old.engine.history(user, 9, None)
        assert new.ids(user) == old.ids(user)
    open_slate = old.engine.history("ann", 2, None)["slates"][1]
    liked = {open_slate["items"][0]["id"]: 1.0}
    assert new.tell(open_slate["slate_id"], liked) == old.tell(open_slate["slate_id"], liked)
    assert new.user("ann").state == old.user("ann").state


def test_feedback_that_was_taken_there_is_not_learnt_again_here(opening: Opening) -> None:
    old = Shop(opening("sqlite"))
    given = old.click()
    new = Shop(opening("sqlite"), clock=old.clock)
    new.take_in(old.exported())
    before = new.user()
    assert new.tell(given["slate_id"], {given["items"][0]["id"]: 1.0})["status"] == "learnt"
    with pytest.raises(ConflictError, match=r"has earned 1\.0 already"):
        new.tell(given["slate_id"], {given["items"][0]["id"]: 0.0})
    assert new.user() == before


def test_items_that_came_in_another_order_are_found_by_their_ids(opening: Opening) -> None:
    old = Shop(opening("sqlite"), {"b": "linucb"})
    old.snapshot(new_item("n1"))
    old.snapshot(new_item("n2", features=[8.0, 8.0, 8.0, 8.0]))
    given = old.give()
    assert {"n1", "n2"} <= {item["id"] for item in given["items"]}
    old.tell(given["slate_id"], {"n1": 1.0}, seen=["n2"])
    new = Shop(opening("sqlite"), {"b": "linucb"}, clock=old.clock)
    new.snapshot(new_item("n2", features=[8.0, 8.0, 8.0, 8.0]))
    new.snapshot(new_item("n1"))
    new.take_in(old.exported())
    assert (new.check().wrong, new.check().largest) == ((), 0.0)
    scores = {item["id"]: item["score"] for item in new.give(k=26, allow_repeats=True)["items"]}
    known = {item["id"]: item["score"] for item in old.give(k=26, allow_repeats=True)["items"]}
    assert scores == pytest.approx(known, abs=1e-12)
    third = given["items"][2]["id"]
    assert new.tell(given["slate_id"], {third: 1.0}, seen=[])["learnt"] == [third]
    assert new.check().wrong == ()


def test_items_that_are_not_here_must_come_first(opening: Opening) -> None:
    old = Shop(opening("sqlite"))
    old.snapshot(new_item())
    old.click()
    new = Shop(opening("sqlite"))
    users = [line for line in old.exported() if line["kind"] == "user"]
    with pytest.raises(DataError, match=r"line 1: `shown`: .*'new'.*: import or add the item"):
        new.take_in(users)


def test_who_is_here_already_is_replaced_only_if_asked_for(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.click("ann")
    early = shop.exported()
    shop.clock.now += 1
    shop.click("ann")
    later = shop.exported()
    with pytest.raises(ConflictError, match="line 2: user 'ann' exists with"):
        shop.take_in(early)
    assert shop.exported() == later
    shop.take_in(early, replace=True)
    assert shop.exported() == early
    assert shop.check().wrong == ()
    shop.click("ann")
    assert shop.check().wrong == ()


def test_all_come_in_or_none(any_store: Store, opening: Opening) -> None:
    old = lived_in(opening("sqlite"))
    new = Shop(any_store, ARMS)
    lines = old.exported()
    lines[-1]["lists"][0]["taught"].pop()
    with pytest.raises(DataError, match=r"line 6: `lists.0`: `taught` of list .* must have 4"):
        new.take_in(lines)
    assert new.engine.counts() == {"users": 0, "slates": 0, "answered": 0, "events": 0}


def test_many_users_and_lists_are_exported_in_pages(opening: Opening) -> None:
    shop = Shop(opening("sqlite"), memory_days=30 * DAY)
    for number in range(120):
        shop.give(f"u{number % 60:02}", k=1)
    for _ in range(60):
        shop.click("u00", k=1, allow_repeats=True)
    lines = shop.exported()
    assert [line["user"] for line in lines[1:]] == [f"u{number:02}" for number in range(60)]
    assert len(lines[1]["lists"]) == 62
    new = Shop(opening("sqlite"))
    new.take_in(lines)
    assert new.exported() == lines


def test_a_list_of_somebody_else_does_not_change_hands(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.give("ann")
    header, line = shop.exported()
    with pytest.raises(ConflictError, match="exists, of another user"):
        shop.take_in([header, {**line, "user": "eve"}])


def test_a_user_stands_in_one_line(store: Store, opening: Opening) -> None:
    old = Shop(opening("sqlite"))
    old.give()
    line = old.exported()[1:] * 2
    with pytest.raises(DataError, match="line 2: user 'ann' is in line 1 too"):
        Shop(store).take_in(line)


Breaking = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    "breaking",
    [
        lambda line: line.pop("variegate"),
        lambda line: line.update(variegate=3),
        lambda line: line.pop("events"),
        lambda line: line.update(colour="red"),
        lambda line: line.update(user=""),
        lambda line: line.update(user="a\x00b"),
        lambda line: line.update(user="\ud800"),
        lambda line: line.update(user=["ann"]),
        lambda line: line.update(slates=10**30),
        lambda line: line.update(slates="4"),
        lambda line: line.update(created=float("nan")),
        lambda line: line.update(changed=float("inf")),
        lambda line: line.update(shown=[["i1", -1]]),
        lambda line: line.update(shown=[["i1", 2**32]]),
        lambda line: line.update(shown=[["nope", 5]]),
        lambda line: line.update(shown=["i1"]),
        lambda line: line["state"].update(version=2**16),
        lambda line: line["state"].update(arrays={"x" * 300: [1.0]}),
        lambda line: line["state"]["arrays"].update(gram=[[1.0], [1.0, 2.0]]),
        lambda line: line["state"]["arrays"].update(gram=[float("nan")]),
        lambda line: line["state"]["arrays"].update(gram=["x"]),
        lambda line: line["lists"][0].update(closed="maybe"),
        lambda line: line["lists"][0].update(k=0),
        lambda line: line["lists"][0].update(id="../x"),
        lambda line: line["lists"][0].update(features="!"),
        lambda line: line["lists"][0].update(features="AAAA"),
        lambda line: line["lists"][0].update(items=["nope"] * 4),
        lambda line: line["lists"][0].update(rewards=[2.0, 0.0, 0.0, 0.0]),
        lambda line: line["lists"][0].update(earned=float("nan")),
        lambda line: line["lists"][0].update(diversity={"genres": float("inf")}),
        lambda line: line["lists"][0].update(reports={"x": {}}),
        lambda line: line["events"][0].update(kind="coup"),
        lambda line: line["events"][0].update(time=None),
        lambda line: line["events"][0].update(body=[]),
        lambda line: line["events"][0]["body"].update(taught={"9": 1.0}),
        lambda line: line["events"][0]["body"].update(taught={"0": 7.0}),
        lambda line: line["events"][0]["body"].update(taught={"first": 1.0}),
        lambda line: line["events"][0]["body"].update(rewards={"i1": float("nan")}),
        lambda line: line["events"][0].update(slate="nope"),
    ],
)
def test_a_line_that_was_tampered_with_is_refused(
    store: Store, opening: Opening, breaking: Breaking
) -> None:
    old = Shop(opening("sqlite"))
    old.click()
    header, line = old.exported()
    breaking(line)
    new = Shop(store)
    with pytest.raises((DataError, InputError)):
        new.take_in([header, line])
    assert new.engine.counts()["users"] == 0


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"mix": 2}, "`mix` must be less than or equal to 1, got 2"),
        ({"memory": "9"}, "`memory` must be a valid integer, got '9'"),
        ({"displaced": [["i1", 2**32]]}, "`displaced.0.1` must be less than 4294967296, got "),
        ({"dial": {"scale": -1.0}}, "`scale` must be a number from 0 to 1,000,000, got -1.0"),
        ({"dial": {"colour": 1}}, "`dial.colour` is not a known field"),
        ({"colour": "red"}, "`colour` is not a known field"),
        ({"candidates": ["nope"]}, "`terms.candidates`: "),
    ],
    ids=str,
)
def test_terms_out_of_range_are_refused_by_name(
    store: Store, opening: Opening, terms: dict[str, Any], message: str
) -> None:
    old = Shop(opening("sqlite"))
    old.click()
    header, line = old.exported()
    line["lists"][0]["terms"] |= terms
    with pytest.raises(DataError, match=rf"^line 2: .*{re.escape(message)}"):
        Shop(store).take_in([header, line])


POLICIES = {"a": "lmdp", "b": "lmdh:ridge=1"}


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
    assert isinstance(prior, Prior)
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
