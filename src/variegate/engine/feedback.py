"""Feedback on a slate, its closing and its withdrawal: each position is learnt at most once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from variegate.arrays import IndexArray
from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.codecs import SeenItems
from variegate.engine.terms import term_of, terms_of
from variegate.engine.unit_of_work import UnitOfWork
from variegate.errors import ConflictError, InputError, NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.store import SlateRow

#: Reports on one slate, at most: no slate of a hundred items needs more.
MAX_REPORTS: Final = 500
#: The key among a slate's reports that marks it as withdrawn; keys of feedback begin with # or =.
WITHDRAWN: Final = "withdrawn"


class Feedback(NamedTuple):
    """A user's reaction to a slate.

    Parameters
    ----------
    rewards
        From 0 to 1, by the item's id.
    seen
        Items that the user looked at; None for all. Those without a reward earned 0.
    event
        The client's id for this report, which makes it idempotent; without one, reports with
        equal content are the same report.
    """

    slate: str
    rewards: Mapping[str, float]
    seen: tuple[str, ...] | None = None
    event: str | None = None

    def apply(self, uow: UnitOfWork) -> dict[str, Any]:
        """Learn from the report, store it, and return the answer; a repeated one is not learnt."""
        row = uow.slate(self.slate)
        check_not_withdrawn(row)
        places = {item: place for place, item in enumerate(row.items)}
        rewards = {_place(places, item): float(reward) for item, reward in self.rewards.items()}
        seen = frozenset(places.values() if self.seen is None else self._seen_places(places))
        content = _content_hash(rewards, seen)
        key = f"#{content}" if self.event is None else f"={self.event}"
        if key in row.reports:
            return self._earlier_answer(row, row.reports[key], content)
        if len(row.reports) >= MAX_REPORTS:
            raise ConflictError(f"slate {row.id!r} has {MAX_REPORTS} reports: it takes no more")
        changed, learnt, status = _outcome(uow, row, rewards, seen)
        if learnt and not uow.teach(row, learnt):
            changed, learnt, status = row, {}, "late"
        answer = {
            "slate_id": row.id,
            "status": status,
            "learnt": [row.items[place] for place in sorted(learnt)],
        }
        reports = {**row.reports, key: {"content": content, "answer": answer}}
        body = {
            "rewards": dict(self.rewards),
            "seen": None if self.seen is None else list(self.seen),
            "event": self.event,
            "status": status,
            "taught": {str(place): reward for place, reward in sorted(learnt.items())},
        }
        uow.change_slate(changed._replace(reports=reports), "feedback", body)
        return answer

    def _seen_places(self, places: Mapping[str, int]) -> list[int]:
        return [_place(places, item) for item in self.seen or ()]

    def _earlier_answer(
        self, row: SlateRow, report: Mapping[str, Any], content: str
    ) -> dict[str, Any]:
        if report["content"] != content:
            raise ConflictError(
                f"`event` {self.event!r} was used for another report on slate {row.id!r}"
            )
        answer: dict[str, Any] = report["answer"]
        return answer


@dataclass(frozen=True, slots=True)
class CloseSlate:
    """Close a slate whose deadline has passed: sums are learnt, and default rewards."""

    slate: str

    def apply(self, uow: UnitOfWork) -> dict[str, Any]:
        """Close the slate, unless another process has; return whether it was closed here."""
        row = uow.slate(self.slate)
        if row.closed or row.due is None or uow.now < row.due:
            return {"closed": False}
        default = term_of(row, "default_reward")
        rewards = [default if reward is None else reward for reward in row.rewards]
        learnt = {
            place: reward
            for place, reward in enumerate(rewards)
            if reward is not None and not row.taught[place]
        }
        closed = row._replace(closed=True)
        if learnt and uow.teach(row, learnt):
            taught = [place in learnt or done for place, done in enumerate(row.taught)]
            closed = _with_rewards(closed, rewards, taught)
        else:
            learnt = {}
        body = {"taught": {str(place): reward for place, reward in learnt.items()}}
        uow.change_slate(closed, "close", body)
        return {"closed": True}


def check_rewards(rewards: Mapping[str, float]) -> None:
    """Raise InputError for a reward that is not from 0 to 1."""
    for item, reward in rewards.items():
        if not 0.0 <= reward <= 1.0:
            raise InputError(f"`rewards` must be from 0 to 1, got {reward} for {item!r}")


def _outcome(
    uow: UnitOfWork, row: SlateRow, rewards: Mapping[int, float], seen: frozenset[int]
) -> tuple[SlateRow, dict[int, float], str]:
    """Return the slate with the report in it, the rewards to learn now, and the status."""
    is_late = row.closed or (row.deadline is not None and uow.now > row.deadline)
    if is_late and term_of(row, "late") == "drop":
        return row, {}, "late"
    if term_of(row, "aggregation") == "sum" and not row.closed:
        return _with_rewards(row, _summed(row, rewards, seen), row.taught), {}, "pending"
    if not row.closed:  # a default reward does not contradict a reward that comes later
        _check_agrees(row, rewards)
    fresh = {
        place: rewards.get(place, 0.0)
        for place in sorted(seen | rewards.keys())
        if row.rewards[place] is None
    }
    if row.closed and not fresh:
        return row, {}, "late"
    merged = [fresh.get(place, reward) for place, reward in enumerate(row.rewards)]
    taught = [place in fresh or done for place, done in enumerate(row.taught)]
    return _with_rewards(row, merged, taught), fresh, "learnt" if fresh else "duplicate"


def _with_rewards(row: SlateRow, rewards: list[float | None], taught: list[bool]) -> SlateRow:
    known = [reward for reward in rewards if reward is not None]
    return row._replace(
        rewards=rewards, taught=taught, earned=sum(known, 0.0), answered=bool(known)
    )


def _check_agrees(row: SlateRow, rewards: Mapping[int, float]) -> None:
    for place, reward in rewards.items():
        known = row.rewards[place]
        if known is not None and known != reward:
            raise ConflictError(
                f"item {row.items[place]!r} of slate {row.id!r} has earned {known} already, got "
                f"{reward}: the first counts; name only what was looked at in `seen`, or let "
                "the service sum (its setting `aggregation`)"
            )


def _summed(
    row: SlateRow, rewards: Mapping[int, float], seen: frozenset[int]
) -> list[float | None]:
    return [
        min((reward or 0.0) + rewards.get(place, 0.0), 1.0)
        if place in rewards or place in seen
        else reward
        for place, reward in enumerate(row.rewards)
    ]


def _place(places: Mapping[str, int], item: str) -> int:
    if item not in places:
        raise NotFoundError(f"no item {item!r} in this slate: it has {', '.join(places)}"[:500])
    return places[item]


def _content_hash(rewards: Mapping[int, float], seen: frozenset[int]) -> str:
    text = f"{sorted(rewards.items())}{sorted(seen)}"
    return blake2b(text.encode(), digest_size=8).hexdigest()


def seen_without(uow: UnitOfWork, user: str, slate: str) -> tuple[SeenItems, list[SlateRow]]:
    """Return a user's seen items as if one slate had not been given.

    The entries that the slate displaced return. The slates given after it would then have displaced
    other entries: those for which this is so are returned too, with changed terms.
    Raises ConflictError for a slate that cannot be withdrawn.
    """
    row = uow.slate(slate)
    _check_can_withdraw(uow, row, user)
    later = [one for one in uow.slates_after(row) if WITHDRAWN not in one.reports]
    seen, catalogue = SeenItems(uow.user(user).shown), uow.snapshot.catalogue
    for one in [*later, row]:
        seen = seen.remove(rows_in_catalogue(catalogue, one.items), _displaced(uow.snapshot, one))
    changed = []
    for one in reversed(later):
        seen, again = _with_new_displaced(uow.snapshot, seen, one)
        if again.terms != one.terms:
            changed.append(again)
    return seen, changed


def withdraw(uow: UnitOfWork, slate: str, replacement: str) -> None:
    """Close a slate without learning from it, and store which slate replaces it."""
    row = uow.slate(slate)
    answer = {"slate_id": row.id, "status": "late", "learnt": []}
    reports = {WITHDRAWN: {"content": WITHDRAWN, "answer": answer}}
    changed = row._replace(closed=True, reports=reports)
    uow.change_slate(changed, "withdraw", {"instead": replacement})


def check_not_withdrawn(row: SlateRow) -> None:
    """Raise ConflictError for a slate that was withdrawn."""
    if WITHDRAWN in row.reports:
        raise ConflictError(f"slate {row.id!r} was withdrawn: another replaced it")


def rows_in_catalogue(catalogue: Catalogue, ids: Sequence[str]) -> IndexArray:
    """Return the rows of items, without those that the catalogue no longer has."""
    rows = catalogue.find_rows(ids)
    return rows[rows >= 0]


def displaced_ids(
    snapshot: CatalogueSnapshot, entries: list[tuple[int, int]], since: float
) -> tuple[tuple[str, int], ...]:
    """Return the displaced entries by item id, without those older than `since`."""
    ids = snapshot.catalogue.ids
    return tuple((ids[row], second) for row, second in entries if second > since)


def _check_can_withdraw(uow: UnitOfWork, row: SlateRow, user: str) -> None:
    if row.user_id != user:
        raise ConflictError(f"`instead_of` must be a slate of {user!r}, got one of another user")
    if WITHDRAWN in row.reports:
        raise ConflictError(f"slate {row.id!r} was withdrawn already")
    if row.answered or row.reports:
        raise ConflictError(f"slate {row.id!r} has feedback: it can no longer be withdrawn")
    if row.closed or (row.deadline is not None and uow.now > row.deadline):
        raise ConflictError(f"slate {row.id!r} is past its deadline: it cannot be withdrawn")


def _displaced(snapshot: CatalogueSnapshot, row: SlateRow) -> list[tuple[int, int]]:
    found = [(snapshot.row_of(item), second) for item, second in terms_of(row).displaced]
    return [(place, second) for place, second in found if place is not None]


def _with_new_displaced(
    snapshot: CatalogueSnapshot, seen: SeenItems, row: SlateRow
) -> tuple[SeenItems, SlateRow]:
    """Return the seen items after a slate, and the slate with the entries that it displaces."""
    terms = terms_of(row)
    rows = rows_in_catalogue(snapshot.catalogue, row.items)
    later, entries = seen.add(rows, row.created, terms.memory)
    displaced = displaced_ids(snapshot, entries, row.created - terms.memory_seconds)
    return later, row._replace(terms=replace(terms, displaced=displaced).to_dict())
