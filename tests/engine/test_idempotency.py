"""A request for a list that its client named gets one list, however often it is sent."""

from typing import Any

import pytest

from tests.engine.shop import Shop
from tests.store.factories import threads
from variegate.engine import RecommendRequest
from variegate.engine.executor import Executor
from variegate.errors import ConflictError
from variegate.policies import Dial
from variegate.store import Store


def slates(shop: Shop, user: str = "ann") -> list[str]:
    with shop.store.reading() as reader:
        return [row.id for row in reader.history(user, 100)]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"k": 2, "exclude": ("i1",), "details": True},
        {"candidates": ("i3", "i4", "i5"), "dial": Dial(2.0, floor={"genres": 0.5})},
        {"allow_repeats": True, "explain": True},
    ],
    ids=["plain", "details", "dial", "explained"],
)
def test_same_request_gets_the_same_answer(any_store: Store, asked: dict[str, Any]) -> None:
    shop = Shop(any_store)
    shop.click()
    first = shop.give(idempotency_key="r1", **asked)
    before = shop.user()

    shop.clock.now += 5.0

    assert shop.give(idempotency_key="r1", **asked) == first
    assert shop.user() == before
    assert len(slates(shop)) == 2


def test_items_shown_before_are_reported_again(any_store: Store) -> None:
    shop = Shop(any_store, k=2)
    shop.give(candidates=("i1", "i2"))
    first = shop.give(candidates=("i1", "i3"), allow_repeats=True, idempotency_key="r1")
    assert sorted(item["shown_before"] for item in first["items"]) == [False, True]

    assert shop.give(candidates=("i1", "i3"), allow_repeats=True, idempotency_key="r1") == first


def test_another_request_of_the_same_name_is_a_conflict(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.give(idempotency_key="r1", k=2)
    before = shop.user()

    with pytest.raises(ConflictError, match="`Idempotency-Key` 'r1' was used for another request"):
        shop.give(idempotency_key="r1", k=3)

    assert shop.user() == before


def test_names_are_each_users_own(any_store: Store) -> None:
    shop = Shop(any_store)
    given = [
        shop.give(user, idempotency_key=name) for user in ("ann", "bob") for name in ("x", "y")
    ]
    again = shop.all(
        *(
            RecommendRequest(user, idempotency_key=name)
            for user in ("ann", "bob")
            for name in ("x", "y")
        )
    )

    assert again == given
    assert len({one["slate_id"] for one in given}) == 4


def test_one_transaction_gives_one_list(any_store: Store) -> None:
    shop = Shop(any_store)
    one, two, other = shop.all(
        *(RecommendRequest("ann", idempotency_key=name) for name in ("x", "x", "y"))
    )

    assert one == two
    assert one["slate_id"] != other["slate_id"]
    assert shop.user().slates == 2


def test_processes_at_once_give_one_list(any_store: Store) -> None:
    shop = Shop(any_store)

    def ask() -> list[Any]:
        executor = Executor(
            any_store, shop.engine.live, shop.experiment, shop.rules, clock=shop.clock
        )
        return executor([RecommendRequest("ann", idempotency_key="r1")])

    with threads(4) as start:
        answers = [start(ask) for _ in range(4)]

    (given,) = slates(shop)
    assert [answer.result()[0]["slate_id"] for answer in answers] == [given] * 4


def test_list_in_place_of_another_is_given_once(any_store: Store) -> None:
    shop = Shop(any_store)
    first = shop.give()
    second = shop.give(instead_of=first["slate_id"], idempotency_key="r1")

    assert shop.give(instead_of=first["slate_id"], idempotency_key="r1") == second
    assert [event.kind for event in shop.events()] == ["withdraw"]


def test_answer_stays_though_items_and_policies_change(any_store: Store) -> None:
    shop = Shop(any_store)
    first = shop.give(idempotency_key="r1", explain=True)
    shop.tell(first["slate_id"], {first["items"][0]["id"]: 1.0})
    shop.retire(first["items"][0]["id"])
    later = Shop(any_store, {"mmr": "mmr"}, items=shop.items, clock=shop.clock)

    again = later.give(idempotency_key="r1", explain=True)

    for answer in (first, again):
        for item in answer["items"]:
            item.pop("explanation", None)
    assert again == first


def test_forgotten_user_has_no_names(any_store: Store) -> None:
    shop = Shop(any_store)
    first = shop.give(idempotency_key="r1")
    shop.forget()

    assert shop.give(idempotency_key="r1", k=2)["slate_id"] != first["slate_id"]


def test_names_are_exported_with_the_lists(any_store: Store, opening: Any) -> None:
    shop = Shop(any_store)
    first = shop.give(idempotency_key="r1")
    other = Shop(opening("sqlite"), clock=shop.clock)
    other.take_in(shop.exported())

    assert other.give(idempotency_key="r1") == first


def test_request_that_was_refused_may_be_sent_again(store: Store) -> None:
    shop = Shop(store)
    (refused,) = shop.all(RecommendRequest("ann", k=1000, idempotency_key="r1"))
    assert isinstance(refused, Exception)

    assert len(shop.give(idempotency_key="r1")["items"]) == 4
