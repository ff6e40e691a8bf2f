"""Clients as the world has them: they send things twice, in parts, and all at once."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from tools.loadtest.connection import Connection, request_bytes
from tools.soak.audit import Notebook, Sent
from tools.soak.results import Plan

#: Chance that an item is liked.
LIKED: Final = 0.3
#: Seconds after which a request without an answer is a fault.
_TIMEOUT: Final = 30.0


@dataclass
class Client:
    """Sends requests one after the other and records the answers.

    Parameters
    ----------
    address
        Of the service.
    users
        How many there are; clients share them.
    name
        Tells the clients' reports apart.
    """

    address: tuple[str, int]
    notebook: Notebook
    users: int
    rng: random.Random
    name: str

    async def ask_until(self, ended: Callable[[], bool]) -> None:
        """Go on until `ended` says so or, if it does by then, the service hangs up."""
        try:
            connection = await Connection.to(*self.address)
            try:
                while not ended():
                    await self._one_turn(connection)
            finally:
                connection.close()
        except TimeoutError:
            self.notebook.problems.append(f"no answer within {_TIMEOUT:g} seconds")
        except ConnectionError as error:
            if not ended():
                self.notebook.problems.append(f"the service hung up: {error}")

    async def send(self, connection: Connection, report: Sent) -> None:
        """Send a report and note the answer."""
        path = f"/v1/slates/{report.slate}/feedback"
        self.notebook.sending(report)
        status, body = await self._ask(connection, request_bytes("POST", path, report.body))
        self.notebook.report_answered(report, status, body)

    async def request(self, connection: Connection, user: str) -> str | None:
        """Ask for a list; return its id, or None where there was none."""
        request = request_bytes("POST", f"/v1/users/{quote(user)}/slates", {})
        return self.notebook.list_answered(*await self._ask(connection, request))

    async def send_twice_at_once(self, connection: Connection, report: Sent) -> None:
        """Send the same report over two connections at the same time."""
        second = await Connection.to(*self.address)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self.send(connection, report))
                both.create_task(self.send(second, report))
        except* ConnectionError as errors:
            raise ConnectionResetError(str(errors.exceptions[0])) from None
        finally:
            second.close()

    async def _ask(self, connection: Connection, request: bytes) -> tuple[int, bytes]:
        self.notebook.under_way += 1
        try:
            async with asyncio.timeout(_TIMEOUT):
                return await connection.ask(request)
        finally:
            self.notebook.under_way -= 1

    async def _one_turn(self, connection: Connection) -> None:
        rng, book = self.rng, self.notebook
        if book.doubtful and rng.random() < 0.5:
            await self.send(connection, rng.choice(list(book.doubtful)))
        if book.acknowledged and rng.random() < 0.1:
            await self.send(connection, rng.choice(list(book.acknowledged)))
        slate = await self.request(connection, f"user {rng.randrange(self.users)}")
        if slate is None:
            return
        manner = rng.random()
        whole = self.report_on(slate)
        if manner < 0.2:
            await self.send(connection, upper_half(whole, self.notebook.slates[whole.slate].items))
            await self.send(connection, whole)
        elif manner < 0.4:
            await self.send_twice_at_once(connection, whole)
        elif manner < 0.9:
            await self.send(connection, whole)

    def report_on(self, slate: str) -> Sent:
        """Return what the user made of a list, with a name or without one."""
        return random_report(slate, self.notebook.slates[slate].items, self.name, self.rng)


def random_report(slate: str, items: Sequence[str], sender: str, rng: random.Random) -> Sent:
    """Return random feedback on a list, with an event id or without one."""
    liked = sorted(item for item in items if rng.random() < LIKED)
    event = f"{sender}-{slate}" if rng.random() < 0.5 else None
    return Sent(slate, tuple((item, 1.0) for item in liked), None, event)


def upper_half(whole: Sent, items: Sequence[str]) -> Sent:
    """Return the part of a report that is known when only the upper half was seen."""
    upper = tuple(items[: len(items) // 2])
    rewards = tuple(pair for pair in whole.rewards if pair[0] in upper)
    event = None if whole.event is None else f"{whole.event}-upper"
    return Sent(whole.slate, rewards, upper, event)


def crowd_of(
    address: tuple[str, int], notebook: Notebook, plan: Plan, number: int = 0
) -> list[Client]:
    """Return the clients of a plan; another `number` gives others."""
    return [
        Client(
            address,
            notebook,
            plan.users,
            random.Random(f"{plan.seed}:{number}:{client}"),  # noqa: S311 - nobody's secret
            f"{number}-{client}",
        )
        for client in range(plan.clients)
    ]


async def loaded(
    crowd: Sequence[Client], until: Callable[[], Awaitable[None]], end: Callable[[], None]
) -> int:
    """Let clients ask `until` something comes back, then `end` the service at once.

    Returns how many requests were under way at that moment.
    """
    ended = asyncio.Event()
    running = asyncio.gather(*(client.ask_until(ended.is_set) for client in crowd))
    await until()
    ended.set()
    under_way = crowd[0].notebook.under_way
    end()
    await running
    return under_way
