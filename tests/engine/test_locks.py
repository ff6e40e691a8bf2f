"""Processes that want the same users, in other orders, at the same time: none stands still."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import Shop, new_item
from variegate.engine import Feedback, RecommendRequest
from variegate.store import Batch, Store

ROUNDS = 15


@pytest.fixture(autouse=True)
def _long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    # SQLite gives its lock to whoever asks when it is free, so on a busy machine one of three can
    # wait for longer than the usual seconds. A circle would not end; PostgreSQL finds one itself.
    monkeypatch.setattr("variegate.store.database._MAX_WAIT", 60.0)


def work(shop: Shop, seed: int) -> int:
    """Give lists to many users, some of them new, and learn from them; return how many learnt."""
    rng, learnt = np.random.default_rng(seed), 0
    for number in range(ROUNDS):
        users = [f"u{name}" for name in rng.permutation(8)] + [f"new{number}", f"also{number}"]
        given = shop.all(*(RecommendRequest(user, k=2) for user in rng.permutation(users).tolist()))
        reports = [Feedback(one["slate_id"], {one["items"][0]["id"]: 1.0}) for one in given]
        outcomes = shop.all(*(reports[at] for at in rng.permutation(len(reports))))
        learnt += sum(one["status"] == "learnt" for one in outcomes)
    return learnt


def snapshot(shop: Shop, name: str) -> None:
    for number in range(ROUNDS):
        shop.snapshot(new_item(f"{name}{number}"), {"id": "i1", "title": f"{name}{number}"})
        shop.snapshot({"id": "i2", ("title" if name == "x" else "attributes"): _part(name, number)})
        shop.retire(f"{name}{number}")


def _part(name: str, number: int) -> object:
    return f"title {number}" if name == "x" else {"year": number}


def test_batches_in_any_order_do_not_wait_in_a_circle(any_store: Store) -> None:
    shops = [Shop(any_store) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        counts = list(pool.map(work, shops, range(3)))
    assert counts == [ROUNDS * 10] * 3
    check = shops[0].check()
    assert (check.users, check.wrong, check.largest) == (8 + 2 * ROUNDS, (), 0.0)


def test_a_batch_knows_the_items_that_its_users_were_shown_while_it_waited(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opening("postgres")
    shop, other = Shop(store), Shop(store)
    shop.give("ann")
    lock = Batch.lock

    def after_the_other(batch: Batch, *wanted: Any) -> Any:
        monkeypatch.setattr(Batch, "lock", lock)
        other.snapshot(new_item())
        assert other.ids("ann")[0] == "new"
        return batch.lock(*wanted)

    monkeypatch.setattr(Batch, "lock", after_the_other)
    (given,) = shop.all(RecommendRequest("ann"))
    assert "new" not in [item["id"] for item in given["items"]]
    assert shop.user("ann").slates == 3


def test_items_that_two_processes_change_at_once_lose_nothing(opening: Opening) -> None:
    store = opening("postgres")
    one, two, three = Shop(store), Shop(store), Shop(store)
    with ThreadPoolExecutor(3) as pool:
        stocking = [pool.submit(snapshot, one, "x"), pool.submit(snapshot, two, "y")]
        learnt = pool.submit(work, three, 5)
        for each in stocking:
            each.result()
        assert learnt.result() == ROUNDS * 10
    items = three.engine.items("", 1000, 0)["items"]
    assert len(items) == 24 + 2 * ROUNDS
    assert sum(item["retired"] for item in items) == 2 * ROUNDS
    last = three.engine.item("i2")
    assert last["title"] == f"title {ROUNDS - 1}"
    assert last["attributes"]["year"] == ROUNDS - 1
    assert (three.check().wrong, three.check().largest) == ((), 0.0)
