"""The rows of each table, how they are packed for a database, and which text they may hold.

A class of rows has the columns of its table as fields. The classes are named tuples because
`row._replace(...)` is ten times as fast as that of a data class.
"""

import json
import secrets
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import pydantic_core

from variegate.errors import InputError

#: A row as a database takes or returns it, with JSON as text
Values: TypeAlias = tuple[Any, ...]

# The keys of the table `meta`.
#: The oldest version of the code that can use the tables; every transaction reads it
SCHEMA: Final = "schema"
#: Version of the tables; missing in a store whose tables were made before version 10
TABLES_VERSION: Final = "tables"
#: Settings that all replicas share
CONFIGURATION: Final = "configuration"
#: Fingerprints of the catalogue that the items come from
CATALOGUE: Final = "catalogue"
#: Progress of retraining the users for another catalogue; empty when finished
RELEARNING: Final = "relearning"
#: Counter of the changes of items and priors
ITEMS_REVISION: Final = "items_revision"
#: First revision of the items whose history is stored; a missing entry means 0
ITEMS_HISTORY: Final = "items_history"
#: The revision that lists are made of while an import adds items; empty or missing for the latest
ITEMS_VISIBLE: Final = "items_visible"
#: Counter of the users that were forgotten, whom processes then drop from their caches
FORGOTTEN: Final = "forgotten"
#: Counter of the changes of API keys
KEYS_REVISION: Final = "keys_revision"
#: Format of the running sums
SUMS: Final = "sums"

#: In place of a user's state, by far the largest part of the row, where it was not read
NOT_READ: Final = b"not read"

#: The changes of a user that its version can count
MAX_CHANGES: Final = 2**22

#: Maximum size of an id in bytes: an index entry of PostgreSQL holds 2704, and may hold two ids
MAX_ID_BYTES: Final = 1024
# No character takes more than four bytes.
_SHORT_ID: Final = MAX_ID_BYTES // 4


class UserRow(NamedTuple):
    """A user.

    Parameters
    ----------
    state
        The policy's state as bytes, or None before the first update.
    shown
        The items shown to the user, as bytes that the store does not interpret.
    slates
        Number of slates created for the user.
    version
        Incremented with every change of the user and of the user's slates; an update must name the
        version that it read. See `new_version`.
    created, changed
        Unix timestamps.
    consumed
        The items of events outside lists, as bytes that the store does not interpret, or None.
    """

    id: str
    policy: str
    state: bytes | None
    shown: bytes
    slates: int
    version: int
    created: float
    changed: float
    consumed: bytes | None = None


class SlateRow(NamedTuple):
    """A slate that was recommended.

    Parameters
    ----------
    id
        Ids sort by creation time.
    deadline
        When feedback counts as late, or None for never.
    features
        The features that the policy learns from, as bytes that the store does not interpret.
    diversity
        Mean pairwise distance of the items, by name of the distance.
    rewards
        One per position, None where there is no feedback yet.
    taught
        Whether the policy has learnt from each position.
    reports
        The feedback reports, in the engine's format.
    earned
        Sum of the rewards so far.
    answered
        Whether there is any feedback.
    terms
        The settings that the slate was created under, in the engine's format.
    due
        When the slate closes automatically, or None for never.
    request
        The client's idempotency key, unique per user, or None.
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
    """An entry of the event log; the database assigns `seq`, which is None before.

    Parameters
    ----------
    request
        The client's idempotency key, unique per user, or None.
    """

    seq: int | None
    time: float
    user_id: str
    slate_id: str | None
    kind: str
    body: dict[str, Any]
    request: str | None = None


class ItemRow(NamedTuple):
    """An item; `data` is None while the item is as in the catalogue file."""

    row: int
    id: str
    retired: bool
    data: dict[str, Any] | None


class ItemChange(NamedTuple):
    """A change of an item: the revision it created, the item after it, and its time."""

    revision: int
    item: ItemRow
    time: float


class KeyRow(NamedTuple):
    """An API key, of which only a hash is stored."""

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
        Its shared settings, in the format of the entry `CONFIGURATION`.
    seen
        Timestamp of its last heartbeat by the database's clock.
    """

    id: str
    host: str
    pid: int
    configuration: str
    seen: float


class Head(NamedTuple):
    """What a transaction needs to know first, read in one statement.

    Parameters
    ----------
    revision
        Revision of the items that lists are made of; "0" before the first change.
    schema
        Version of the tables.
    configuration
        The settings that all replicas share, or None.
    now
        Timestamp by the database's clock, which all replicas share.
    """

    revision: str
    schema: int
    configuration: str | None
    now: float


class PriorRow(NamedTuple):
    """The prior of a policy's new users, fitted to its existing ones.

    Parameters
    ----------
    version
        Incremented with every change; an update must name the version that it read.
    data
        The prior as bytes, or None while the policy starts from its own options.
    users
        Number of users that it was fitted to.
    fitted
        When it was fitted, as a timestamp; 0 for never.
    turn
        When a process last claimed the scheduled fit, as a timestamp.
    """

    policy: str
    version: int = 0
    data: bytes | None = None
    users: int = 0
    fitted: float = 0.0
    turn: float = 0.0


