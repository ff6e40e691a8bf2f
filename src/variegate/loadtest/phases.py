"""Clients that ask one after the other, for a time."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final
from urllib.parse import quote

from variegate.errors import StoreError
from variegate.loadtest.connection import Connection, request_bytes

#: Chance that a simulated user likes an item.
LIKED: Final = 0.3


@dataclass
class Phase:
    """What one kind of load came to: seconds of each request, by kind; answers that were wrong."""

    seconds: float = 0.0
    times: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """How many were answered."""
        return sum(map(len, self.times.values()))

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds if self.seconds else 0.0

    def add(self, kind: str, seconds: float) -> None:
        """Count a request."""
        self.times.setdefault(kind, []).append(seconds)


Client = Callable[[Connection, int, float, Phase], Awaitable[None]]


async def load(
    address: tuple[str, int], client: Client, clients: int, seconds: float, phase: Phase
) -> None:
    """Let so many clients ask for so long, and add what they saw to `phase`."""
    try:
        connections = [await Connection.to(*address) for _ in range(clients)]
    except OSError as error:
        raise StoreError(f"no service at {address[0]}:{address[1]}: {error.strerror}") from None
    start = perf_counter()
    await asyncio.gather(
        *(client(one, number, start + seconds, phase) for number, one in enumerate(connections))
    )
    phase.seconds += perf_counter() - start
    for one in connections:
        one.close()


def empty_client(key: str | None) -> Client:
    """Return a client that asks for nothing."""
    request = request_bytes("GET", "/v1/ping", key=key)

    async def ask(connection: Connection, _number: int, end: float, phase: Phase) -> None:
        while perf_counter() < end:
            await _timed(connection, "empty", request, 200, phase)

    return ask


def mixed_client(users: int, seed: int, key: str | None) -> Client:
    """Return a client that asks for a list and says what was liked, for one user and another."""

    async def ask(connection: Connection, number: int, end: float, phase: Phase) -> None:
        rng = random.Random(f"{seed}:{number}")  # noqa: S311 - nobody's secret
        while perf_counter() < end:
            user = quote(f"load {rng.randrange(users)}")
            wish = request_bytes("POST", f"/v1/users/{user}/slates", {}, key)
            body = await _timed(connection, "list", wish, 201, phase)
            if body is None:
                continue
            slate = json.loads(body)
            liked = {item["id"]: 1.0 for item in slate["items"] if rng.random() < LIKED}
            path = f"/v1/slates/{slate['slate_id']}/feedback"
            report = request_bytes("POST", path, {"rewards": liked}, key)
            await _timed(connection, "feedback", report, 200, phase)

    return ask


async def _timed(
    connection: Connection, kind: str, request: bytes, wanted: int, phase: Phase
) -> bytes | None:
    start = perf_counter()
    try:
        status, body = await connection.ask(request)
    except OSError as error:
        raise StoreError(f"the service hung up under load: {error}") from None
    phase.add(kind, perf_counter() - start)
    if status == wanted:
        return body
    phase.failures.append(f"{kind}: {status} {body[:200].decode(errors='replace')}")
    return None
