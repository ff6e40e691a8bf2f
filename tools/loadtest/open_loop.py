"""Requests that arrive at a given rate, whether or not earlier ones were answered."""

import asyncio
import json
import random
from collections import deque
from collections.abc import Coroutine
from time import perf_counter
from typing import Any
from urllib.parse import quote

from tools.loadtest.connection import Connection, request_bytes
from tools.loadtest.run import LIKED, Phase, timed


class OpenLoop:
    """Lists and feedback in equal numbers, which arrive as a Poisson process.

    A closed loop sends less as soon as the service slows down, so that it hides long waits.

    Parameters
    ----------
    connections
        Open connections; a request takes one that is free.
    """

    def __init__(self, connections: list[Connection], users: int, seed: int) -> None:
        self._free = deque(connections)
        self._users = users
        self._rng = random.Random(seed)  # noqa: S311 - nobody's secret
        self._slates: deque[tuple[str, list[str]]] = deque()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, rate: float, seconds: float, phase: Phase) -> None:
        """Send `rate` requests per second for so long, and add what was seen to `phase`."""
        start = at = perf_counter()
        while (at := at + self._rng.expovariate(rate)) < start + seconds:
            if (wait := at - perf_counter()) > 0:
                await asyncio.sleep(wait)
            task = asyncio.create_task(self._next_request(phase))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        await asyncio.gather(*self._running)
        phase.seconds += perf_counter() - start

    def _next_request(self, phase: Phase) -> Coroutine[Any, Any, None]:
        # Every list gets feedback once, a while after it was made.
        if self._slates and self._rng.random() < 0.5:
            return self._report(*self._slates.popleft(), phase)
        return self._list(f"load {self._rng.randrange(self._users)}", phase)

    async def _list(self, user: str, phase: Phase) -> None:
        request = request_bytes("POST", f"/v1/users/{quote(user)}/slates", {})
        body = await self._timed("list", request, 201, phase)
        if body is not None:
            slate = json.loads(body)
            self._slates.append((slate["slate_id"], [item["id"] for item in slate["items"]]))

    async def _report(self, slate: str, items: list[str], phase: Phase) -> None:
        liked = {item: 1.0 for item in items if self._rng.random() < LIKED}
        path = f"/v1/slates/{slate}/feedback"
        await self._timed("feedback", request_bytes("POST", path, {"rewards": liked}), 200, phase)

    async def _timed(self, kind: str, request: bytes, wanted: int, phase: Phase) -> bytes | None:
        if not self._free:
            phase.failures.append(f"{kind}: no free connection, the service is saturated")
            return None
        connection = self._free.popleft()
        try:
            return await timed(connection, kind, request, wanted, phase)
        finally:
            self._free.append(connection)


async def open_load(
    address: tuple[str, int], rate: float, seconds: float, users: int, phase: Phase, seed: int = 0
) -> None:
    """Let requests arrive at a rate, over connections that are open before the first."""
    connections = [await Connection.to(*address) for _ in range(200)]
    await OpenLoop(connections, users, seed).run(rate, seconds, phase)
    for one in connections:
        one.close()
