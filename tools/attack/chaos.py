"""What is done to replicas and their database while clients work."""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Any, Final

from tools.attack.facts import Facts
from tools.attack.replicas import START_SECONDS, Database, Replica

#: Settings that the replicas change between, beside what they always have.
VARIANTS: Final[tuple[Mapping[str, Any], ...]] = (
    {},
    {"aggregation": "sum", "wait_seconds": 6.0},
    {"default_reward": 0.0, "wait_seconds": 6.0},
    {"late": "learn", "wait_seconds": 6.0},
    {"memory": 20, "mix": 0.1},
)


class Chaos:
    """Disturbs replicas and their database, one thing after another.

    Replicas that are killed by a schedule are killed on time, whatever else goes on. They start
    again when nothing else is disturbed: not while the database is away, nor between the replicas
    of a rolling change.

    Parameters
    ----------
    settings
        What all replicas always have.
    kill_every
        Seconds between two kills by the schedule; None for kills at random only.
    """

    def __init__(
        self,
        replicas: list[Replica],
        database: Database,
        facts: Facts,
        settings: Mapping[str, Any],
        rng: random.Random,
        *,
        kill_every: float | None = None,
    ) -> None:
        self._kill_every = kill_every
        self._replicas, self._database, self._facts = replicas, database, facts
        self._settings, self._rng = dict(settings), rng
        self._variant: Mapping[str, Any] = {}
        self.counts: Counter[str] = Counter()
        #: When the schedule killed a replica
        self.kills: list[float] = []
        #: Held by what disturbs, until all has recovered
        self._disturbing = asyncio.Lock()
        #: The replica that is being disturbed
        self._in_hand: Replica | None = None
        #: Replicas that the schedule killed, and that were not started again yet
        self._down: set[Replica] = set()

    async def start_all(self) -> None:
        """Start every replica and wait until all are ready."""
        for replica in self._replicas:
            replica.start(self._current)
        for replica in self._replicas:
            await self._until_ready(replica)

    async def run(self, seconds: float) -> None:
        """Disturb until the time is over, then let everything recover."""
        start = monotonic()
        by_schedule = asyncio.create_task(self._kill_by_schedule(start, start + seconds))
        while monotonic() < start + seconds:
            await asyncio.sleep(self._rng.uniform(0.5, 3.0))
            async with self._disturbing:
                is_due = self._is_old and monotonic() > start + seconds / 2
                act = self._upgrade if is_due else self._random_act()
                self.counts[act.__name__.strip("_").replace("_", " ")] += 1
                await act()
                self._in_hand = None
        await by_schedule
        for replica in self._replicas:
            if not replica.runs:
                replica.start(self._current)
            await self._until_ready(replica)

    def _random_act(self) -> Callable[[], Awaitable[None]]:
        acts: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (5 if self._kill_every is None else 0, self._kill_replica),
            (3, self._kill_engine),
            (3, self._stop_front),
            (3, self._stop_engine),
            (2, self._freeze_database),
            (1, self._crash_database),
            (2, self._change_settings),
        ]
        (act,) = self._rng.choices([one for _, one in acts], [weight for weight, _ in acts])
        return act

    async def _kill_by_schedule(self, start: float, end: float) -> None:
        """Kill a replica at every multiple of `kill_every` seconds after the start."""
        if self._kill_every is None:
            return
        async with asyncio.TaskGroup() as restarts:
            at = start
            while (at := at + self._kill_every) < end:
                await asyncio.sleep(max(0.0, at - monotonic()))
                while not (ready := [one for one in self._up if not one.is_starting]):
                    if monotonic() > end:
                        return
                    await asyncio.sleep(0.1)
                replica = self._rng.choice(ready)
                self._down.add(replica)
                replica.kill()
                self.kills.append(monotonic())
                self.counts["kill replica by schedule"] += 1
                restarts.create_task(self._restart_killed(replica))

    async def _restart_killed(self, replica: Replica) -> None:
        await asyncio.sleep(self._rng.uniform(0.0, 1.0))
        async with self._disturbing:
            if replica in self._down:  # otherwise a rolling change has started it
                self._down.discard(replica)
                replica.start(self._current)
                await self._until_ready(replica)

    @property
    def _up(self) -> list[Replica]:
        """The replicas that nothing disturbs just now."""
        return [one for one in self._replicas if one not in self._down | {self._in_hand}]

    def _take(self) -> Replica:
        """Return a replica that only the caller disturbs, until its act is over."""
        self._in_hand = self._rng.choice(self._up or self._replicas)
        return self._in_hand

    @property
    def _current(self) -> dict[str, Any]:
        return {**self._settings, **self._variant}

    async def _kill_replica(self) -> None:
        replica = self._take()
        replica.kill()
        await asyncio.sleep(self._rng.uniform(0.0, 1.0))
        replica.start(self._current)
        await self._until_ready(replica)

    async def _kill_engine(self) -> None:
        replica = self._take()
        replica.signal_engine(signal.SIGKILL)
        await self._until_ready(replica)

    async def _stop_front(self) -> None:
        replica = self._take()
        replica.signal_front(signal.SIGSTOP)
        await asyncio.sleep(self._rng.uniform(0.5, 12.0))
        replica.signal_front(signal.SIGCONT)
        await self._until_ready(replica)

    async def _stop_engine(self) -> None:
        """Stop an engine process for good: the replica must notice and replace it."""
        replica = self._take()
        replica.signal_engine(signal.SIGSTOP)
        await asyncio.sleep(1.0)
        await self._until_ready(replica)

    async def _freeze_database(self) -> None:
        self._database.signal_all(signal.SIGSTOP)
        await asyncio.sleep(self._rng.uniform(1.0, 15.0))
        self._database.signal_all(signal.SIGCONT)
        await self._all_ready()

    async def _crash_database(self) -> None:
        await asyncio.to_thread(self._database.crash)
        await self._all_ready()

    async def _change_settings(self) -> None:
        """Change the settings of all replicas, one restart after another."""
        self._variant = self._rng.choice(VARIANTS)
        for number, replica in enumerate(self._replicas):
            await self._stop(replica)
            replica.start(self._current, replace=number == 0)
            await self._until_ready(replica)

    async def _stop(self, replica: Replica) -> None:
        """Stop a replica in good order, unless it was killed, to start it again."""
        self._in_hand = replica
        if replica in self._down:
            self._down.discard(replica)
        elif not await asyncio.to_thread(replica.stop):
            self._facts.problems.append(f"replica {replica.number} did not end well on SIGTERM")

    @property
    def _is_old(self) -> bool:
        return any(replica.source is not None for replica in self._replicas)

    async def _upgrade(self) -> None:
        """Replace the code of all replicas by the present one, one restart after another."""
        for replica in self._replicas:
            await self._stop(replica)
            replica.source = None
            replica.start(self._current)
            await self._until_ready(replica)

    async def _all_ready(self) -> None:
        for replica in self._replicas:
            await self._until_ready(replica)

    async def _until_ready(self, replica: Replica) -> None:
        end = monotonic() + START_SECONDS
        while not await asyncio.to_thread(lambda: replica.is_ready):
            if replica in self._down:
                return
            if monotonic() > end or not replica.runs:
                what = "does not become ready" if replica.runs else "has ended by itself"
                self._facts.problems.append(f"replica {replica.number} {what}")
                replica.kill()
                replica.start(self._current)
                return
            await asyncio.sleep(0.2)
        replica.is_starting = False
