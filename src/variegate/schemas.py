"""Requests and responses of the HTTP API, for the service, its OpenAPI and the clients.

The service validates requests with these models and documents responses with them; it writes
responses without validating them again. The clients parse responses with them.
"""

from typing import Annotated, Final, Literal

from variegate.schema_types import ID_PATTERN as ID_PATTERN
from variegate.schema_types import MAX_ID_LENGTH as MAX_ID_LENGTH
from variegate.schema_types import AtLeast as AtLeast
from variegate.schema_types import Candidate as Candidate
from variegate.schema_types import CandidateList as CandidateList
from variegate.schema_types import Constraints as Constraints
from variegate.schema_types import Diversity as Diversity
from variegate.schema_types import FieldError as FieldError
from variegate.schema_types import Id as Id
from variegate.schema_types import Number as Number
from variegate.schema_types import PolicyName as PolicyName
from variegate.schema_types import Problem as Problem
from variegate.schema_types import RequestModel as RequestModel
from variegate.schema_types import ResponseModel as ResponseModel
from variegate.schema_types import SlateId as SlateId
from variegate.schema_types import StoredValue as StoredValue
from variegate.schema_types import Text as Text
from variegate.schema_types import Time as Time
from variegate.schema_types import Users as Users
from variegate.schema_types import Value as Value
from variegate.schema_types import Where as Where

# After `schema_types`, which says what to install where pydantic is missing.
from pydantic import (  # isort: skip
    AwareDatetime,
    ConfigDict,
    Field,
    FiniteFloat,
    StringConstraints,
    field_validator,
)


class SlateRequest(RequestModel):
    """A request for a slate. Every field is optional."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"k": 3, "explain": True}]})

    k: int | None = Field(
        None, ge=1, le=10_000, description="Maximum number of items.", examples=[5]
    )
    candidates: CandidateList | None = Field(
        None,
        description="What to choose from: ids, by default all items; or items with a ranker's "
        "scores, which for an open catalogue have all their data here.",
    )
    exclude: list[Id] = Field([], description="Ids to leave out.")
    where: Where | None = Field(
        None,
        description="A condition on the attributes of the items to choose from.",
        examples=[{"attribute": "price", "<=": 20}],
    )
    constraints: Constraints | None = Field(None, description="What the slate must meet.")
    strict: bool = Field(
        False,
        description="Whether unknown ids in `candidates` and `exclude` are refused; by default "
        "they are skipped and returned as `unknown_ids`.",
    )
    diversity: Diversity | None = Field(None, description="The diversity dial.")
    explain: bool = Field(False, description="Whether to return the parts of each item's score.")
    allow_repeats: bool = Field(
        False, description="Whether to include items that the user has been shown before."
    )
    details: bool = Field(False, description="Whether to return each item's attributes.")
    instead_of: SlateId | None = Field(
        None,
        description="Id of a slate of this user without feedback. It is withdrawn, as if it had "
        "not been shown, and replaced by the new one.",
    )


class BatchRequest(SlateRequest):
    """A request for a slate for each of several users, with the same options."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"users": ["ana", "ben"], "k": 3}]})

    users: Users = Field(
        description="Distinct ids of users, who need not exist yet.", examples=[["ana", "ben"]]
    )

    @field_validator("instead_of")
    @classmethod
    def _check_instead_of(cls, slate: str | None) -> None:
        if slate is not None:
            raise ValueError("`instead_of` is of one user, and no option of a batch")


class FeedbackRequest(RequestModel):
    """Feedback of a user on a slate."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rewards": {"tt0047478": 1}}]})

    rewards: dict[Id, Annotated[FiniteFloat, Field(ge=0, le=1)]] = Field(
        {}, description="Rewards from 0 to 1, by item id.", examples=[{}]
    )
    seen: list[Id] | None = Field(
        None,
        description="Ids of the items that the user looked at; by default all. An item that was "
        "seen and has no reward counts as 0.",
    )
    event: Id | None = Field(
        None, description="Id of this report: a report with the same id is counted once."
    )


class EventRequest(RequestModel):
    """What a user did with items outside slates, such as a purchase after a search."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"rewards": {"tt0047478": 1}, "event": "order-17"}]}
    )

    rewards: dict[Id, Annotated[FiniteFloat, Field(ge=0, le=1)]] = Field(
        min_length=1,
        max_length=1000,
        description="Rewards from 0 to 1, by item id.",
        examples=[{}],
    )
    event: Id | None = Field(
        None,
        description="Id of this event: one with the same id is counted once. Without it, every "
        "request is another event.",
    )
    time: Time | None = Field(None, description="When it happened: stored, and not learnt from.")
    allow_repeats: bool = Field(
        False,
        description="Whether the items may be recommended at once; by default they count as seen.",
    )


