"""Taking feedback: each position of a slate teaches at most once, whatever is sent again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final

from variegate.arrays import IndexArray
from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.codecs import SeenItems
from variegate.engine.terms import terms_of
from variegate.engine.unit_of_work import UnitOfWork
from variegate.errors import ConflictError, InputError, NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.store import SlateRow

#: The mark among a slate's reports; those of users begin with another sign.
WITHDRAWN: Final = "withdrawn"


def seen_without(uow: UnitOfWork, user: str, slate: str) -> tuple[SeenItems, list[SlateRow]]:
    """Return what a user would remember if one list had never been given.

    What the list displaced is remembered again. The lists that were given after it, if any,
    displaced something else then: those of which that is so come with it, changed.
    Raises ConflictError where the list must stay.
    """
    row = uow.slate(slate)
    _check_can_go(uow, row, user)
    later = [one for one in uow.slates_after(row) if WITHDRAWN not in one.reports]
    shown, catalogue = SeenItems(uow.user(user).shown), uow.snapshot.catalogue
    for one in [*later, row]:
        shown = shown.remove(rows_in_catalogue(catalogue, one.items), _displaced(uow.snapshot, one))
    changed = []
    for one in reversed(later):
        shown, again = _given_again(uow.snapshot, shown, one)
        if again.terms != one.terms:
            changed.append(again)
    return shown, changed


def withdraw(uow: UnitOfWork, slate: str, by: str) -> None:
    """Close a list without learning from it, and put down which list came in its place."""
    row = uow.slate(slate)
    mark = {"slate_id": row.id, "status": "late", "learnt": []}
    reports = {WITHDRAWN: {"content": WITHDRAWN, "answer": mark}}
    uow.take(row._replace(closed=True, reports=reports), "withdraw", {"instead": by})


def check_not_withdrawn(row: SlateRow) -> None:
    """Raise ConflictError for a slate that was taken back."""
    if WITHDRAWN in row.reports:
        raise ConflictError(f"slate {row.id!r} was taken back: another was given in its place")


def rows_in_catalogue(catalogue: Catalogue, ids: Sequence[str]) -> IndexArray:
    """Return the rows of items, but for those that the catalogue no longer has."""
    rows = catalogue.rows_or_none(ids)
    return rows[rows >= 0]


def displaced_ids(
    snapshot: CatalogueSnapshot, entries: list[tuple[int, int]], since: float
) -> tuple[tuple[str, int], ...]:
    """Return entries that a list displaced by the items' ids, but for those forgotten by then."""
    ids = snapshot.catalogue.ids
    return tuple((ids[row], second) for row, second in entries if second > since)


def _check_can_go(uow: UnitOfWork, row: SlateRow, user: str) -> None:
    if row.user_id != user:
        raise ConflictError(f"`instead_of` must be a list of {user!r}, got one of somebody else")
    if WITHDRAWN in row.reports:
        raise ConflictError(f"slate {row.id!r} was taken back already")
    if row.answered or row.reports:
        raise ConflictError(f"slate {row.id!r} was answered: it can no longer be taken back")
    if row.closed or (row.deadline is not None and uow.now > row.deadline):
        raise ConflictError(f"the time of slate {row.id!r} is over: it can no longer be taken back")


def _displaced(snapshot: CatalogueSnapshot, row: SlateRow) -> list[tuple[int, int]]:
    found = [(snapshot.row_of(item), second) for item, second in terms_of(row).displaced]
    return [(place, second) for place, second in found if place is not None]


def _given_again(
    snapshot: CatalogueSnapshot, shown: SeenItems, row: SlateRow
) -> tuple[SeenItems, SlateRow]:
    """Return what is remembered after a list, and the list with what it displaces by that."""
    terms = terms_of(row)
    rows = rows_in_catalogue(snapshot.catalogue, row.items)
    later, entries = shown.add(rows, row.created, terms.memory)
    displaced = displaced_ids(snapshot, entries, row.created - terms.memory_seconds)
    return later, row._replace(terms=replace(terms, displaced=displaced).to_dict())


