"""What the clients of a service were told, in their own hand: the service must keep to it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Given(NamedTuple):
    """A list that a client got."""

    user: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """A report on a list, however often it is sent."""

    slate: str
    rewards: tuple[tuple[str, float], ...]
    seen: tuple[str, ...] | None
    event: str | None

    @property
    def body(self) -> dict[str, Any]:
        """What is sent."""
        seen = None if self.seen is None else list(self.seen)
        return {"rewards": dict(self.rewards), "seen": seen, "event": self.event}

    @classmethod
    def of_event(cls, slate: str | None, body: Mapping[str, Any]) -> "Sent":
        """Return the report that an event of the log tells of."""
        seen = None if body["seen"] is None else tuple(body["seen"])
        rewards = tuple(sorted((item, float(x)) for item, x in body["rewards"].items()))
        return cls(slate or "", rewards, seen, body["event"])


@dataclass
class Notebook:
    """Everything that was sent, and everything that was answered.

    Parameters
    ----------
    slates
        Lists that a client got, by id.
    acknowledged
        Reports that were answered with 200, and the answer.
    doubtful
        Reports that were sent and never answered, or with 503: kept or not, but not in part.
    under_way
        How many requests wait for their answer.
    unavailable
        How many were answered with 503.
    repeated
        How many reports were sent again after they had been acknowledged.
    problems
        Answers that should not have been.
    """

    slates: dict[str, Given] = field(default_factory=dict)
    acknowledged: dict[Sent, dict[str, Any]] = field(default_factory=dict)
    doubtful: dict[Sent, None] = field(default_factory=dict)
    under_way: int = 0
    unavailable: int = 0
    repeated: int = 0
    problems: list[str] = field(default_factory=list)

    def list_answered(self, status: int, body: bytes) -> str | None:
        """Note the answer to a wish; return the id of the list if there is one."""
        if status != 201:
            self._refused("a list", status, body)
            return None
        answer = json.loads(body)
        slate: str = answer["slate_id"]
        if slate in self.slates:
            self.problems.append(f"slate {slate} was given twice")
        self.slates[slate] = Given(answer["user"], tuple(item["id"] for item in answer["items"]))
        return slate

    def sending(self, report: Sent) -> None:
        """Note a report before it goes out."""
        if report in self.acknowledged:
            self.repeated += 1
        else:
            self.doubtful[report] = None

    def report_answered(self, report: Sent, status: int, body: bytes) -> None:
        """Note the answer to a report."""
        if status != 200:
            self._refused(f"a report on {report.slate}", status, body)
            return
        answer = json.loads(body)
        known = self.acknowledged.setdefault(report, answer)
        if known != answer:
            self.problems.append(f"a report on {report.slate} got {known}, and again {answer}")
        self.doubtful.pop(report, None)

    def _refused(self, what: str, status: int, body: bytes) -> None:
        if status == 503:
            self.unavailable += 1
        else:
            text = body[:200].decode(errors="replace")
            self.problems.append(f"{what} was answered {status}: {text}")
