"""What the store keeps, one class a table, with JSON columns as Python objects.

They are tuples: `row._replace(...)` is ten times as quick as a data class's.
"""

from typing import Any, NamedTuple


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
    spread
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
    spread: dict[str, float]
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
