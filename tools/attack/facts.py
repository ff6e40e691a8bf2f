"""What clients sent and what was acknowledged: the store must agree with it."""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from tools.soak.audit import Given
from tools.soak.audit import Sent as Feedback

__all__ = ["Facts", "Feedback", "Given"]


@dataclass
class Facts:
    """Everything that was sent, and everything that was answered.

    Parameters
    ----------
    lists
        Acknowledged lists by id.
    by_key
        The id of the list that an idempotency key of a user led to.
    keys
        Every key that was sent, by user.
    reports
        Acknowledged reports with their answers.
    sent
        Every report that was sent.
    forgotten
        Users whose removal was acknowledged.
    doubtful_users
        Users of a list request that was not answered, or with 503: it may be carried out late.
    items
        The last acknowledged state of each item that a client owns: its title, None if retired.
    late_items
        What changes of an item that were not acknowledged would make of it: each may be carried
        out late, also after changes that were acknowledged since.
    answers
        How often each status was answered, by kind of request.
    slowest
        Seconds of the slowest answer by a replica that was not stopped meanwhile.
    problems
        What must not happen, a line each.
    """

    lists: dict[str, Given] = field(default_factory=dict)
    by_key: dict[tuple[str, str], str] = field(default_factory=dict)
    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    reports: dict[Feedback, dict[str, Any]] = field(default_factory=dict)
    sent: set[Feedback] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    doubtful_users: set[str] = field(default_factory=set)
    items: dict[str, str | None] = field(default_factory=dict)
    late_items: dict[str, set[str | None]] = field(default_factory=lambda: defaultdict(set))
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    slowest: float = 0.0
    problems: list[str] = field(default_factory=list)

    def add_list(self, key: str, body: bytes) -> str:
        """Record an acknowledged list; return its id."""
        answer = json.loads(body)
        slate: str = answer["slate_id"]
        given = Given(answer["user"], tuple(item["id"] for item in answer["items"]))
        known = self.by_key.setdefault((given.user, key), slate)
        if known != slate:
            self.problems.append(f"key {key} of {given.user} led to {known}, and again to {slate}")
        if self.lists.setdefault(slate, given) != given:
            self.problems.append(f"slate {slate} was answered with two contents")
        return slate

    def add_report(self, report: Feedback, body: bytes) -> None:
        """Record an acknowledged report, unless its user was forgotten before the answer came."""
        if report.slate not in self.lists:
            return
        answer = json.loads(body)
        known = self.reports.setdefault(report, answer)
        if known != answer:
            self.problems.append(f"a report on {report.slate} got {known}, and again {answer}")

    def forget(self, user: str) -> None:
        """Record that a user is gone."""
        self.forgotten.add(user)
        gone = {slate for slate, given in self.lists.items() if given.user == user}
        for slate in gone:
            del self.lists[slate]
        self.reports = {
            one: answer for one, answer in self.reports.items() if one.slate not in gone
        }
