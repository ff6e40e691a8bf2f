"""Lists under constraints in the service: stored, repeated, exported, rebuilt and evaluated."""

from collections import Counter
from typing import Any

import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import Clock, Shop
from variegate.engine.log_reader import log_source
from variegate.errors import ConflictError, DataError, InputError
from variegate.evaluation.offpolicy import evaluate_log
from variegate.model.constraints import AtLeast, Constraints
from variegate.store import Store

OLD = {"attribute": "year", "<": 1980}
ASKED = Constraints({"genres": 2}, (AtLeast(OLD, 2),))
#: No list of four items has four that are from before 1800.
TOO_MUCH = Constraints({"genres": 2}, (AtLeast({"attribute": "year", "<": 1800}, 1),), relax=True)


def genres(shop: Shop, ids: list[str]) -> Counter[str]:
    column = shop.items.attributes["genres"]
    return Counter(genre for item in ids for genre in column[int(item[1:])])


def test_a_list_meets_its_constraints_and_is_stored_with_them(shop: Shop) -> None:
    given = shop.give(constraints=ASKED)
    ids = [item["id"] for item in given["items"]]
    assert max(genres(shop, ids).values()) <= 2
    assert sum(shop.items.attributes["year"][int(item[1:])] < 1980 for item in ids) >= 2
    assert "relaxed" not in given
    assert shop.slate(given["slate_id"]).terms["constraints"] == {
        "at_most": {"genres": 2},
        "at_least": [{"where": OLD, "n": 2}],
    }


def test_constraints_that_cannot_be_met_are_refused_and_nothing_is_stored(shop: Shop) -> None:
    strict = Constraints(TOO_MUCH.at_most, TOO_MUCH.at_least)
    with pytest.raises(
        InputError, match=r"^`constraints.at_least.0`: 1 is not possible, 0 at most"
    ):
        shop.give(constraints=strict)
    assert shop.engine.counts()["slates"] == 0


def test_what_was_relaxed_is_said_again_when_a_request_is_repeated(shop: Shop) -> None:
    asked: dict[str, Any] = {"constraints": TOO_MUCH, "idempotency_key": "once"}
    first = shop.give(**asked)
    assert first["relaxed"] == [{"constraint": "at_least.0", "asked": 1, "used": 0}]
    assert shop.give(**asked) == first
    with pytest.raises(ConflictError, match="was used for another request"):
        shop.give(constraints=ASKED, idempotency_key="once")


def test_a_pinned_item_is_shown_whether_it_was_seen_or_not(shop: Shop) -> None:
    (seen, *_) = shop.ids()
    given = shop.give(constraints=Constraints(pins={2: seen}))
    assert [item["shown_before"] for item in given["items"]] == [False, True, False, False]
    assert given["items"][1]["id"] == seen
    assert shop.ids(constraints=Constraints(pins={1: "i20"}), where={"attribute": "year", ">": 0})


def test_a_pinned_item_must_be_one_that_the_request_allows(shop: Shop) -> None:
    shop.retire("i5")
    asked = Constraints(pins={1: "i5", 2: "i6", 3: "i7"})
    with pytest.raises(InputError, match=r"pins.1`: 'i5' is not .* `constraints.pins.2`: 'i6'"):
        shop.give(exclude=("i6",), constraints=asked)
    given = shop.give(exclude=("i6",), constraints=Constraints(pins=asked.pins, relax=True))
    assert [one["constraint"] for one in given["relaxed"]] == ["pins.1", "pins.2"]
    assert given["items"][2]["id"] == "i7"


def test_constraints_survive_an_export_and_a_rebuild(opening: Opening) -> None:
    shop, other = Shop(opening("sqlite")), Shop(opening("sqlite"))
    shop.click(constraints=ASKED, where=OLD)
    shop.click(constraints=TOO_MUCH, idempotency_key="once")
    other.take_in(shop.exported())
    assert other.exported() == shop.exported()
    assert (other.check().wrong, shop.check().wrong) == ((), ())
    again = other.give(constraints=TOO_MUCH, idempotency_key="once")
    assert again["relaxed"] == [{"constraint": "at_least.0", "asked": 1, "used": 0}]


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"where": {"nope": 1}}, "`where` must be an object such as"),
        (
            {"constraints": {"at_most": {"genres": 0}}},
            "must be a whole number of at least 1, got 0",
        ),
        ({"constraints": {"pins": {"first": "i1"}}}, "pins"),
    ],
)
def test_wrong_terms_are_not_imported(shop: Shop, terms: dict[str, Any], words: str) -> None:
    shop.give()
    *header, line = shop.exported()
    line["lists"][0]["terms"] |= terms
    with pytest.raises(DataError, match=words):
        shop.take_in([*header, line], replace=True)


def test_lists_under_constraints_have_no_random_items_and_are_only_learnt_from(
    store: Store,
) -> None:
    clock = Clock()
    shop = Shop(store, mix=1.0, clock=clock)
    row = shop.slate(shop.click(constraints=ASKED)["slate_id"])
    assert (row.propensities, "mix" in row.terms) == (None, False)
    source = log_source(shop.executor, "the log")
    with pytest.raises(DataError, match=r"--mix 0.05 first \(1 list under constraints or"):
        evaluate_log(source, ["lmdh"])
    for user in ("ann", "bob"):
        clock.now += 60
        shop.click(user)
    found = evaluate_log(source, ["lmdh"])
    assert found.lists == 2
    assert (
        "1 list under constraints or with scores, which have no propensities: only learnt from"
        in found.notes
    )


def test_a_condition_of_an_imported_list_that_does_not_fit_the_items_is_skipped(
    store: Store,
) -> None:
    shop = Shop(store, mix=1.0)
    shop.click(where=OLD)
    *header, line = shop.exported()
    line["lists"][0]["terms"]["where"] = {"attribute": "gone", "=": 1}
    shop.take_in([*header, line], replace=True)
    with pytest.raises(DataError, match="the items of their time are not known"):
        evaluate_log(log_source(shop.executor, "the log"), ["lmdh"])


def test_everything_that_is_wrong_is_said_at_once(shop: Shop) -> None:
    asked = Constraints({"brand": 1}, (AtLeast({"attribute": "colour", "=": 1}, 2),))
    where = {"attribute": "yaer", "<": 1980}
    with pytest.raises(InputError) as caught:
        shop.give(exclude=("gone",), where=where, constraints=asked, strict=True)
    message = str(caught.value)
    for part in ("`exclude` must be known ids", "`where` must name", "'brand'", "'colour'"):
        assert part in message
