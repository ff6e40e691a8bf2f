"""Clients of the attack: they repeat, contradict, withdraw, change items and forget users."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final
from urllib.parse import quote

from tools.attack.balancer import Balancer
from tools.attack.facts import Facts, Feedback
from tools.attack.replicas import Replica
from tools.loadtest.connection import Connection, request_bytes
from tools.soak.clients import random_report, upper_half

#: Seconds within which a replica that runs must answer.
MAX_SECONDS: Final = 10.0
#: Seconds after which a client gives up on a replica that may be stopped.
GIVE_UP_SECONDS: Final = 30.0
#: Seconds after an answer 503.
PAUSE_SECONDS: Final = 0.1
#: Statuses that an attack may lead to: 404 and 409 where it asks for them.
EXPECTED: Final = frozenset({200, 201, 404, 409, 503})
#: Answers of the load balancer if a replica did not give one
_LOST: Final = frozenset({502, 504})


class NoAnswerError(Exception):
    """There was no answer; whether the request was carried out is unknown."""


@dataclass
class Client:
    """Sends one request after another to any of the replicas, and records the answers.

    Parameters
    ----------
    number
        Distinguishes clients: each owns some users and one item, which no other touches.
    shared_users
        How many users all clients share.
    """

    number: int
    replicas: Sequence[Replica | Balancer]
    facts: Facts
    rng: random.Random
    shared_users: int
    _open: dict[int, Connection] = field(default_factory=dict)
    _count: int = 0
    _own: int = 0

    async def run(self, ended: Callable[[], bool]) -> None:
        """Send requests until `ended` returns True."""
        while not ended():
            try:
                await self._turn()
            except NoAnswerError:
                await asyncio.sleep(0.05)
        for connection in self._open.values():
            connection.close()

    async def _turn(self) -> None:
        chance = self.rng.random()
        if chance < 0.04:
            await self._change_item()
        elif chance < 0.08:
            await self._forget_own_user()
        elif chance < 0.16:
            await self._read()
        else:
            await self._list_and_feedback()

    async def _list_and_feedback(self) -> None:
        user = f"user {self.rng.randrange(self.shared_users)}"
        slate = await self._list(user)
        if slate is None:
            return
        if self.rng.random() < 0.1:
            await self._list(user, {"instead_of": slate})
            return
        whole, manner = self._report(slate), self.rng.random()
        if manner < 0.2:
            await self._send(upper_half(whole, self.facts.lists[whole.slate].items))
            await self._send(whole)
        elif manner < 0.4:
            await asyncio.gather(
                self._send(whole), self._send(whole, fresh=True), return_exceptions=True
            )
        elif manner < 0.5:
            await self._send(whole)
            await self._send(self._contradiction(whole))
        elif manner < 0.9:
            await self._send(whole)
        if self.facts.sent and self.rng.random() < 0.1:
            await self._send(self.rng.choice(list(self.facts.sent)))

    async def _list(self, user: str, body: dict[str, Any] | None = None) -> str | None:
        """Ask for a list until the answer is known, always with the same key."""
        self._count += 1
        key, found = f"{self.number}-{self._count}", None
        self.facts.keys[user].add(key)
        path = f"/v1/users/{quote(user, safe='')}/slates"
        for _ in range(self.rng.choice((1, 1, 1, 2, 40))):
            try:
                status, answer = await self._ask("list", "POST", path, body or {}, key=key)
            except NoAnswerError:
                self.facts.doubtful_users.add(user)
                continue
            if status == 201:
                found = self.facts.add_list(key, answer)
            if status != 503:
                break
            self.facts.doubtful_users.add(user)
        return found

    async def _send(self, report: Feedback, *, fresh: bool = False) -> None:
        self.facts.sent.add(report)
        path = f"/v1/slates/{report.slate}/feedback"
        status, body = await self._ask("feedback", "POST", path, report.body, fresh=fresh)
        if status == 200:
            self.facts.add_report(report, body)

    async def _change_item(self) -> None:
        """Change, retire or restore the item that this client owns."""
        item, path = f"{self.number}", f"/v1/items/{self.number}"
        title = None if self.rng.random() < 0.5 else f"title {self.rng.random()}"
        method, body = ("DELETE", None) if title is None else ("PUT", {"title": title})
        try:
            status, _ = await self._ask("item", method, path, body)
        except NoAnswerError:
            self.facts.late_items[item].add(title)
            raise
        if status == 200:
            self.facts.items[item] = title
        elif status == 503:
            self.facts.late_items[item].add(title)

    async def _forget_own_user(self) -> None:
        """Give a user a list and feedback, and forget them; each user has a name of their own."""
        self._own += 1
        user = f"own/{self.number}/{self._own}"
        slate = await self._list(user)
        if slate is not None:
            await self._send(self._report(slate))
        path = f"/v1/users/{quote(user, safe='')}"
        may_be_done = False
        for _ in range(60):
            try:
                status, _ = await self._ask("forget", "DELETE", path, None)
            except NoAnswerError:
                may_be_done = True
                continue
            if status == 200 or (status == 404 and (may_be_done or slate is None)):
                self.facts.forget(user)
                return
            if status == 404:
                self.facts.problems.append(f"user {user} was given a list, and is not there")
                return
            may_be_done = True

    async def _read(self) -> None:
        user = quote(f"user {self.rng.randrange(self.shared_users)}", safe="")
        paths = f"/v1/users/{user}", f"/v1/users/{user}/history", "/v1/report", "/v1/items?limit=5"
        await self._ask("read", "GET", self.rng.choice(paths), None)

    async def _ask(
        self,
        kind: str,
        method: str,
        path: str,
        body: Any,
        *,
        key: str | None = None,
        fresh: bool = False,
    ) -> tuple[int, bytes]:
        """Send a request to a replica and record status and duration."""
        at = self.rng.randrange(len(self.replicas))
        replica = self.replicas[at]
        headers = {} if key is None else {"idempotency-key": key}
        request = request_bytes(method, path, body, headers=headers)
        # While a replica starts, its port takes connections that nobody answers yet.
        start, disturbed = perf_counter(), -1 if replica.is_starting else replica.disturbances
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS):
                status, answer = await self._exchange(at, request, fresh=fresh)
        except (OSError, TimeoutError) as error:
            self._lose(at)
            if isinstance(error, TimeoutError) and replica.disturbances == disturbed:
                self._complain(replica, kind, f"no answer within {GIVE_UP_SECONDS:g} s")
            raise NoAnswerError from None
        if status in _LOST and isinstance(replica, Balancer):
            self.facts.answers[kind, status] += 1
            raise NoAnswerError
        self._record(replica, kind, status, answer, perf_counter() - start, disturbed)
        if status == 503:  # who asked again at once would take the CPU that recovery needs
            await asyncio.sleep(PAUSE_SECONDS)
        return status, answer

    def _record(
        self,
        replica: Replica | Balancer,
        kind: str,
        status: int,
        body: bytes,
        seconds: float,
        before: int,
    ) -> None:
        self.facts.answers[kind, status] += 1
        if replica.disturbances == before:
            self.facts.slowest = max(self.facts.slowest, seconds)
            if seconds > MAX_SECONDS:
                self._complain(replica, kind, f"answered {status} after {seconds:.1f} s")
        if status not in EXPECTED:
            self._complain(
                replica, kind, f"answered {status}: {body[:300].decode(errors='replace')}"
            )

    def _complain(self, replica: Replica | Balancer, kind: str, what: str) -> None:
        self.facts.problems.append(f"{kind} at replica {replica.number}: {what}")

    async def _exchange(self, at: int, request: bytes, *, fresh: bool) -> tuple[int, bytes]:
        """Send a request over the connection to a replica, or over one for this request alone."""
        port = self.replicas[at].port
        if fresh:
            connection = await Connection.to("127.0.0.1", port)
            try:
                return await connection.ask(request)
            finally:
                connection.close()
        if at not in self._open:
            self._open[at] = await Connection.to("127.0.0.1", port)
        return await self._open[at].ask(request)

    def _lose(self, at: int) -> None:
        connection = self._open.pop(at, None)
        if connection is not None:
            connection.close()

    def _report(self, slate: str) -> Feedback:
        items = self.facts.lists[slate].items if slate in self.facts.lists else ()
        return random_report(slate, items, str(self.number), self.rng)

    def _contradiction(self, whole: Feedback) -> Feedback:
        """Return a report that says the opposite of another, under the same name if it has one."""
        liked = {item for item, _ in whole.rewards}
        items = self.facts.lists[whole.slate].items
        others = tuple((item, 1.0) for item in sorted(set(items) - liked))
        return Feedback(whole.slate, others, None, whole.event)
