"""Items of an import are shown to all replicas at the same moment, prepared by each before."""

import asyncio
from typing import Any

import pytest

from tests.engine.shop import Shop, catalogue
from tests.engine.test_replicas import member, no_sleep
from variegate.engine import hidden_items
from variegate.engine.bulk_items import WriteItems, prepare_piece
from variegate.engine.hidden_items import (
    AnnounceItems,
    Follower,
    PrepareItems,
    ReportPrepared,
    ShowItems,
    announcement,
    show_hidden_items,
)
from variegate.engine.item_lines import ItemLine
from variegate.errors import InputError
from variegate.store import PriorRow, Store


def item(name: str) -> dict[str, Any]:
    distances = {"genres": ["war"], "years": 1999, "country": "fr", "place": [0.0, 1.0]}
    return {"id": name, "features": [9.0, 9.0, 9.0, 9.0], "distances": distances}


def replica(store: Store) -> Shop:
    """Return a process that has joined the others of a store."""
    shop = Shop(store)
    shop.executor.replica = member(shop)
    shop.executor.replica.join(no_sleep)
    return shop


def write(shop: Shop, *items: dict[str, Any]) -> dict[str, Any]:
    """Write a piece without showing it."""
    lines = [ItemLine(number, one) for number, one in enumerate(items, start=1)]
    piece = prepare_piece(shop.store, shop.engine.live, lines)
    return shop.do(WriteItems(piece.rows, piece.revision))


def follower(shop: Shop) -> Follower:
    return Follower(shop.store, shop.engine.live, shop.execute)


def show(shop: Shop) -> None:
    asyncio.run(show_hidden_items(shop.store, shop.engine.live, shop.execute))


async def show_while_following(shop: Shop, other: Shop) -> None:
    """Let one process show items, and another prepare what is announced."""
    showing = asyncio.create_task(show_hidden_items(shop.store, shop.engine.live, shop.execute))
    following = follower(other)
    while not showing.done():
        await following.follow()
        await asyncio.sleep(0.01)
    await showing


def test_other_replicas_need_not_build_what_is_shown(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = replica(any_store), replica(any_store)
    write(one, item("n1"), {"id": "i0", "retired": True})

    asyncio.run(show_while_following(one, two))

    for shop in (one, two):
        monkeypatch.setattr(shop.engine.live, "build", None)
        assert set(shop.ids(f"user {id(shop)}", k=24)) == {*shop.items.ids, "n1"} - {"i0"}


def test_items_are_shown_when_the_last_replica_is_ready(any_store: Store) -> None:
    one, two = replica(any_store), replica(any_store)
    write(one, item("n1"))
    assert one.do(AnnounceItems()) == {"announced": True}
    one.do(ReportPrepared())
    assert one.do(ShowItems()) == {"shown": False}
    assert "n1" not in one.ids(k=4)

    asyncio.run(follower(two).follow())

    assert one.do(ShowItems()) == {"shown": True}
    assert "n1" in one.ids("bob", k=4)
    assert "n1" in two.ids("eve", k=4)


def test_replica_that_ended_is_not_waited_for(any_store: Store) -> None:
    one, two = replica(any_store), replica(any_store)
    write(one, item("n1"))
    assert two.executor.replica is not None
    two.executor.replica.leave()
    show(one)
    assert "n1" in one.ids(k=4)


def test_replica_that_is_never_ready_is_not_waited_for_long(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_items, "PATIENCE", 0.2)
    one, two = replica(any_store), replica(any_store)
    write(one, item("n1"))
    show(one)
    assert "n1" in one.ids(k=4)
    assert "n1" in two.ids("bob", k=4)


def test_nothing_more_is_written_while_items_are_about_to_be_shown(any_store: Store) -> None:
    one, two = replica(any_store), replica(any_store)
    write(one, item("n1"))
    one.do(AnnounceItems())

    assert write(two, item("n2")) == {"written": False, "waits": True}

    one.do(ShowItems(at_once=True))
    assert write(two, item("n2")) == {"written": True, "waits": False}
    with any_store.reading() as reader:
        assert announcement(reader) is None  # the next import has announced nothing yet


def test_retired_item_is_not_shown_once_that_is_answered(any_store: Store) -> None:
    one, two = replica(any_store), replica(any_store)
    write(one, item("n1"))
    one.retire("i3")
    for shop in (one, two):
        shown = shop.ids(f"user {id(shop)}", k=24)
        assert "i3" not in shown
        assert "n1" in shown


def test_what_a_broken_import_wrote_is_shown_later(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Shop(any_store), item("n1"))
    shop = replica(any_store)  # starts later
    following = follower(shop)
    asyncio.run(following.follow())
    assert "n1" not in shop.ids(k=4)
    monkeypatch.setattr(hidden_items, "ABANDONED", 0.0)

    asyncio.run(following.follow())

    assert "n1" in shop.ids("bob", k=4)


def test_prior_that_is_fitted_meanwhile_shows_nothing(any_store: Store) -> None:
    shop = Shop(any_store)
    write(shop, item("n1"))
    with any_store.batch() as batch:
        batch.save_prior(PriorRow("lmdh"))
    assert "n1" not in shop.ids(k=4)

    show(shop)

    assert "n1" in shop.ids("bob", k=4)


def test_failed_preparation_is_told_to_the_import(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(any_store)
    write(shop, item("n1"))

    def refuse(*_: object) -> None:
        raise InputError("no")

    monkeypatch.setattr(hidden_items, "check_served", refuse)
    with pytest.raises(InputError, match="no"):
        show(shop)
    assert "n1" not in shop.ids(k=4)


def test_other_replica_tries_once_and_goes_on(
    any_store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = replica(any_store), replica(any_store)
    write(one, item("n1"))
    one.do(AnnounceItems())
    monkeypatch.setattr(hidden_items, "FOLLOW", 0.01)
    tries = []

    async def fail(*_: object) -> None:
        tries.append(1)
        raise RuntimeError("a bug")

    monkeypatch.setattr(hidden_items, "prepare_items", fail)

    async def follow() -> None:
        following = asyncio.create_task(follower(two).run())
        await asyncio.sleep(0.5)
        assert not following.done()
        following.cancel()

    asyncio.run(follow())

    assert tries == [1]
    assert "could not be prepared" in caplog.text


def test_nothing_is_announced_without_hidden_items(any_store: Store) -> None:
    shop = Shop(any_store)
    shop.snapshot(item("n1"))
    assert shop.do(AnnounceItems()) == {"announced": False}
    assert shop.do(PrepareItems()) == {"ready": True}
    assert len(catalogue()) + 1 == len(shop.engine.snapshot().catalogue)
