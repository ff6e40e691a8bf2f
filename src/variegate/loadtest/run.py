"""A load test from start to end."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from variegate.loadtest.phases import Phase, empty_client, load, mixed_client
from variegate.loadtest.report import Found
from variegate.loadtest.server import resident_bytes

#: Turns of each load: taking turns, both see the same machine.
TURNS: Final = 6


@dataclass(frozen=True)
class Plan:
    """How hard to try.

    Parameters
    ----------
    clients
        Connections that each ask one thing at a time.
    seconds
        Of each of the two loads, all turns together.
    users
        How many the lists are for.
    """

    clients: int = 32
    seconds: float = 12.0
    users: int = 2000
    seed: int = 0
    key: str | None = None


def tried(
    address: tuple[str, int],
    plan: Plan,
    *,
    pid: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Found:
    """Return what a service did under load; `pid` lets its memory be seen."""
    return _run(_tried(address, plan, pid, progress))


async def _tried(
    address: tuple[str, int], plan: Plan, pid: int | None, progress: Callable[[int, int], None]
) -> Found:
    empty, mixed, memory = Phase(), Phase(), []
    nothing, something = empty_client(plan.key), mixed_client(plan.users, plan.seed, plan.key)
    turn = plan.seconds / TURNS
    # Not counted: the first requests fill caches.
    await load(address, nothing, plan.clients, turn / 4, Phase())
    await load(address, something, plan.clients, turn / 2, Phase())
    for number in range(TURNS):
        await load(address, nothing, plan.clients, turn, empty)
        await load(address, something, plan.clients, turn, mixed)
        weighed = None if pid is None else resident_bytes(pid)
        if weighed is not None:
            memory.append(weighed)
        progress(number + 1, TURNS)
    return Found(empty, mixed, memory)


def _run(work: Coroutine[Any, Any, Found]) -> Found:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)