_decode = json.JSONDecoder().raw_decode


def to_json(value: object) -> str:
    """Return `value` as JSON on one line."""
    try:
        text = pydantic_core.to_json(value).decode()  # several times as fast as `json`
    except ValueError:  # text with surrogates, which JSON can hold as escapes
        return _finite_json(value)
    # The databases' JSON functions do not accept these, and a text may contain the words.
    return _finite_json(value) if "NaN" in text or "Infinity" in text else text


def _finite_json(value: object) -> str:
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise InputError("what is stored as JSON must hold finite numbers only") from None


def from_json(text: str) -> Any:
    """Return the value that `to_json` encoded."""
    return _decode(text)[0]


def _optional_json(value: object | None) -> str | None:
    return None if value is None else to_json(value)


def new_version() -> int:
    """Return the first version of a user: random, and a multiple of `MAX_CHANGES`.

    So a user who was forgotten or replaced, and is created again, never has an earlier version; the
    remainder is the number of changes.
    """
    return secrets.randbits(40) * MAX_CHANGES


def user_update(row: UserRow) -> Values:
    """Return the columns of a user after the id, then the id and the version that was read."""
    changed = row.version + 1, row.created, row.changed, row.consumed
    return (*row[1:5], *changed, row.id, row.version)


def seen_items_update(row: UserRow) -> Values:
    """Return the columns that a new slate changes, then the id and the version that was read."""
    return (row.shown, row.slates, row.version + 1, row.changed, row.id, row.version)


def pack_slate(row: SlateRow) -> Values:
    """Return the columns of a slate."""
    return (
        *row[:7],
        to_json(row.items),
        row.features,
        _optional_json(row.propensities),
        to_json(row.diversity),
        *_pack_feedback(row),
        row.earned,
        row.answered,
        to_json(row.terms),
        row.due,
        row.request,
    )


def _pack_feedback(row: SlateRow) -> tuple[str, str, str]:
    """Return `rewards`, `taught` and `reports` as JSON, cached for a slate without feedback."""
    if not row.reports and row.rewards.count(None) == row.k and row.taught.count(False) == row.k:
        return _no_feedback(row.k)
    return to_json(row.rewards), to_json(row.taught), to_json(row.reports)


@lru_cache(maxsize=1000)
def _no_feedback(k: int) -> tuple[str, str, str]:
    return to_json([None] * k), to_json([False] * k), to_json({})


def feedback_update(row: SlateRow) -> Values:
    """Return the columns of a slate that feedback and time change, then its id."""
    return (
        row.closed,
        to_json(row.rewards),
        to_json(row.taught),
        to_json(row.reports),
        row.earned,
        row.answered,
        row.id,
    )


def features_update(row: SlateRow) -> Values:
    """Return the columns of a slate that another catalogue changes, then its id."""
    return (row.closed, row.features, _optional_json(row.propensities), row.id)


def unpack_slate(values: Values) -> SlateRow:
    """Return the slate whose columns these are."""
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


def pack_event(row: EventRow) -> Values:
    """Return the columns of an event after `seq`, which the database assigns."""
    return (row.time, row.user_id, row.slate_id, row.kind, to_json(row.body), row.request)


def unpack_event(values: Values) -> EventRow:
    """Return the event whose columns these are."""
    seq, time, user, slate, kind, body, request = values
    return EventRow(seq, time, user, slate, kind, from_json(body), request)


def body_update(row: EventRow) -> Values:
    """Return the column of an event that another catalogue changes, then its number."""
    return (to_json(row.body), row.seq)


def pack_item(row: ItemRow) -> Values:
    """Return the columns of an item."""
    return (row.row, row.id, row.retired, _optional_json(row.data))


def item_update(row: ItemRow) -> Values:
    """Return the columns of an item that can change, then its row and its id."""
    return (row.retired, _optional_json(row.data), row.row, row.id)


def unpack_item(values: Values) -> ItemRow:
    """Return the item whose columns these are."""
    row, name, retired, data = values
    return ItemRow(row, name, bool(retired), None if data is None else from_json(data))


def check_ids(name: str, ids: Iterable[str]) -> None:
    """Raise InputError for an id that is too long, or that a database cannot store."""
    for text in ids:
        if len(text) > _SHORT_ID or "\0" in text or not text.isascii():
            size = check_text(name, text)
            if size > MAX_ID_BYTES:
                raise InputError(f"`{name}` must be at most {MAX_ID_BYTES} bytes long, got {size}")


def check_text(name: str, text: str) -> int:
    """Return the size of a text in bytes; raise InputError if a database cannot store it."""
    if "\0" in text:
        raise InputError(f"`{name}` must hold no NUL character, got {text[:40]!r}")
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InputError(f"`{name}` must be valid Unicode text, got {text[:40]!r}") from None
