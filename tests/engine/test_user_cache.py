"""What an engine knows of users is used while nobody else has changed them, and not after that."""

import subprocess
import sys
from typing import Any

import pytest

from tests.engine.shop import Shop
from variegate.engine.feedback import Feedback
from variegate.engine.user_cache import CachedUser, UserCache
from variegate.errors import NotFoundError
from variegate.store import NOT_READ, Batch, Store


def both(store: Store, **rules: Any) -> tuple[Shop, Shop]:
    """Return two engines over one store, with one clock that stands still."""
    one = Shop(store, **rules)
    return one, Shop(store, clock=one.clock, **rules)


def test_a_known_user_and_slate_are_not_read_again(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(any_store)
    shop.click()
    given = shop.give()
    read, slates = list[bytes | None](), list[str]()
    lock, find = Batch._locked, Batch._slates_query

    def locked(batch: Batch, *rows: object) -> object:
        found = lock(batch, *rows)  # type: ignore[arg-type]
        read.extend(row.state for row in found.values())
        return found

    def finding(batch: Batch, ids: list[str], requests: list[tuple[str, str]]) -> object:
        slates.extend(ids)
        return find(batch, ids, requests)

    monkeypatch.setattr(Batch, "_locked", locked)
    monkeypatch.setattr(Batch, "_slates_query", finding)
    monkeypatch.setattr(Batch, "existing", None)
    assert shop.tell(given["slate_id"], {given["items"][0]["id"]: 1.0})["status"] == "learnt"
    assert (read, slates) == ([NOT_READ], [])
    monkeypatch.undo()
    assert (shop.check().wrong, shop.check().largest) == ((), 0.0)


def test_feedback_that_another_engine_took_counts(any_store: Store) -> None:
    one, two = both(any_store)
    given = one.give()
    slate, (a, b, *_) = given["slate_id"], [item["id"] for item in given["items"]]
    two.tell(slate, {a: 1.0}, seen=[a])
    one.tell(slate, {b: 1.0}, seen=[b])
    assert one.slate(slate).rewards == [1.0, 1.0, None, None]
    assert (one.check().wrong, one.check().largest) == ((), 0.0)


def test_feedback_that_waits_to_be_learnt_counts_too(any_store: Store) -> None:
    one, two = both(any_store, aggregation="sum", wait_seconds=60.0)
    given = one.give()
    slate, a = given["slate_id"], given["items"][0]["id"]
    for number, shop in enumerate((one, two, one, two)):
        assert shop.tell(slate, {a: 0.125}, seen=[a], event=str(number))["status"] == "pending"
    assert one.slate(slate).rewards == [0.5, None, None, None]


def test_a_slate_that_another_engine_closed_is_closed(any_store: Store) -> None:
    one, two = both(any_store, wait_seconds=60.0, default_reward=0.0)
    given = one.give()
    two.close(61.0)
    assert one.tell(given["slate_id"], {given["items"][0]["id"]: 1.0})["status"] == "late"


def test_a_user_whom_another_engine_forgot_is_gone(any_store: Store) -> None:
    one, two = both(any_store)
    one.click()
    given = one.give()
    two.forget()
    with pytest.raises(NotFoundError, match="its user was forgotten"):
        one.tell(given["slate_id"], {given["items"][0]["id"]: 1.0})
    assert one.give()["items"] == Shop(any_store, clock=one.clock).give("bob")["items"]


def test_a_user_who_came_back_elsewhere_is_another(any_store: Store) -> None:
    one, two = both(any_store)
    one.click()
    given = one.give()
    two.forget()
    two.click()
    two.give()
    report = Feedback(given["slate_id"], {given["items"][0]["id"]: 1.0})
    (outcome,) = one.all(report)
    assert isinstance(outcome, NotFoundError)
    one.click()
    assert (one.check().wrong, one.check().largest, one.check().users) == ((), 0.0, 1)


def test_nothing_of_a_user_whom_another_engine_forgot_stays_in_memory(any_store: Store) -> None:
    one, two = both(any_store)
    for user in ("ann", "bob"):
        one.click(user)
    one.engine.close_due()
    assert set(one.executor.user_cache) == {"ann", "bob"}
    two.forget("ann")
    one.engine.close_due()
    assert set(one.executor.user_cache) == {"bob"}


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    shop = Shop(store)
    for user in "abc":
        shop.give(user)
    cache = shop.executor.user_cache
    assert cache.known("abc") == {*"abc"}
    monkeypatch.setattr("variegate.engine.user_cache.MAX_CACHE_BYTES", 0)
    shop.give("a")
    assert cache.known("abc") == set()


def test_the_latest_slates_of_a_user_are_cached(store: Store) -> None:
    shop = Shop(store)
    slates = [shop.give(allow_repeats=True)["slate_id"] for _ in range(5)]
    assert shop.executor.user_cache.owners(slates) == dict.fromkeys(slates[2:], "ann")


def test_another_revision_of_the_items_empties_the_cache(store: Store) -> None:
    shop = Shop(store)
    shop.give()
    cache, row = UserCache(), shop.user()
    cache.put("ann", "1", CachedUser(row.version, shop.experiment.policy_of(row, shop.items), 0))
    assert cache.known(["ann"])
    assert cache.take(row, "2") is None
    assert not cache.known(["ann"])


def test_lists_need_no_linear_algebra_of_scipy() -> None:
    program = """if True:
        import sys
        from variegate.engine.factory import load_catalogue, warm_policies
        from variegate.engine.settings import Settings
        settings = Settings()
        warm_policies(settings, load_catalogue(settings))
        assert "scipy.linalg" not in sys.modules, "it takes 11 MB"
        import scipy
        scipy.linalg.lapack.dpotrf
        """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100)
