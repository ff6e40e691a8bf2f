"""A list that is taken back leaves a user's memory as if it had never been given."""

from typing import Any

import numpy as np
import pytest

from tests.engine.shop import Clock, Shop
from variegate.engine import RecommendRequest
from variegate.engine.codecs import SeenItems
from variegate.errors import ConflictError
from variegate.store import Store


class Shopping(Shop):
    """A shop in which a minute passes before each list."""

    def give(self, user: str = "ann", **request: Any) -> dict[str, Any]:
        self.clock.now += 60.0
        return super().give(user, **request)

    def memory(self, user: str = "ann") -> list[tuple[int, int]]:
        return SeenItems(self.user(user).shown).entries()


def item_ids(answer: dict[str, Any]) -> list[str]:
    return [item["id"] for item in answer["items"]]


def test_repeated_item_is_still_remembered(any_store: Store) -> None:
    shop = Shopping(any_store, k=1)
    first = shop.give(candidates=("i3",))
    shop.tell(first["slate_id"], {"i3": 1.0})
    again = shop.give(candidates=("i3",), allow_repeats=True)

    shop.give(instead_of=again["slate_id"], candidates=("i5",))

    assert shop.give(candidates=("i3", "i7"))["items"][0]["id"] == "i7"
    assert shop.give(candidates=("i3",))["items"][0]["shown_before"]


def test_repeated_item_keeps_its_place_in_time(any_store: Store) -> None:
    shop = Shopping(any_store, k=1)
    for item in ("i1", "i2", "i3"):
        shop.give(candidates=(item,))
    before = shop.memory()
    again = shop.give(candidates=("i1",), allow_repeats=True)
    assert [row for row, _ in shop.memory()] == [2, 3, 1]

    shop.give(instead_of=again["slate_id"], candidates=("i9",))

    assert shop.memory()[:3] == before


def test_entries_that_were_pushed_out_come_back(any_store: Store) -> None:
    shop = Shopping(any_store, k=2, memory=4)
    for pair in (("i0", "i1"), ("i2", "i3")):
        shop.give(candidates=pair)
    before = shop.memory()
    third = shop.give(candidates=("i4", "i5"))
    assert {row for row, _ in shop.memory()} == {2, 3, 4, 5}

    shop.give(k=1, instead_of=third["slate_id"], candidates=("i6",))

    assert shop.memory()[:3] == before[1:]


def test_lists_between_stay_shown(any_store: Store) -> None:
    shop = Shopping(any_store, k=1)
    shop.give(candidates=("i1",))
    back = shop.give(k=2, candidates=("i1", "i2"), allow_repeats=True)
    between = shop.give(k=2, candidates=("i2", "i3"), allow_repeats=True)
    when = int(shop.clock.now)

    shop.give(instead_of=back["slate_id"], candidates=("i9",))

    assert dict(shop.memory()) == {1: when - 120, 2: when, 3: when, 9: when + 60}
    # What the list between displaced was itself shown by the list that is gone.
    assert shop.slate(between["slate_id"]).terms.get("displaced", []) == []

    shop.give(instead_of=between["slate_id"], candidates=("i8",))

    assert sorted(dict(shop.memory())) == [1, 8, 9]


@pytest.mark.parametrize("seed", range(6))
def test_any_lists_leave_what_the_others_would_have(store: Store, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shop = Shopping(store, memory=7)
    standing: list[tuple[str, list[str], float]] = []
    for _ in range(25):
        wished = tuple(f"i{row}" for row in rng.choice(12, int(rng.integers(1, 4)), replace=False))
        back = None
        if standing and rng.random() < 0.4:
            back = standing.pop(int(rng.integers(len(standing))))[0]
        given = shop.give(k=len(wished), candidates=wished, allow_repeats=True, instead_of=back)
        standing.append((given["slate_id"], item_ids(given), shop.clock.now))

        plain = SeenItems()
        for _, items, time in standing:
            plain = plain.add(shop.items.rows(items), time, 7)[0]
        # Of the items of one list, any may be forgotten first.
        found, expected = shop.memory(), plain.entries()
        assert [second for _, second in found] == [second for _, second in expected]
        oldest = expected[0][1]
        assert {one for one in found if one[1] > oldest} == {
            one for one in expected if one[1] > oldest
        }


def test_list_of_the_same_transaction_counts_as_given_after(any_store: Store) -> None:
    shop = Shopping(any_store, k=1)
    first = shop.give(candidates=("i1",))
    shop.clock.now += 60.0

    shop.all(
        RecommendRequest("ann", candidates=("i1",), allow_repeats=True),
        RecommendRequest("ann", candidates=("i2",), instead_of=first["slate_id"]),
    )

    assert dict(shop.memory()) == dict.fromkeys((1, 2), int(shop.clock.now))
    with any_store.reading() as reader:
        assert ["displaced" in row.terms for row in reader.history("ann", 9)] == [False] * 3


def test_refused_request_changes_nothing(any_store: Store) -> None:
    shop = Shopping(any_store, k=1)
    shop.give(candidates=("i1",))
    back = shop.give(candidates=("i1",), allow_repeats=True)
    shop.give(candidates=("i1",), allow_repeats=True)
    before = shop.memory(), shop.slate(back["slate_id"])

    with pytest.raises(ConflictError, match="another user"):
        shop.give("bob", instead_of=back["slate_id"])

    assert (shop.memory(), shop.slate(back["slate_id"])) == before


def test_memory_holds_each_row_once_though_its_time_was_over(store: Store) -> None:
    shop = Shopping(store, k=1, memory_days=1.0, clock=Clock())
    shop.give(candidates=("i1",))
    shop.clock.now += 2 * 86_400.0

    again = shop.give(candidates=("i1",))

    assert not again["items"][0]["shown_before"]
    assert shop.memory() == [(1, int(shop.clock.now))]
    assert "displaced" not in shop.slate(again["slate_id"]).terms