#: Reports on one slate: no list of a hundred items needs more.
MAX_REPORTS: Final = 500


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a user made of a slate.

    Parameters
    ----------
    rewards
        From 0 to 1, by the item's id.
    seen
        Items that the user looked at; None means all. Those without a reward earned 0.
    event
        Names this report: sent again, it is the same report. Without one, what it says does.
    """

    slate: str
    rewards: Mapping[str, float]
    seen: tuple[str, ...] | None = None
    event: str | None = None

    def apply(self, uow: UnitOfWork) -> dict[str, Any]:
        """Take the report in, and return the answer."""
        return apply_feedback(uow, self)


def apply_feedback(uow: UnitOfWork, report: Feedback) -> dict[str, Any]:
    """Learn from a report, put it down, and return the answer; the same again answers the same."""
    row = uow.slate(report.slate)
    check_not_withdrawn(row)
    places = {item: place for place, item in enumerate(row.items)}
    said = {_place(places, item): float(reward) for item, reward in report.rewards.items()}
    looked = _looked(report, places)
    content = _content(said, looked)
    key = f"#{content}" if report.event is None else f"={report.event}"
    known = row.reports.get(key)
    if known is not None:
        if known["content"] != content:
            raise ConflictError(
                f"`event` {report.event!r} reported something else of slate {row.id!r} before"
            )
        answer: dict[str, Any] = known["answer"]
        return answer
    if len(row.reports) >= MAX_REPORTS:
        raise ConflictError(f"slate {row.id!r} has {MAX_REPORTS} reports: it takes no more")
    changed, taught, status = _outcome(uow, row, said, looked)
    if taught and not uow.teach(row, taught):
        changed, taught, status = row, {}, "late"
    answer = {
        "slate_id": row.id,
        "status": status,
        "learnt": [row.items[place] for place in sorted(taught)],
    }
    reports = {**row.reports, key: {"content": content, "answer": answer}}
    body = {
        "rewards": dict(report.rewards),
        "seen": None if report.seen is None else list(report.seen),
        "event": report.event,
        "status": status,
        "taught": {str(place): reward for place, reward in sorted(taught.items())},
    }
    uow.take(changed._replace(reports=reports), "feedback", body)
    return answer


def _outcome(
    uow: UnitOfWork, row: SlateRow, said: Mapping[int, float], looked: frozenset[int]
) -> tuple[SlateRow, dict[int, float], str]:
    """Return the slate with the report in it, the rewards to learn now, and what to call that."""
    terms = terms_of(row)
    late = row.closed or (row.deadline is not None and uow.now > row.deadline)
    if late and terms.late == "drop":
        return row, {}, "late"
    if terms.aggregation == "sum" and not row.closed:
        return with_rewards(row, _summed(row, said, looked)), {}, "pending"
    if not row.closed:  # what was learnt from silence does not contradict what is said of it later
        _check_agrees(row, said)
    fresh = {
        place: said.get(place, 0.0)
        for place in sorted(looked | said.keys())
        if row.rewards[place] is None
    }
    if row.closed and not fresh:
        return row, {}, "late"
    rewards = [fresh.get(place, reward) for place, reward in enumerate(row.rewards)]
    taught = [place in fresh or done for place, done in enumerate(row.taught)]
    return with_rewards(row, rewards, taught), fresh, "learnt" if fresh else "duplicate"


def with_rewards(
    row: SlateRow, rewards: list[float | None], taught: list[bool] | None = None
) -> SlateRow:
    """Return the slate with these rewards, and what they come to; and what has taught, if given."""
    told = [reward for reward in rewards if reward is not None]
    return row._replace(
        rewards=rewards,
        taught=row.taught if taught is None else taught,
        earned=sum(told, 0.0),
        answered=bool(told),
    )


def _check_agrees(row: SlateRow, said: Mapping[int, float]) -> None:
    for place, reward in said.items():
        known = row.rewards[place]
        if known is not None and known != reward:
            raise ConflictError(
                f"item {row.items[place]!r} of slate {row.id!r} has earned {known} already, got "
                f"{reward}: the first counts; name only what was looked at in `seen`, or let "
                "the service sum (its setting `aggregation`)"
            )


def _summed(row: SlateRow, said: Mapping[int, float], looked: frozenset[int]) -> list[float | None]:
    return [
        min((reward or 0.0) + said.get(place, 0.0), 1.0)
        if place in said or place in looked
        else reward
        for place, reward in enumerate(row.rewards)
    ]


def _looked(report: Feedback, places: Mapping[str, int]) -> frozenset[int]:
    if report.seen is None:
        return frozenset(places.values())
    return frozenset(_place(places, item) for item in report.seen)


def _place(places: Mapping[str, int], item: str) -> int:
    if item not in places:
        raise NotFoundError(f"no item {item!r} in this slate: it has {', '.join(places)}"[:500])
    return places[item]


def _content(said: Mapping[int, float], looked: frozenset[int]) -> str:
    text = f"{sorted(said.items())}{sorted(looked)}"
    return blake2b(text.encode(), digest_size=8).hexdigest()


def check_rewards(rewards: Mapping[str, float]) -> None:
    """Raise InputError for a reward that is not from 0 to 1."""
    for item, reward in rewards.items():
        if not 0.0 <= reward <= 1.0:
            raise InputError(f"`rewards` must be from 0 to 1, got {reward} for {item!r}")


@dataclass(frozen=True, slots=True)
class CloseSlate:
    """The end of the waiting for one slate."""

    slate: str

    def apply(self, uow: UnitOfWork) -> dict[str, Any]:
        """Close the slate, unless another process has; say whether that was done."""
        row = uow.slate(self.slate)
        if row.closed or row.due is None or uow.now < row.due:
            return {"closed": False}
        silence = terms_of(row).default_reward
        rewards = [silence if reward is None else reward for reward in row.rewards]
        taught = {
            place: reward
            for place, reward in enumerate(rewards)
            if reward is not None and not row.taught[place]
        }
        closed = row._replace(closed=True)
        if taught and uow.teach(row, taught):
            done = [place in taught or was for place, was in enumerate(row.taught)]
            closed = with_rewards(row, rewards)._replace(closed=True, taught=done)
        else:
            taught = {}
        body = {"taught": {str(place): reward for place, reward in taught.items()}}
        uow.take(closed, "close", body)
        return {"closed": True}
