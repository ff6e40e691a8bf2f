"""The engine as the routes use it: awaited, answered after the commit, in one thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.engine.shop import LMDH, Clock, catalogue, new_item
from variegate.engine import Engine, Experiment, Feedback, LiveCatalogue, RecommendRequest, Rules
from variegate.engine import queue as batch_loop
from variegate.engine.executor import Executor
from variegate.engine.user_cache import UserCache
from variegate.errors import ConflictError, InputError, NotFoundError, StoreError
from variegate.store import Batch, Store

Work = Callable[[Engine], Coroutine[Any, Any, Any]]


def run(store: Store, work: Work, **options: Any) -> Any:
    """Return the result of `work` with a started engine."""
    rules = Rules(**{"k": 4, **options.pop("rules", {})})
    live = LiveCatalogue.open(catalogue(), store)
    engine = Engine(Executor(store, live, Experiment(LMDH), rules, **options))

    async def begun() -> Any:
        engine.start()
        try:
            return await work(engine)
        finally:
            await asyncio.to_thread(engine.stop)

    return asyncio.run(begun())


def test_all_that_it_does_can_be_awaited(any_store: Store, tmp_path: Path) -> None:
    async def work(engine: Engine) -> list[Any]:
        given = await engine.recommend(RecommendRequest("ann"))
        learnt = await engine.feedback(Feedback(given["slate_id"], {given["items"][0]["id"]: 1.0}))
        stocked = await engine.upsert_items([new_item()])
        retired = await engine.retire_item("i1")
        file = tmp_path / "lines"
        file.write_bytes(b"".join(engine.export_lines()))
        forgotten = await engine.forget("ann")
        imported = await engine.import_file(str(file))
        replaced = await engine.import_file(str(file), replace=True)
        return [learnt["status"], stocked, retired, forgotten, imported, replaced]

    assert run(any_store, work) == [
        "learnt",
        {"items": ["new"]},
        {"id": "i1", "retired": True},
        {"user": "ann", "forgotten": True},
        {"imported": 1, "items": 2},
        {"imported": 1, "items": 2},
    ]


def test_a_refusal_is_raised_to_whoever_asked(store: Store) -> None:
    async def work(engine: Engine) -> None:
        with pytest.raises(InputError, match="`k` must be"):
            await engine.recommend(RecommendRequest("ann", k=0))
        with pytest.raises(NotFoundError, match="no slate 'x'"):
            await engine.feedback(Feedback("x", {}))
        with pytest.raises(InputError, match=r"`rewards` must be from 0 to 1, got 2\.0"):
            await engine.feedback(Feedback("x", {"i1": 2.0}))
        with pytest.raises(NotFoundError, match="no user 'ann'"):
            await engine.forget("ann")
        given = await engine.recommend(RecommendRequest("ann"))
        await engine.feedback(Feedback(given["slate_id"], {}, None, "e"))
        with pytest.raises(ConflictError, match="`event` 'e'"):
            await engine.feedback(Feedback(given["slate_id"], {}, (), "e"))

    run(store, work)


def test_what_waits_is_done_together(store: Store) -> None:
    sizes: list[float] = []

    def observe(name: str, value: float) -> None:
        if name == "batch":
            sizes.append(value)

    async def work(engine: Engine) -> int:
        requests = [
            engine.recommend(RecommendRequest(f"u{number % 10}", k=1)) for number in range(150)
        ]
        answers = await asyncio.gather(*requests)
        return len({answer["slate_id"] for answer in answers})

    assert run(store, work, observe=observe) == 150
    assert sum(sizes) == 150
    assert max(sizes) == 64


def test_how_many_wait_is_known_and_none_does_in_the_end(store: Store) -> None:
    async def work(engine: Engine) -> tuple[int, int]:
        requests = [RecommendRequest("ann"), RecommendRequest("bob"), RecommendRequest("eve", k=0)]
        tasks = [asyncio.create_task(engine.recommend(request)) for request in requests]
        await asyncio.sleep(0)
        during = engine.waiting
        await asyncio.gather(*tasks, return_exceptions=True)
        return during, engine.waiting

    assert run(store, work) == (3, 0)


def test_operations_of_all_kinds_keep_their_order(store: Store) -> None:
    async def work(engine: Engine) -> list[Any]:
        return await asyncio.gather(
            engine.recommend(RecommendRequest("ann")),
            engine.upsert_items([new_item()]),
            engine.recommend(RecommendRequest("ann")),
            engine.forget("ann"),
            engine.recommend(RecommendRequest("ann")),
            engine.retire_item("new"),
            engine.recommend(RecommendRequest("ann")),
        )

    answers = run(store, work)
    first = [answers[at]["items"][0]["id"] for at in (0, 2, 4, 6)]
    assert first[0] != "new"
    assert first[1] == "new"
    assert first[2] == "new"  # forgotten, ann has seen nothing
    assert first[3] != "new"


def test_a_store_that_fails_is_reported_to_all_and_then_works_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_batch: Batch, _rows: object) -> None:
        raise StoreError("the disk is full")

    async def work(engine: Engine) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Batch, "add_slates", fail)
            requests = [engine.recommend(RecommendRequest(user)) for user in ("ann", "bob")]
            errors = await asyncio.gather(*requests, return_exceptions=True)
        assert [str(error) for error in errors] == ["the disk is full"] * 2
        assert engine.counts()["users"] == 0
        assert (await engine.recommend(RecommendRequest("ann")))["user"] == "ann"

    run(store, work)


def test_a_fault_of_ours_costs_only_the_one_who_met_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    apply = RecommendRequest.apply

    def fail_for_bob(request: RecommendRequest, uow: Any) -> dict[str, Any]:
        answer = apply(request, uow)
        if request.user == "bob":
            raise ZeroDivisionError("ours")
        return answer

    monkeypatch.setattr(RecommendRequest, "apply", fail_for_bob)

    async def work(engine: Engine) -> None:
        requests = [engine.recommend(RecommendRequest(user)) for user in ("ann", "bob", "cid")]
        outcomes: list[Any] = await asyncio.gather(*requests, return_exceptions=True)
        assert isinstance(outcomes[1], ZeroDivisionError)
        assert [outcomes[at]["user"] for at in (0, 2)] == ["ann", "cid"]
        assert engine.counts()["users"] == engine.counts()["slates"] == 2

    run(store, work)
    assert "each is tried alone" in caplog.text


def test_a_fault_of_ours_after_the_commit_does_nothing_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(UserCache, "put", fail)
    monkeypatch.setattr(UserCache, "drop", fail)

    async def work(engine: Engine) -> None:
        given = await asyncio.gather(
            *(engine.recommend(RecommendRequest(user)) for user in ("ann", "bob"))
        )
        assert [answer["user"] for answer in given] == ["ann", "bob"]
        assert engine.counts()["slates"] == 2
        assert await engine.forget("ann") == {"user": "ann", "forgotten": True}

    run(store, work)
    assert "after a commit" in caplog.text


def test_time_closes_lists_by_itself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_loop, "TICK", 0.01)
    clock, closed = Clock(), threading.Event()
    learnt: list[float] = []

    def observe(name: str, value: float) -> None:
        if name == "learn":
            learnt.append(value)
        elif len(learnt) == 70:  # the next batch: the one before is kept
            closed.set()

    async def work(engine: Engine) -> None:
        for number in range(70):
            await engine.recommend(RecommendRequest(f"u{number}", k=1))
        clock.now += 61.0
        while not closed.is_set():
            await engine.recommend(RecommendRequest("ann", k=1))
        assert engine.counts()["answered"] == 70

    rules = {"wait_seconds": 60.0, "default_reward": 0.5}
    bounded = partial(asyncio.wait_for, timeout=20)
    run(store, lambda engine: bounded(work(engine)), clock=clock, observe=observe, rules=rules)
