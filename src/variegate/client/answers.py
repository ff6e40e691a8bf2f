"""What the service answers. A field that a newer service adds is passed over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of an item's score."""

    relevance: float
    #: What the item adds to those above it, by distance
    diversity: Mapping[str, float]
    exploration: float


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item of a list."""

    id: str
    title: str
    score: float
    shown_before: bool = False
    #: Only where it was asked for
    explanation: Explanation | None = None
    #: Only where they were asked for
    attributes: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Slate:
    """A list, from the top down."""

    slate_id: str
    user: str
    policy: str
    items: tuple[ShownItem, ...]
    #: The mean distance of the list's pairs, by distance
    diversity: Mapping[str, float] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        """The items' ids, in order."""
        return tuple(item.id for item in self.items)


@dataclass(frozen=True, slots=True)
class Feedback:
    """What became of a report: `learnt`, `pending`, `duplicate` or `late`."""

    slate_id: str
    status: str
    #: Ids that the report taught something of
    learnt: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Belief:
    """A weight with its 95% interval."""

    name: str
    weight: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Words:
    """What was learnt, in words."""

    likes: str
    variety: str


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was learnt of a user."""

    words: Words
    relevance: tuple[Belief, ...]
    diversity: tuple[Belief, ...]
    #: The least that each distance counts for in a list, whatever was learnt
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class User:
    """A user; times are seconds since 1970."""

    user: str
    policy: str
    slates: int
    created: float
    changed: float
    #: None from a service of before, where the user's policy was no longer served
    learnt: Learnt | None


@dataclass(frozen=True, slots=True)
class PastItem:
    """An item of a list of before; the reward is None while nothing was said of it."""

    id: str
    title: str
    reward: float | None
    learnt: bool


@dataclass(frozen=True, slots=True)
class PastSlate:
    """A list of before, and what came of it."""

    slate_id: str
    policy: str
    created: float
    deadline: float | None
    closed: bool
    answered: bool
    earned: float
    #: The mean distance of the list's pairs, by distance
    diversity: Mapping[str, float]
    items: tuple[PastItem, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """An item in short."""

    id: str
    title: str
    attributes: Mapping[str, Any]
    retired: bool


@dataclass(frozen=True, slots=True)
class WholeItem:
    """An item with all its data."""

    id: str
    title: str
    attributes: Mapping[str, Any]
    retired: bool
    features: tuple[float, ...]
    distances: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CatalogueFacts:
    """What the items are described by, and the policies by name."""

    items: int
    features: tuple[str, ...]
    distances: tuple[str, ...]
    attributes: tuple[str, ...]
    policies: Mapping[str, str]
    k: int


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over users with its 95% interval; None where there are too few."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """How one policy's users fared."""

    policy: str
    line: str | None
    users: int
    answered_slates: int
    reward: Interval
    diversity: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more one policy earns than another, for each position."""

    policy: str
    against: str
    reward: Interval


@dataclass(frozen=True, slots=True)
class Report:
    """The policies side by side."""

    policies: tuple[PolicyReport, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class PriorWeight:
    """How a weight is spread over users."""

    name: str
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Prior:
    """What new users of a policy are believed to want."""

    policy: str
    #: Grows with every change; 0 while there was none
    version: int
    #: Seconds since 1970; None where it is the one of the policy's line
    fitted: float | None
    #: How many users it was fitted to; 0 for a guess
    users: int
    words: tuple[str, ...]
    relevance: tuple[PriorWeight, ...]
    diversity: tuple[PriorWeight, ...]
    #: The variance of a reward around what the model says
    noise: float
