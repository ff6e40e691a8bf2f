"""Compare the store with what clients received, and with itself."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tools.attack.facts import Facts
from tools.soak.audit import check_lists, check_sent, reports_in
from variegate.engine import Experiment, LiveCatalogue
from variegate.engine.replay import check_states, iter_events, iter_slates, iter_users
from variegate.store import EventRow, SlateRow, Store


def audit(store: Store, facts: Facts, live: LiveCatalogue, experiment: Experiment) -> list[str]:
    """Return what is wrong, a line each; nothing if all is well."""
    with store.reading() as reader:
        users = [row.id for row in iter_users(reader)]
        slates = {row.id: row for user in users for row in iter_slates(reader, user)}
        events = list(iter_events(reader, None))
        items = {row.id: row for row in reader.items()}
    titles = {
        item: None if row.retired else (row.data or {}).get("title") for item, row in items.items()
    }
    check = check_states(store, live, experiment)
    return [
        *_about_lists(facts, slates),
        *_about_reports(facts, slates, events),
        *_about_positions(slates, events),
        *_about_forgotten(facts, users),
        *_about_items(facts, titles),
        *(f"user {user!r}: the state is not what the log gives" for user in check.wrong),
    ]


def _about_lists(facts: Facts, slates: Mapping[str, SlateRow]) -> Iterator[str]:
    yield from check_lists(facts.lists, slates)
    by_key = Counter((row.user_id, row.request) for row in slates.values())
    for (user, key), count in by_key.items():
        if count > 1:
            yield f"key {key!r} of {user!r} led to {count} lists"
        if key is None or key not in facts.keys[user]:
            yield f"a list of {user!r} has the key {key!r}, which nobody sent"


def _about_reports(
    facts: Facts, slates: Mapping[str, SlateRow], events: Sequence[EventRow]
) -> Iterator[str]:
    log = reports_in(events)
    for report, answer in facts.reports.items():
        found = log.get(report, ())
        if not found:
            yield f"a report on {report.slate} was acknowledged ({answer['status']}), and is lost"
        elif found[0].body["status"] != answer["status"]:
            yield f"a report on {report.slate} was acknowledged otherwise than the log has it"
    yield from check_sent(log, facts.sent)
    for report in log:
        if report.slate not in slates:
            yield f"the log has a report on {report.slate}, which is not there"


def _about_positions(slates: Mapping[str, SlateRow], events: Iterable[EventRow]) -> Iterator[str]:
    taught: dict[str, Counter[int]] = defaultdict(Counter)
    for event in events:
        taught[event.slate_id or ""].update(map(int, event.body.get("taught") or {}))
    for slate, row in slates.items():
        counts = taught[slate]
        if max(counts.values(), default=0) > 1:
            yield f"slate {slate}: a position was learnt from twice"
        if [place in counts for place in range(row.k)] != row.taught:
            yield f"slate {slate}: what was learnt is not what the log says"
        kept = [reward is not None for reward in row.rewards]
        if row.closed and row.taught != kept and row.due is not None:
            yield f"slate {slate} is closed, and acknowledged rewards were not learnt"


def _about_forgotten(facts: Facts, users: Sequence[str]) -> Iterator[str]:
    for user in facts.forgotten.intersection(users) - facts.doubtful_users:
        yield f"user {user!r} was forgotten, and is there"


def _about_items(facts: Facts, titles: Mapping[str, str | None]) -> Iterator[str]:
    for item, title in facts.items.items():
        if titles.get(item) not in {title, *facts.late_items.get(item, ())}:
            yield f"item {item} must be {title!r}, and is {titles.get(item)!r}"