class ItemData(RequestModel):
    """The data of an item. Fields that are left out keep their value in an existing item."""

    title: Annotated[str, StringConstraints(max_length=1000)] | None = None
    attributes: dict[Id, Value] | None = None
    features: (
        Annotated[list[Number], Field(max_length=100_000)]
        | Annotated[dict[Text, Number], Field(max_length=100_000)]
        | None
    ) = Field(None, description="All features in order, or by name, where the others are 0.")
    distances: dict[Text, Value] | None = Field(
        None, description="A value for each distance that has its own data."
    )
    retired: bool | None = Field(
        None,
        description="Whether the item is left out of slates. By default PATCH leaves it as it is, "
        "and POST and PUT make the item active.",
    )


class NewItem(ItemData):
    """An item with its id."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "p7", "title": "Lamp", "attributes": {"price": 24}}]}
    )

    id: Id


class ItemsRequest(RequestModel):
    """Items to add or change: all of them, or none."""

    items: Annotated[list[NewItem], Field(min_length=1, max_length=10_000)]


class Explanation(ResponseModel):
    """The parts of an item's score."""

    relevance: float = Field(description="Estimated relevance of the item by itself.")
    diversity: dict[str, float] = Field(
        description="What it adds to the diversity of the items above it, by distance."
    )
    exploration: float = Field(description="Bonus for the uncertainty of the estimate.")


class ShownItem(ResponseModel):
    """An item of a slate."""

    id: str
    title: str
    score: float
    shown_before: bool
    explanation: Explanation | None = Field(None, description="With `explain` only.")
    attributes: dict[str, StoredValue] | None = Field(None, description="With `details` only.")


class Relaxed(ResponseModel):
    """A constraint that could not be met."""

    constraint: str = Field(description="Such as at_most.brand, at_least.0 or pins.1.")
    asked: int | str = Field(description="The number, or the item of a pin.")
    used: int | None = Field(description="The number in its place; null for a pin, dropped.")


class Slate(ResponseModel):
    """A slate: a list of items, from the top down."""

    slate_id: str
    user: str
    policy: str
    items: tuple[ShownItem, ...]
    diversity: dict[str, float] = Field(
        description="Mean distance of the slate's pairs of items, by distance."
    )
    unknown_ids: tuple[str, ...] = Field(
        (), description="Ids in `candidates` and `exclude` that no item has; left out if none."
    )
    relaxed: tuple[Relaxed, ...] = Field(
        (), description="Constraints that could not be met; left out if none."
    )
    notes: tuple[str, ...] = Field(
        (), description="What was unusual about the scores of the request; left out if nothing."
    )

    @property
    def ids(self) -> tuple[str, ...]:
        """The items' ids, in order."""
        return tuple(item.id for item in self.items)


class FeedbackResult(ResponseModel):
    """The result of feedback. The same report again has the same result."""

    slate_id: str
    status: Literal["learnt", "pending", "duplicate", "late"] = Field(
        description="learnt; pending until the slate closes; duplicate: all of it was reported "
        "before; or late, so that it does not count."
    )
    learnt: tuple[str, ...] = Field(description="Ids of the items that the policy learnt from.")


class EventResult(ResponseModel):
    """The result of an event. The same event again has the same result."""

    user: str
    learnt: tuple[str, ...] = Field(description="Ids of the items that the policy learnt from.")


_LABEL: Final = "The name, or example titles for a feature that has only a number."


class WeightEstimate(ResponseModel):
    """A weight with its 95% interval."""

    name: str
    label: str = Field(description=_LABEL)
    weight: float
    low: float
    high: float


class TotalDiversity(ResponseModel):
    """The total weight of all distances with its 95% interval, and what the feedback says of it."""

    weight: float
    low: float
    high: float
    probability_positive: float = Field(
        description="Probability, by the feedback alone, that the user likes variety at all."
    )
    probability_below_prior: float = Field(
        description="Probability, by the feedback alone, that the user likes less variety than the "
        "prior assumes of most users."
    )


class Words(ResponseModel):
    """What was learnt, in words."""

    likes: str
    variety: str


class Learnt(ResponseModel):
    """What was learnt about a user."""

    words: Words
    relevance: tuple[WeightEstimate, ...]
    total_diversity: TotalDiversity
    diversity: tuple[WeightEstimate, ...]
    floor: float = Field(
        description="Minimum weight of each distance in a slate, whatever was learnt."
    )


class User(ResponseModel):
    """A user, under the policy of the next slate."""

    user: str
    policy: str
    slates: int
    created: AwareDatetime
    changed: AwareDatetime
    learnt: Learnt


