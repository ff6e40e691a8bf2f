"""The attack kills replicas on time, whatever else it does, and none that has not come back."""

import asyncio
import random
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, cast

from tools.attack.chaos import Chaos
from tools.attack.facts import Facts
from tools.attack.replicas import Database, Replica


@dataclass(eq=False)
class StandIn:
    """A replica without a process."""

    number: int
    runs: bool = True
    is_starting: bool = False
    is_ready: bool = True
    #: What was done to it
    acts: list[str] = field(default_factory=list)

    def start(self, _settings: dict[str, Any], *, replace: bool = False) -> None:
        assert not self.runs
        assert not replace
        self.runs = self.is_starting = True
        self.acts.append("start")

    def kill(self) -> None:
        assert self.runs
        self.runs = False
        self.acts.append("kill")

    def stop(self) -> bool:
        self.kill()
        return True


def chaos_of(replicas: list[StandIn], facts: Facts) -> Chaos:
    return Chaos(
        cast(list[Replica], replicas),
        cast(Database, None),
        facts,
        {},
        random.Random(0),  # noqa: S311 - nobody's secret
        kill_every=0.01,
    )


def test_kills_do_not_wait_for_what_else_is_disturbed() -> None:
    replicas, facts = [StandIn(number) for number in range(3)], Facts()

    async def play() -> None:
        chaos = chaos_of(replicas, facts)
        async with chaos._disturbing:  # as while the database is away
            start = monotonic()
            kills = asyncio.create_task(chaos._kill_by_schedule(start, start + 60.0))
            while len(chaos.kills) < 3:
                await asyncio.sleep(0.001)
            assert [one.acts for one in replicas] == [["kill"]] * 3
        while not all("start" in one.acts for one in replicas):
            await asyncio.sleep(0.001)
        kills.cancel()

    asyncio.run(play())

    assert facts.problems == []
    assert all(one.acts[:2] == ["kill", "start"] for one in replicas)


def test_a_rolling_change_starts_what_the_schedule_has_killed() -> None:
    replicas, facts = [StandIn(number) for number in range(3)], Facts()

    async def play() -> None:
        chaos = chaos_of(replicas, facts)
        for one in replicas:
            vars(one)["source"] = "before"
        replicas[1].kill()
        chaos._down.add(cast(Replica, replicas[1]))
        await chaos._upgrade()

    asyncio.run(play())

    assert facts.problems == []
    assert [one.acts for one in replicas] == [["kill", "start"]] * 3
    assert all(vars(one)["source"] is None for one in replicas)
