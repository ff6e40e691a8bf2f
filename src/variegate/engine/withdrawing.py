"""Taking a list back that nobody has answered, so that another can stand in its place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from variegate.arrays import IndexArray
from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.shown import SeenItems
from variegate.engine.terms import terms_of
from variegate.engine.unit_of_work import UnitOfWork
from variegate.errors import ConflictError
from variegate.model.catalogue import Catalogue
from variegate.store import SlateRow

#: The mark among a slate's reports; those of users begin with another sign.
WITHDRAWN: Final = "withdrawn"


def shown_without(uow: UnitOfWork, user: str, slate: str) -> tuple[SeenItems, list[SlateRow]]:
    """Return what a user would remember if one list had never been given.

    What the list displaced is remembered again. The lists that were given after it, if any,
    displaced something else then: those of which that is so come with it, changed.
    Raises ConflictError where the list must stay.
    """
    row = uow.slate(slate)
    _check_can_go(uow, row, user)
    later = [one for one in uow.lists_after(row) if WITHDRAWN not in one.reports]
    shown, catalogue = SeenItems(uow.user(user).shown), uow.snapshot.catalogue
    for one in [*later, row]:
        shown = shown.before(known_rows(catalogue, one.items), _displaced(uow.snapshot, one))
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


def check_stands(row: SlateRow) -> None:
    """Raise ConflictError for a slate that was taken back."""
    if WITHDRAWN in row.reports:
        raise ConflictError(f"slate {row.id!r} was taken back: another was given in its place")


def known_rows(catalogue: Catalogue, ids: Sequence[str]) -> IndexArray:
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
    rows = known_rows(snapshot.catalogue, row.items)
    later, entries = shown.after(rows, row.created, terms.memory)
    displaced = displaced_ids(snapshot, entries, row.created - terms.memory_seconds)
    return later, row._replace(terms=replace(terms, displaced=displaced).to_dict())
