"""Taking a list back that nobody has answered, so that another can stand in its place."""

from typing import Final

from variegate.errors import ConflictError
from variegate.service.desk.ledger import Ledger
from variegate.service.desk.shown import Shown
from variegate.store import SlateRow

#: The mark among a slate's reports; those of users begin with another sign.
WITHDRAWN: Final = "withdrawn"


def shown_without(ledger: Ledger, user: str, slate: str) -> Shown:
    """Return what a user was shown but for one list, or raise ConflictError where it must stay."""
    row = ledger.slate(slate)
    if row.user_id != user:
        raise ConflictError(f"`instead_of` must be a list of {user!r}, got one of somebody else")
    if WITHDRAWN in row.reports:
        raise ConflictError(f"slate {slate!r} was taken back already")
    if row.answered or row.reports:
        raise ConflictError(f"slate {slate!r} was answered: it can no longer be taken back")
    if row.closed or (row.deadline is not None and ledger.now > row.deadline):
        raise ConflictError(f"the time of slate {slate!r} is over: it can no longer be taken back")
    return Shown(ledger.user(user).shown).without(ledger.stock.catalogue.rows(row.items))


def withdraw(ledger: Ledger, slate: str, by: str) -> None:
    """Close a list without learning from it, and put down which list came in its place."""
    row = ledger.slate(slate)
    mark = {"slate_id": row.id, "status": "late", "learnt": []}
    reports = {WITHDRAWN: {"content": WITHDRAWN, "answer": mark}}
    ledger.take(row._replace(closed=True, reports=reports), "withdraw", {"instead": by})


def check_stands(row: SlateRow) -> None:
    """Raise ConflictError for a slate that was taken back."""
    if WITHDRAWN in row.reports:
        raise ConflictError(f"slate {row.id!r} was taken back: another was given in its place")
