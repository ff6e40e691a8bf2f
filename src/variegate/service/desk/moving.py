"""Users as lines of JSON, out of a store and into one: all that is known of each."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from variegate.errors import ConflictError, DataError, VariegateError
from variegate.policies import State
from variegate.service.desk.alone import Done
from variegate.service.desk.relearning import events_of
from variegate.service.desk.shelf import Stock
from variegate.service.desk.shown import Shown
from variegate.store import Batch, EventRow, Reader, SlateRow, UserRow

#: Raised when a line of before can no longer be read as one of now.
FORMAT: Final = 1
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

    def apply_alone(self, batch: Batch, settler: Any) -> Done:
        """Keep them all."""
        stock = settler.shelf.as_of(batch)
        for number, line in enumerate(self.users, start=1):
            try:
                self._take(batch, stock, line)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                if isinstance(error, VariegateError):
                    raise
                raise DataError(f"user {number}: not as it was exported: {error!r}"[:300]) from None
        # A policy that is remembered of somebody who was replaced has another state: not found.
        return Done({"imported": len(self.users)})

    def _take(self, batch: Batch, stock: Stock, line: Mapping[str, Any]) -> None:
        if line.get("variegate") != FORMAT:
            given = line.get("variegate")
            raise DataError(f"user {line.get('user')!r} must be of format {FORMAT}, got {given!r}")
        user = _user_of(line, stock)
        if batch.users([user.id]):
            if not self.replace:
                raise ConflictError(f"user {user.id!r} is here already: ask to replace them")
            batch.forget_user(user.id)
        batch.ensure_users([user])
        batch.add_slates([_slate_of(row, user.id) for row in line["lists"]])
        batch.add_events(
            [
                EventRow(
                    None, float(e["time"]), user.id, e["slate"], str(e["kind"]), dict(e["body"])
                )
                for e in line["events"]
            ]
        )


def _user_of(line: Mapping[str, Any], stock: Stock) -> UserRow:
    rows = stock.rows("shown", [str(item) for item, _second in line["shown"]]).tolist()
    seconds = [int(second) for _item, second in line["shown"]]
    shown = list(zip(rows, seconds, strict=True))
    state = None if line["state"] is None else _state_of(line["state"]).to_bytes()
    return UserRow(
        id=str(line["user"]),
        policy=str(line["policy"]),
        state=state,
        shown=Shown.of_times(shown).to_bytes(),
        slates=int(line["slates"]),
        version=0,
        created=float(line["created"]),
        changed=float(line["changed"]),
    )


def _plain_state(state: State) -> dict[str, Any]:
    arrays = {name: array.tolist() for name, array in state.arrays.items()}
    return {"policy": state.policy, "version": state.version, "arrays": arrays}


def _state_of(plain: Mapping[str, Any]) -> State:
    arrays = {name: np.array(array, dtype=np.float64) for name, array in plain["arrays"].items()}
    return State(str(plain["policy"]), arrays, int(plain["version"]))


def _plain_slate(row: SlateRow) -> dict[str, Any]:
    plain = row._asdict()
    del plain["user_id"]
    return {**plain, "items": list(row.items), "features": b64encode(row.features).decode()}


def _slate_of(plain: Mapping[str, Any], user: str) -> SlateRow:
    changed = {
        "user_id": user,
        "items": tuple(map(str, plain["items"])),
        "features": b64decode(plain["features"], validate=True),
    }
    return SlateRow(**{**plain, **changed})


def _all_slates(reader: Reader, user: str) -> list[SlateRow]:
    rows: list[SlateRow] = []
    before: str | None = None
    while page := reader.history(user, _PAGE, before):
        rows += page
        before = page[-1].id
    return rows[::-1]
