"""Rows with a value in every column, and threads."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from variegate.store import Batch, EventRow, ItemRow, KeyRow, SlateRow, Store, UserRow

Value = TypeVar("Value")


def user(name: str = "ada", **changes: Any) -> UserRow:
    row = UserRow(
        id=name,
        policy="lmdh",
        state=b"\x00\xff learnt",
        shown=b"\x01\x02",
        slates=3,
        version=0,
        created=1_700_000_000.125,
        changed=1_700_000_001.5,
        consumed=b"\x03\x04",
    )
    return row._replace(**changes)


def slate(name: str = "01A", owner: str = "ada", **changes: Any) -> SlateRow:
    row = SlateRow(
        id=name,
        user_id=owner,
        policy="lmdh",
        created=1_700_000_000.125,
        deadline=1_700_003_600.0,
        closed=False,
        k=3,
        items=("m1", 'm"2', "m'3"),
        features=b"\x00\x01\xfe",
        propensities=[0.5, 0.25, 1e-09],
        diversity={"cosine": 0.1, "genres": 0.75},
        rewards=[None, None, None],
        taught=[False, False, False],
        reports={},
        earned=0.0,
        answered=False,
        terms={"revision": "3", "displaced": [["m1", 1_600_000_000]]},
        due=1_700_003_600.0,
        request=f"request of {name}",
    )
    return row._replace(**changes)


def answered(row: SlateRow, rewards: Sequence[float | None]) -> SlateRow:
    return row._replace(
        rewards=list(rewards),
        taught=[reward is not None for reward in rewards],
        reports={"first": {"m1": 1.0}},
        earned=sum(reward for reward in rewards if reward is not None),
        answered=True,
    )


def event(owner: str = "ada", kind: str = "slate", **changes: Any) -> EventRow:
    row = EventRow(None, 1_700_000_000.125, owner, "01A", kind, {"rewards": [1, None], "ü": "\0"})
    return row._replace(**changes)


def item(row: int = 0, name: str = "m1", **changes: Any) -> ItemRow:
    return ItemRow(row, name, False, None)._replace(**changes)


def key(number: str = "k1", **changes: Any) -> KeyRow:
    return KeyRow(number, "the shop", "client", "ab12", 1_700_000_000.125, None)._replace(**changes)


def add_users(store: Store, *names: str, **changes: Any) -> None:
    with store.batch() as batch:
        batch.ensure_users([user(name, **changes) for name in names])


def in_one_batch(store: Store, *steps: Callable[[Batch], object]) -> None:
    with store.batch() as batch:
        for step in steps:
            step(batch)


@contextmanager
def threads(count: int) -> Iterator[Callable[[Callable[[], Value]], "Future[Value]"]]:
    """Yield a function that starts another in a thread; at the end all threads are joined.

    Every wait in a store has a timeout of a few seconds.
    """
    with ThreadPoolExecutor(count) as pool:
        yield pool.submit
