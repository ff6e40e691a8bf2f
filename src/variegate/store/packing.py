"""Rows as the tuples that the statements take and the databases give, with JSON as text."""

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

from variegate.errors import InputError
from variegate.store.rows import EventRow, ItemRow, SlateRow, UserRow

#: A row as a database takes or gives it
Values: TypeAlias = tuple[Any, ...]

# NaN is no JSON: the databases' own functions would stumble over it.
_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_decoder = json.JSONDecoder()


def _chunks() -> Callable[[object], Iterable[str]]:
    """Return what writes JSON in pieces, made once."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _encoder.iterencode
    # `JSONEncoder.encode` makes this for each call, which takes longer than a short list does.
    quoted = json.encoder.encode_basestring_ascii
    written = make(None, _encoder.default, quoted, None, ":", ",", False, False, False)
    return lambda value: written(value, 0)


_written = _chunks()


def to_json(value: object) -> str:
    """Return `value` as JSON on one line."""
    try:
        return "".join(_written(value))
    except ValueError:
        raise InputError("what is kept as JSON must hold finite numbers only") from None


def from_json(text: str) -> Any:
    """Return what `to_json` wrote."""
    return _decoder.raw_decode(text)[0]


def new_user(row: UserRow) -> Values:
    """Return the values of a user who is added."""
    return (
        row.id,
        row.policy,
        row.state,
        row.shown,
        row.slates,
        row.version,
        row.created,
        row.changed,
    )


def changed_user(row: UserRow) -> Values:
    """Return the values of a user who is saved, with the version that was read at the end."""
    return (
        row.policy,
        row.state,
        row.shown,
        row.slates,
        row.version + 1,
        row.created,
        row.changed,
        row.id,
        row.version,
    )


def shown_user(row: UserRow) -> Values:
    """Return what a list changes of a user, with the version that was read at the end."""
    return (row.shown, row.slates, row.version + 1, row.changed, row.id, row.version)


def new_slate(row: SlateRow) -> Values:
    """Return the values of a list that is added."""
    return (
        row.id,
        row.user_id,
        row.policy,
        row.created,
        row.deadline,
        row.closed,
        row.k,
        to_json(row.items),
        row.features,
        None if row.propensities is None else to_json(row.propensities),
        to_json(row.spread),
        *_said_of(row),
        row.earned,
        row.answered,
        to_json(row.terms),
        row.due,
        row.request,
    )


def _said_of(row: SlateRow) -> tuple[str, str, str]:
    """Return rewards, what has taught, and reports as JSON; for most new lists they are known."""
    if not row.reports and row.rewards.count(None) == row.k and row.taught.count(False) == row.k:
        return _nothing_said(row.k)
    return to_json(row.rewards), to_json(row.taught), to_json(row.reports)


@lru_cache(maxsize=1000)
def _nothing_said(k: int) -> tuple[str, str, str]:
    return to_json([None] * k), to_json([False] * k), to_json({})


def changed_slate(row: SlateRow) -> Values:
    """Return the values of a list that may change, and its id."""
    return (
        row.closed,
        to_json(row.rewards),
        to_json(row.taught),
        to_json(row.reports),
        row.earned,
        row.answered,
        row.id,
    )


def remade_slate(row: SlateRow) -> Values:
    """Return the values of a list that another catalogue changes, and its id."""
    propensities = None if row.propensities is None else to_json(row.propensities)
    return (row.closed, row.features, propensities, row.id)


def changed_terms(row: SlateRow) -> Values:
    """Return what a list was given under, and its id."""
    return (to_json(row.terms), row.id)


def slate_of(values: Values) -> SlateRow:
    """Return a list as it was added and changed."""
    name, user, policy, created, deadline, closed, k, items, features, propensities = values[:10]
    spread, rewards, taught, reports, earned, answered, terms, due, request = values[10:]
    return SlateRow(
        name,
        user,
        policy,
        created,
        deadline,
        bool(closed),
        k,
        tuple(from_json(items)),
        features,
        None if propensities is None else from_json(propensities),
        from_json(spread),
        from_json(rewards),
        from_json(taught),
        from_json(reports),
        earned,
        bool(answered),
        from_json(terms),
        due,
        request,
    )


def new_event(row: EventRow) -> Values:
    """Return the values of an event; its number is the database's to give."""
    return (row.time, row.user_id, row.slate_id, row.kind, to_json(row.body))


def event_of(values: Values) -> EventRow:
    """Return an event as it was added."""
    seq, time, user, slate, kind, body = values
    return EventRow(seq, time, user, slate, kind, from_json(body))


def new_item(row: ItemRow) -> Values:
    """Return the values of an item that is added."""
    return (row.row, row.id, row.retired, _data(row))


def changed_item(row: ItemRow) -> Values:
    """Return the values of an item that may change, then its row and its id."""
    return (row.retired, _data(row), row.row, row.id)


def item_of(values: Values) -> ItemRow:
    """Return an item as it was added and changed."""
    row, name, retired, data = values
    return ItemRow(row, name, bool(retired), None if data is None else from_json(data))


def _data(row: ItemRow) -> str | None:
    return None if row.data is None else to_json(row.data)
