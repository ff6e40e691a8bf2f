"""What the store keeps, one class a table, with JSON columns as Python objects.

They are tuples: `row._replace(...)` is ten times as quick as a data class's.
"""

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from variegate.errors import InputError


class UserRow(NamedTuple):
    """A user.

    Parameters
    ----------
    state
        The policy's state as bytes, or None while nothing was learnt.
    shown
        What was shown to the user, in bytes that the store does not read.
    slates
        The lists that were given.
    version
        Grows by one with every change; a change names the version that it read.
    created, changed
        Seconds since 1970.
    """

    id: str
    policy: str
    state: bytes | None
    shown: bytes
    slates: int
    version: int
    created: float
    changed: float


class SlateRow(NamedTuple):
    """A list that was given.

    Parameters
    ----------
    id
        Ids sort by the time at which they were made.
    deadline
        When the wait for feedback is over, or None if never: feedback after this is late.
    features
        What the list taught or will teach with, in bytes that the store does not read.
    diversity
        The mean distance of the list's pairs, by the name of the distance.
    rewards
        One for each position, None where nothing was said yet.
    taught
        Whether each position has taught.
    reports
        What was reported, as the service keeps it.
    earned
        The sum of the rewards so far.
    answered
        Whether any feedback came.
    terms
        What the list was given under, as the service keeps it.
    due
        When the list closes by itself and teaches, or None where time teaches nothing.
    request
        The client's name for the request that the list answered, or None. A user has at most one
        list for each.
    """

    id: str
    user_id: str
    policy: str
    created: float
    deadline: float | None
    closed: bool
    k: int
    items: tuple[str, ...]
    features: bytes
    propensities: list[float] | None
    diversity: dict[str, float]
    rewards: list[float | None]
    taught: list[bool]
    reports: dict[str, Any]
    earned: float
    answered: bool
    terms: dict[str, Any]
    due: float | None
    request: str | None


class EventRow(NamedTuple):
    """Something that happened; the database gives `seq`, which is None before."""

    seq: int | None
    time: float
    user_id: str
    slate_id: str | None
    kind: str
    body: dict[str, Any]


class ItemRow(NamedTuple):
    """An item; `data` is None while the item is as in the catalogue's file."""

    row: int
    id: str
    retired: bool
    data: dict[str, Any] | None


class ItemChange(NamedTuple):
    """A change of an item: the revision that it led to, the item after it, and when that was."""

    revision: int
    item: ItemRow
    time: float


class KeyRow(NamedTuple):
    """A key to the service, of which only a hash is kept."""

    id: str
    name: str
    role: str
    hash: str
    created: float
    revoked: float | None


class ReplicaRow(NamedTuple):
    """A process that writes to the store.

    Parameters
    ----------
    host
        The machine, with the namespace of its process ids.
    configuration
        The settings that it shares with the others, as `CONFIGURATION` has them.
    seen
        Its last heartbeat, in seconds since 1970 by the database's clock.
    """

    id: str
    host: str
    pid: int
    configuration: str
    seen: float


class Head(NamedTuple):
    """What a transaction needs to know before anything else, read in one statement.

    Parameters
    ----------
    revision
        Of the items; "0" while none was changed.
    schema
        The version of the tables.
    configuration
        The settings that all replicas share, or None.
    now
        Seconds since 1970 by the database's clock, which is the same for all replicas.
    """

    revision: str
    schema: int
    configuration: str | None
    now: float


class PriorRow(NamedTuple):
    """What the users of a policy begin with, as it was fitted to those who were there before.

    Parameters
    ----------
    version
        Grows by one with every change; a change names the version that it read.
    data
        The prior as bytes, or None while the policy begins as its line says.
    users
        How many it was fitted on.
    fitted
        When that was, in seconds since 1970; 0 for never.
    turn
        When somebody last took on the fit that is due, in seconds since 1970.
    """

    policy: str
    version: int = 0
    data: bytes | None = None
    users: int = 0
    fitted: float = 0.0
    turn: float = 0.0


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
        to_json(row.diversity),
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
    diversity, rewards, taught, reports, earned, answered, terms, due, request = values[10:]
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
        from_json(diversity),
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


#: Bytes of an id: PostgreSQL keeps 2704 in an entry of an index, and an entry may hold two ids
LONGEST_ID: Final = 1024

# No character takes more than four bytes.
_SURELY_SHORT: Final = LONGEST_ID // 4


def check_ids(name: str, ids: Iterable[str]) -> None:
    """Raise InputError for an id that is too long or that some database could not keep."""
    for text in ids:
        if len(text) > _SURELY_SHORT or "\0" in text or not text.isascii():
            _check_closely(name, text)


def check_text(name: str, text: str) -> None:
    """Raise InputError for text that some database could not keep."""
    _bytes_of(name, text)


def _check_closely(name: str, text: str) -> None:
    size = _bytes_of(name, text)
    if size > LONGEST_ID:
        raise InputError(f"`{name}` must be at most {LONGEST_ID} bytes long, got {size}")


def _bytes_of(name: str, text: str) -> int:
    if "\0" in text:
        raise InputError(f"`{name}` must hold no NUL character, got {text[:40]!r}")
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InputError(f"`{name}` must be text that UTF-8 can write, got {text[:40]!r}") from None


#: The version of the tables
SCHEMA: Final = "schema"
#: The settings that all replicas share
CONFIGURATION: Final = "configuration"
#: The fingerprints of the catalogue that the items are of
CATALOGUE: Final = "catalogue"
#: How far users have been learnt again for another catalogue; empty when that is done
RELEARNING: Final = "relearning"
#: A number that grows with every change of items, or of what policies begin with
ITEMS_REVISION: Final = "items_revision"
#: The revision of the items from which on their history is kept; 0 if there is no note
ITEMS_HISTORY: Final = "items_history"
#: A number that grows with every change of keys
KEYS_REVISION: Final = "keys_revision"
#: How the running sums were counted
SUMS: Final = "sums"
#: Seconds for one statement that changes tables or counts a whole history, and to wait for another
#: process that does so
CHANGING_SECONDS: Final = 300.0