class PastItem(ResponseModel):
    """An item of a past slate; its reward is null while there is no feedback on it."""

    id: str
    title: str
    reward: float | None
    learnt: bool


class PastSlate(ResponseModel):
    """A past slate and its feedback."""

    slate_id: str
    policy: str
    created: AwareDatetime
    deadline: AwareDatetime | None
    closed: bool
    answered: bool
    earned: float = Field(description="Sum of the rewards.")
    diversity: dict[str, float] = Field(
        description="Mean distance of the slate's pairs of items, by distance."
    )
    items: tuple[PastItem, ...]


class History(ResponseModel):
    """A page of a user's slates, newest first; pass `next` as `before` for older ones."""

    user: str
    slates: tuple[PastSlate, ...]
    total: int = Field(description="Number of all slates of the user.")
    next: str | None


class Item(ResponseModel):
    """An item without its vectors."""

    id: str
    title: str
    attributes: dict[str, StoredValue]
    retired: bool


class ItemDetails(Item):
    """An item with all its data."""

    features: tuple[float, ...]
    distances: dict[str, StoredValue]


class ItemPage(ResponseModel):
    """A page of items; pass `next` as `after` for more."""

    items: tuple[Item, ...]
    total: int = Field(description="Number of all items that match.")
    next: int | None


class CatalogueInfo(ResponseModel):
    """The names of features, distances and attributes, and the policies by name."""

    items: int
    features: tuple[str, ...]
    distances: tuple[str, ...]
    largest_distances: dict[str, float] = Field(
        description="The largest value that each distance can have between two items."
    )
    attributes: tuple[str, ...]
    policies: dict[str, str]
    k: int


class Interval(ResponseModel):
    """A mean over users with its 95% interval; null where there are too few users."""

    mean: float | None
    low: float | None
    high: float | None


class PolicyReport(ResponseModel):
    """The results of one policy, over its users."""

    policy: str
    spec: str | None
    users: int
    answered_slates: int
    reward: Interval = Field(description="Mean reward per position with feedback.")
    diversity: dict[str, Interval] = Field(
        description="Mean distance of a slate's pairs of items, by distance."
    )


class Difference(ResponseModel):
    """The reward per position of one policy minus that of another."""

    policy: str
    against: str
    reward: Interval


class Report(ResponseModel):
    """A comparison of the policies."""

    policies: tuple[PolicyReport, ...]
    differences: tuple[Difference, ...]


class PriorWeight(ResponseModel):
    """The distribution of a weight over users."""

    name: str
    label: str = Field(description=_LABEL)
    mean: float
    deviation: float = Field(description="Standard deviation over users.")


class Prior(ResponseModel):
    """The prior of a policy's new users. It describes all users together, and no single one."""

    policy: str
    version: int = Field(description="Grows with every change; 0 before the first one.")
    fitted: AwareDatetime | None = Field(
        description="When it was fitted to the users of this service; null for the prior of the "
        "policy's spec."
    )
    users: int = Field(description="Number of users that it was fitted to; 0 for a default prior.")
    words: tuple[str, ...]
    relevance: tuple[PriorWeight, ...]
    diversity: tuple[PriorWeight, ...]
    noise: float = Field(description="Variance of a reward around the model's prediction.")


class ForgottenUser(ResponseModel):
    """All data about the user was deleted."""

    user: str
    forgotten: bool


class UpsertedItems(ResponseModel):
    """Ids of the items that were added or changed."""

    items: tuple[str, ...]


class RejectedItem(ResponseModel):
    """A line of an import that was not used."""

    line: int = Field(description="The line of the file, from 1.")
    id: str | None = Field(description="The item's id; null where it cannot be read.")
    message: str = Field(description="What is wrong, and what is expected.")


class ItemsProgress(ResponseModel):
    """How far an import of items is."""

    lines: int = Field(description="Lines read so far, without blank ones.")
    added: int
    changed: int
    unchanged: int
    rejected: int
    done: bool = Field(description="Whether this is the last line: slates have the items.")
    ignored_columns: tuple[str, ...] = Field(
        (), description="Columns of a CSV file that are no attribute; in the last line only."
    )


class RetiredItem(ResponseModel):
    """The item is no longer recommended."""

    id: str
    retired: bool


class ImportResult(ResponseModel):
    """Numbers of users, and of items and priors, that now match the import."""

    imported: int
    items: int


class Status(ResponseModel):
    """The service works."""

    status: Literal["ok"] = "ok"


class FailedSlate(ResponseModel):
    """Why a user of a batch has no slate."""

    user: str
    error: Problem
