"""Users as lines of JSON, out of a store and into one: all that is known of each."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np

from variegate.errors import ConflictError, DataError, NotFoundError, StateError
from variegate.policies import State
from variegate.service.desk.alone import Done
from variegate.service.desk.arms import Arms
from variegate.service.desk.lines import FORMAT, SlateLine, StateLine, UserLine, user_line
from variegate.service.desk.packing import packed_slate, unpacked_slate
from variegate.service.desk.relearning import events_of, relearnt
from variegate.service.desk.shelf import Stock
from variegate.service.desk.shown import Shown
from variegate.store import Batch, EventRow, Reader, SlateRow, UserRow

_PAGE: Final = 50


def exported(reader: Reader, stock: Stock, after: str | None) -> list[dict[str, Any]]:
    """Return the users after one, up to a number, as objects that JSON can hold."""
    return [exported_user(reader, stock, user) for user in reader.all_users(after, _PAGE)]


def exported_user(reader: Reader, stock: Stock, user: UserRow) -> dict[str, Any]:
    """Return one user: what was learnt, shown, given and answered."""
    ids = stock.catalogue.ids
    return {
        "variegate": FORMAT,
        "user": user.id,
        "policy": user.policy,
        "created": user.created,
        "changed": user.changed,
        "slates": user.slates,
        "state": None if user.state is None else _plain_state(State.from_bytes(user.state)),
        "shown": [[ids[row], second] for row, second in Shown(user.shown).times()],
        "lists": [_plain_slate(row) for row in _all_slates(reader, user.id)],
        "events": [
            {"time": e.time, "slate": e.slate_id, "kind": e.kind, "body": e.body}
            for e in events_of(reader, user.id)
        ],
    }


@dataclass(frozen=True, slots=True)
class Importing:
    """Take users in, all of them or none.

    Parameters
    ----------
    users
        What `exported` gave.
    replace
        Whether a user that is there already is replaced; else that is a ConflictError.
    """

    users: Sequence[Mapping[str, Any]]
    replace: bool = False
    alone: ClassVar[bool] = True
    long: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, settler: Any) -> Done:
        """Keep them all."""
        lines = [user_line(number, line) for number, line in enumerate(self.users, start=1)]
        _check_distinct(lines)
        known = batch.lock_users([line.user for line in lines])
        stock = settler.shelf.as_of(batch)
        # By id, as every batch does: two that wait for each other would stand still.
        for line in sorted(lines, key=lambda line: line.user):
            if line.user in known:
                if not self.replace:
                    raise ConflictError(f"user {line.user!r} is here already: ask to replace them")
                batch.forget_user(line.user)
            _take(batch, stock, settler.arms, line)
        # A policy that is remembered of somebody who was replaced has another state: not found.
        return Done({"imported": len(lines)})


def _check_distinct(lines: Sequence[UserLine]) -> None:
    seen: set[str] = set()
    for line in lines:
        if line.user in seen:
            raise DataError(f"user {line.user!r} stands in two lines: one must go")
        seen.add(line.user)


def _take(batch: Batch, stock: Stock, arms: Arms, line: UserLine) -> None:
    user = _user_of(line, stock)
    slates = [_slate_of(one, line.user, stock) for one in line.lists]
    batch.ensure_users([user])
    if batch.lock_users([user.id]).get(user.id) != user:
        raise ConflictError(f"user {user.id!r} came in by another way at this moment: try again")
    taken = sorted(batch.owners([row.id for row in slates]))
    if taken:
        raise ConflictError(f"list {taken[0]!r} of user {user.id!r} is here as somebody else's")
    batch.add_slates(slates)
    batch.add_events(
        [EventRow(None, one.time, user.id, one.slate, one.kind, one.body) for one in line.events]
    )
    moved = any(_bytes_of(old) != new.features for old, new in zip(line.lists, slates, strict=True))
    if moved and user.policy in arms.lines:
        # What was learnt may be kept by rows, and these are others here.
        policy = relearnt(batch, user.id, arms.new_policy(user.policy, stock.catalogue))
        batch.save_users([user._replace(state=policy.state().to_bytes())])


def _user_of(line: UserLine, stock: Stock) -> UserRow:
    rows = _rows(stock, line.user, [item for item, _second in line.shown])
    shown = list(zip(rows, [second for _item, second in line.shown], strict=True))
    return UserRow(
        id=line.user,
        policy=line.policy,
        state=None if line.state is None else _state_of(line.user, line.state).to_bytes(),
        shown=Shown.of_times(shown).to_bytes(),
        slates=line.slates,
        version=0,
        created=line.created,
        changed=line.changed,
    )


def _rows(stock: Stock, user: str, items: Sequence[str]) -> list[int]:
    try:
        rows: list[int] = stock.catalogue.rows(items).tolist()
    except NotFoundError as error:
        raise DataError(
            f"user {user!r} was shown an item that is not here ({error}): add it first"
        ) from None
    return rows


def _plain_state(state: State) -> dict[str, Any]:
    arrays = {name: array.tolist() for name, array in state.arrays.items()}
    return {"policy": state.policy, "version": state.version, "arrays": arrays}


def _state_of(user: str, line: StateLine) -> State:
    try:
        arrays = {name: np.array(array, dtype=np.float64) for name, array in line.arrays.items()}
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"user {user!r}: `state` must hold arrays of numbers") from None
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise DataError(f"user {user!r}: `state` must hold finite numbers")
    return State(line.policy, arrays, line.version)


def _plain_slate(row: SlateRow) -> dict[str, Any]:
    plain = row._asdict()
    del plain["user_id"]
    return {**plain, "items": list(row.items), "features": b64encode(row.features).decode()}


def _bytes_of(line: SlateLine) -> bytes:
    try:
        return b64decode(line.features, validate=True)
    except ValueError:
        raise DataError(f"list {line.id!r}: `features` must be as they were exported") from None


def _slate_of(line: SlateLine, user: str, stock: Stock) -> SlateRow:
    """Return a list with its items in the rows that they have here."""
    columns = {**line.model_dump(), "user_id": user, "items": tuple(line.items)}
    row = SlateRow(**{**columns, "features": _bytes_of(line)})
    try:
        slate = unpacked_slate(row)
    except StateError as error:
        raise DataError(str(error)) from None
    d, m = stock.catalogue.d, stock.catalogue.m
    parts = slate.relevance, slate.diversity, slate.coverage, slate.scores
    fits = slate.relevance.shape == (line.k, d) and slate.diversity.shape == (line.k, m)
    if not fits or not all(np.isfinite(part).all() for part in parts):
        raise DataError(f"list {line.id!r} must have the features of {stock.catalogue}")
    items = np.array(_rows(stock, user, line.items), dtype=np.intp)
    return row._replace(features=packed_slate(replace(slate, items=items)))


def _all_slates(reader: Reader, user: str) -> list[SlateRow]:
    rows: list[SlateRow] = []
    before: str | None = None
    while page := reader.history(user, _PAGE, before):
        rows += page
        before = page[-1].id
    return rows[::-1]
