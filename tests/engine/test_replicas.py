"""Processes over one store agree on settings, tables and time, or do not write."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import LMDH, Shop
from variegate.engine import replicas
from variegate.engine.executor import Executor
from variegate.engine.recommend import RecommendRequest
from variegate.engine.replicas import Replica, shared_configuration
from variegate.errors import ConflictError, StoreError
from variegate.store import ReplicaRow, Store

OTHER = {"a": "lmdh:ridge=2"}


def member(shop: Shop, *, replace: bool = False) -> Replica:
    return Replica(shop.store, shared_configuration(shop.experiment, shop.rules), replace=replace)


def joined(shop: Shop, *, replace: bool = False) -> Executor:
    """Return what does the operations of a process that has joined."""
    replica = member(shop, replace=replace)
    replica.join(no_sleep)
    return Executor(
        shop.store, shop.engine.live, shop.experiment, shop.rules, clock=shop.clock, replica=replica
    )


def no_sleep(_seconds: float) -> None:
    """Let a test go on at once."""


def seen_by(store: Store) -> list[ReplicaRow]:
    with store.reading() as reader:
        return reader.replicas()


def test_processes_with_the_same_settings_share_a_store(any_store: Store) -> None:
    one, two = joined(Shop(any_store)), joined(Shop(any_store))

    assert [
        type(outcome) for outcome in one([RecommendRequest("ann")]) + two([RecommendRequest("ann")])
    ] == [dict, dict]
    assert len(seen_by(any_store)) == 2


def test_other_settings_are_refused_while_a_process_goes_on(any_store: Store) -> None:
    joined(Shop(any_store, wait_seconds=60.0))

    with pytest.raises(ConflictError, match=r"serves this store with other settings") as refused:
        joined(Shop(any_store, OTHER, wait_seconds=90.0))

    message = str(refused.value)
    assert "`wait_seconds` 60.0 there, 90.0 here" in message
    assert f"`policies` {dict(LMDH)!r} there, {OTHER!r} here" in message
    assert "--replace-configuration" in message
    assert len(seen_by(any_store)) == 1


def test_a_refused_process_leaves_the_other_at_work(any_store: Store) -> None:
    one = joined(Shop(any_store))

    with pytest.raises(ConflictError):
        joined(Shop(any_store, OTHER))

    assert isinstance(one([RecommendRequest("ann")])[0], dict)


def test_a_process_that_left_is_in_nobodys_way(any_store: Store) -> None:
    shop = Shop(any_store)
    replica = member(shop)
    replica.join()
    replica.leave()

    joined(Shop(any_store, OTHER))

    assert len(seen_by(any_store)) == 1


def test_a_process_without_heartbeat_is_in_nobodys_way(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined(Shop(any_store))
    monkeypatch.setattr(replicas, "EXPIRY_SECONDS", 0.0)

    new = joined(Shop(any_store, OTHER))

    assert isinstance(new([RecommendRequest("ann")])[0], dict)


def test_a_killed_process_of_this_machine_is_in_nobodys_way(store: Store) -> None:
    with ended_process() as pid:
        replica = member(Shop(store, OTHER))
        replica.join()
        with store.batch() as batch:
            (row,) = batch.replicas()
            batch.save_replica(row._replace(id="killed", pid=pid))
            batch.delete_replicas(row.id, 0.0)

    member(Shop(store)).join(no_sleep)

    assert len(seen_by(store)) == 2


@contextmanager
def ended_process() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    yield process.pid


def test_replaced_settings_stop_the_other_process(any_store: Store) -> None:
    shop = Shop(any_store)
    old = joined(shop)
    old([RecommendRequest("ann")])
    before = shop.user()

    new = joined(Shop(any_store, OTHER), replace=True)

    with pytest.raises(StoreError, match="other settings by now"):
        old([RecommendRequest("ann")])
    assert shop.user() == before
    assert isinstance(new([RecommendRequest("ann")])[0], dict)


def test_operations_that_are_alone_are_held_to_it_too(any_store: Store) -> None:
    shop = Shop(any_store)
    old = joined(shop)
    joined(Shop(any_store, OTHER), replace=True)

    with pytest.raises(StoreError, match="other settings by now"):
        old([_forgetting("ann")])


def test_more_connections_than_the_server_admits_are_told(
    opening: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop(opening("postgres"))
    joined(shop)
    with member(shop) as replica, caplog.at_level("INFO"):
        replica.log_connections(1, 1)
        replica.log_connections(2, 9)

    fits, too_many = caplog.records[-2:]
    assert fits.levelname == "INFO"
    assert (
        fits.message == "2 engines x 1 processes x 20 connections = 40 of 97 that PostgreSQL admits"
    )
    assert too_many.levelname == "WARNING"
    assert (
        "9 engines x 2 processes x 20 connections = 360, and PostgreSQL admits 97: raise its"
        in (too_many.message)
    )
    assert "put ?connections=5 behind the store's address" in too_many.message


def test_a_file_has_no_budget_of_connections(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        member(Shop(store)).log_connections(2, 9)
    assert caplog.records == []


def _forgetting(user: str) -> object:
    from variegate.engine.executor import ForgetUser

    return ForgetUser(user)


def test_tables_of_a_later_version_stop_a_process(any_store: Store) -> None:
    executor = joined(Shop(any_store))
    with any_store.batch() as batch:
        batch.set_meta("schema", str(any_store.schema + 1))
    try:
        with pytest.raises(StoreError, match="upgraded by a later version"):
            executor([RecommendRequest("ann")])
        with pytest.raises(StoreError, match="upgraded by a later version"):
            any_store.ping()
    finally:
        with any_store.batch() as batch:
            batch.set_meta("schema", str(any_store.schema))


def test_a_heartbeat_keeps_a_process_in_sight(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = joined(Shop(any_store))
    (first,) = seen_by(any_store)
    monkeypatch.setattr(replicas, "BEAT_SECONDS", 0.0)

    executor.close_due()

    assert seen_by(any_store)[0].seen > first.seen


def test_a_wrong_clock_of_a_replica_changes_no_deadline(
    opening: "object", monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store: Store = opening("postgres")  # type: ignore[operator]
    shop = Shop(store, default_reward=0.0, wait_seconds=60.0)
    right = Executor(store, shop.engine.live, shop.experiment, shop.rules)
    (given,) = right([RecommendRequest("ann")])
    truth = time.time()

    monkeypatch.setattr(time, "time", lambda: truth + 120.0)
    ahead = Executor(store, shop.engine.live, shop.experiment, shop.rules, replica=member(shop))

    assert not ahead.close_due()
    (late,) = ahead([RecommendRequest("ann")])
    assert not shop.slate(given["slate_id"]).closed
    assert abs(shop.slate(late["slate_id"]).created - truth) < 30.0
    assert "clock is +1" in caplog.text
