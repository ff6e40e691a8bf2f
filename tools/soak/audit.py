"""Compare a store with what its clients received."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from variegate.engine import Experiment, LiveCatalogue
from variegate.engine.replay import check_states, iter_events, iter_slates, iter_users
from variegate.store import MAX_CHANGES, EventRow, SlateRow, Store, UserRow

# What the clients of a service received: the store must agree with it.


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
        """Return the report that an event of the log describes."""
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
        """Record the answer to a request for a list; return its id if there is one."""
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


@dataclass(frozen=True)
class Audit:
    """What was found.

    Parameters
    ----------
    unasked
        Reports in the log that were never acknowledged; each is complete.
    largest
        The largest difference of a number in a state from its rebuild.
    facts
        What is wrong, a line each; none if all is well.
    """

    users: int
    slates: int
    events: int
    unasked: int
    largest: float
    facts: tuple[str, ...]


def audited(store: Store, notebook: Notebook, live: LiveCatalogue, experiment: Experiment) -> Audit:
    """Compare all that the store has with what was acknowledged, and with itself."""
    with store.reading() as reader:
        users = list(iter_users(reader))
        slates = {row.id: row for user in users for row in iter_slates(reader, user.id)}
        events = [event for event in iter_events(reader, None) if event.kind == "feedback"]
    log = reports_in(events)
    check = check_states(store, live, experiment)
    facts = [
        *check_lists(notebook.slates, slates),
        *_about_reports(notebook, log, slates),
        *_about_positions(events, slates),
        *_about_users(users, slates, events),
        *(f"user {user!r}: the state is not what the log says" for user in check.wrong),
    ]
    unasked = sum(report not in notebook.acknowledged for report in log)
    return Audit(len(users), len(slates), len(events), unasked, check.largest, tuple(facts))


def reports_in(events: Iterable[EventRow]) -> dict[Sent, list[EventRow]]:
    """Return the events of feedback, by the report that each is of."""
    log: dict[Sent, list[EventRow]] = defaultdict(list)
    for event in events:
        if event.kind == "feedback":
            log[Sent.of_event(event.slate_id, event.body)].append(event)
    return log


def check_lists(lists: Mapping[str, Given], slates: Mapping[str, SlateRow]) -> Iterator[str]:
    """Yield what is wrong with lists that clients got."""
    for slate, given in lists.items():
        row = slates.get(slate)
        if row is None:
            yield f"slate {slate} was given, and is lost"
        elif (row.user_id, row.items) != given:
            yield f"slate {slate} is not the one that was given"


def _about_reports(
    notebook: Notebook, log: Mapping[Sent, Sequence[EventRow]], slates: Mapping[str, SlateRow]
) -> Iterator[str]:
    for report, answer in notebook.acknowledged.items():
        events = log.get(report, ())
        if not events:
            yield f"a report on {report.slate} was acknowledged, and is lost"
        elif report.slate in slates and _answer(events[0], slates[report.slate]) != answer:
            yield f"a report on {report.slate} was answered otherwise than the log has it"
    yield from check_sent(log, {*notebook.acknowledged, *notebook.doubtful})


def check_sent(log: Mapping[Sent, Sequence[EventRow]], sent: Set[Sent]) -> Iterator[str]:
    """Yield the reports that are in the log more than once, or that nobody sent."""
    for report, events in log.items():
        if len(events) > 1:
            yield f"a report on {report.slate} is in the log {len(events)} times"
        if report not in sent:
            yield f"a report on {report.slate} is in the log, and nobody sent it"


def _about_positions(events: Sequence[EventRow], slates: Mapping[str, SlateRow]) -> Iterator[str]:
    taught: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for event in events:
        lessons = event.body["taught"].items()
        taught[event.slate_id or ""] += [(int(place), reward) for place, reward in lessons]
    reports = Counter(event.slate_id for event in events)
    for slate in sorted(taught.keys() - slates.keys()):
        yield f"the log mentions slate {slate}, which is not there"
    for slate, row in slates.items():
        lessons = dict(taught[slate])
        if len(lessons) < len(taught[slate]):
            yield f"slate {slate}: a position has taught twice"
        if [place in lessons for place in range(row.k)] != row.taught:
            yield f"slate {slate}: what has taught is not what the log says"
        if [lessons.get(place) for place in range(row.k)] != row.rewards:
            yield f"slate {slate}: the rewards are not what the log says"
        if len(row.reports) != reports[slate]:
            yield f"slate {slate} has {len(row.reports)} reports, and the log {reports[slate]}"


def _about_users(
    users: Sequence[UserRow], slates: Mapping[str, SlateRow], events: Sequence[EventRow]
) -> Iterator[str]:
    lists = Counter(row.user_id for row in slates.values())
    reports = Counter(event.user_id for event in events)
    for user in users:
        if user.slates != lists[user.id]:
            yield f"user {user.id!r} counts {user.slates} lists, and has {lists[user.id]}"
        # Each list and each report changes the user once, or once together with others.
        changes = user.version % MAX_CHANGES
        if not 1 <= changes <= lists[user.id] + reports[user.id]:
            yield f"user {user.id!r} cannot have changed {changes} times"


def _answer(event: EventRow, row: SlateRow) -> dict[str, object]:
    """Return the answer to a report as the log tells it."""
    places = sorted(int(place) for place in event.body["taught"])
    learnt = [row.items[place] for place in places]
    return {"slate_id": row.id, "status": event.body["status"], "learnt": learnt}
