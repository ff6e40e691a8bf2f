"""Bodies of requests and answers, as HTTP has them."""

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints

from variegate.engine.codecs import LONGEST, PATTERN

Id = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST, pattern=PATTERN)]
UserId = Annotated[str, Path(min_length=1, max_length=LONGEST, pattern=PATTERN)]
Number = Annotated[FiniteFloat, Field(ge=-1e6, le=1e6)]
#: The limit makes pydantic look whether UTF-8 can write it.
Text = Annotated[str, StringConstraints(max_length=10_000)]
Plain = Text | Annotated[int, Field(ge=-(2**63), lt=2**63)] | FiniteFloat | bool | None
#: What an attribute or a distance's value can be
Value = Plain | list[Plain]
#: The same in an answer: a catalogue's file has other limits.
Told = str | int | float | bool | None | list[str | int | float | bool | None]


class Body(BaseModel):
    """A request's body: nothing unknown in it, no text where a number should be."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DialBody(Body):
    """How varied this one list shall be, beside what was learnt."""

    scale: Annotated[FiniteFloat, Field(ge=0, le=1e6)] = Field(
        1.0, description="Multiplies the learnt wish for variety: 0 none, 1 as learnt, 2 double."
    )
    floor: Number | dict[Text, Number] | None = Field(
        None, description="The least weight of variety, for all distances or by a distance's name."
    )
    ceiling: Number | dict[Text, Number] | None = Field(
        None, description="The most, in the same way."
    )


class SlateBody(Body):
    """What list a user shall get. Everything can be left out."""

    k: int | None = Field(
        None, ge=1, le=10_000, description="Items in the list, at most.", examples=[5]
    )
    candidates: list[Id] | None = Field(None, description="Ids to choose from; all if left out.")
    exclude: list[Id] = Field([], description="Ids not to choose.")
    diversity: DialBody | None = Field(None, description="The diversity dial.")
    explain: bool = Field(False, description="Whether to say why each item is there.")
    allow_repeats: bool = Field(
        False, description="Whether items may come again that the user was shown before."
    )
    details: bool = Field(False, description="Whether each item comes with its attributes.")
    instead_of: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z_-]{1,64}$")] | None = Field(
        None,
        description="A list of the user's that was not answered. It is taken back, as if it had "
        "not been shown, and this one is given in its place.",
    )


class FeedbackBody(Body):
    """What the user made of a list."""

    rewards: dict[Id, Annotated[FiniteFloat, Field(ge=0, le=1)]] = Field(
        {}, description="From 0 to 1, by item id.", examples=[{}]
    )
    seen: list[Id] | None = Field(
        None,
        description="Ids that the user looked at; all if left out. Seen and not rewarded is 0.",
    )
    event: Id | None = Field(
        None, description="Names this report, so that it counts once however often it is sent."
    )


class ItemBody(Body):
    """An item's data; a known item keeps what is left out."""

    title: Annotated[str, StringConstraints(max_length=1000)] | None = None
    attributes: dict[Id, Value] | None = None
    features: (
        Annotated[list[Number], Field(max_length=100_000)]
        | Annotated[dict[Text, Number], Field(max_length=100_000)]
        | None
    ) = Field(None, description="All of them in order, or by name, those left out being 0.")
    distances: dict[Text, Value] | None = Field(
        None, description="A value for each distance that has data of its own."
    )


class NewItemBody(ItemBody):
    """An item with its id."""

    id: Id


class ItemsBody(Body):
    """Items to add or change, all of them or none."""

    items: Annotated[list[NewItemBody], Field(min_length=1, max_length=10_000)]


class Explanation(BaseModel):
    """The parts of an item's score."""

    relevance: float = Field(description="What the item is worth by itself.")
    diversity: dict[str, float] = Field(description="What it adds to the items above, by distance.")
    exploration: float = Field(description="What it got because too little is known of it.")


class ShownItem(BaseModel):
    """An item of a list."""

    id: str
    title: str
    score: float
    shown_before: bool
    explanation: Explanation | None = None
    attributes: dict[str, Told] | None = None


class SlateAnswer(BaseModel):
    """A list, from the top down."""

    slate_id: str
    user: str
    policy: str
    items: list[ShownItem]
    diversity: dict[str, float] = Field(description="Mean distance of the list's pairs.")


class FeedbackAnswer(BaseModel):
    """What became of a report; the same report again is answered the same."""

    slate_id: str
    status: Literal["learnt", "pending", "duplicate", "late"] = Field(
        description="learnt; pending until the list closes; duplicate: all of it was reported "
        "before; or late, so that it does not count."
    )
    learnt: list[str] = Field(description="Ids that this report taught something of.")


class Belief(BaseModel):
    """A weight with its 95% interval."""

    name: str
    weight: float
    low: float
    high: float


class Words(BaseModel):
    """What was learnt, in words."""

    likes: str
    variety: str


class Learnt(BaseModel):
    """What was learnt of a user."""

    words: Words
    relevance: list[Belief]
    diversity: list[Belief]
    floor: float = Field(
        description="The least that each distance counts for in a list, whatever was learnt."
    )


class UserAnswer(BaseModel):
    """A user, under the policy that the next list will be by."""

    user: str
    policy: str
    slates: int
    created: float
    changed: float
    learnt: Learnt


class PastItem(BaseModel):
    """An item of a list of before; the reward is null while nothing was said of it."""

    id: str
    title: str
    reward: float | None
    learnt: bool


class PastSlate(BaseModel):
    """A list of before."""

    slate_id: str
    policy: str
    created: float
    deadline: float | None
    closed: bool
    answered: bool
    earned: float
    diversity: dict[str, float]
    items: list[PastItem]


class HistoryAnswer(BaseModel):
    """A user's lists, the newest first; `next` is what to give as `before` for older ones."""

    user: str
    slates: list[PastSlate]
    next: str | None


class ItemAnswer(BaseModel):
    """An item in short."""

    id: str
    title: str
    attributes: dict[str, Told]
    retired: bool


class WholeItemAnswer(ItemAnswer):
    """An item with all its data."""

    features: list[float]
    distances: dict[str, Told]


class ItemsAnswer(BaseModel):
    """Items that were found; `next` is what to give as `after` for more."""

    items: list[ItemAnswer]
    total: int
    next: int | None


class CatalogueAnswer(BaseModel):
    """What the items are described by."""

    items: int
    features: list[str]
    distances: list[str]
    attributes: list[str]
    policies: dict[str, str]
    k: int


class Interval(BaseModel):
    """A mean over users with its 95% interval; null where there are too few."""

    mean: float | None
    low: float | None
    high: float | None


class PolicyReport(BaseModel):
    """One policy's users."""

    policy: str
    line: str | None
    users: int
    answered_slates: int
    reward: Interval = Field(description="Reward for each position that was answered.")
    diversity: dict[str, Interval] = Field(description="Mean distance of a list's pairs.")


class Difference(BaseModel):
    """How much more one policy earns than another, for each position."""

    policy: str
    against: str
    reward: Interval


class ReportAnswer(BaseModel):
    """The policies side by side."""

    policies: list[PolicyReport]
    differences: list[Difference]


class ForgottenAnswer(BaseModel):
    """Nothing is known of the user any more."""

    user: str
    forgotten: bool


class StockedAnswer(BaseModel):
    """Ids that were added or changed."""

    items: list[str]


class RetiredAnswer(BaseModel):
    """The item will not be recommended any more."""

    id: str
    retired: bool


class ImportedAnswer(BaseModel):
    """How many users, and how many items and priors, are as the import has them."""

    imported: int
    items: int


PolicyName = Annotated[str, Path(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class PriorWeight(BaseModel):
    """How a weight is spread over users."""

    name: str
    mean: float
    deviation: float


class PriorAnswer(BaseModel):
    """What users of a policy begin with: numbers of all users together, of none alone."""

    policy: str
    version: int = Field(description="Grows with every change; 0 while there was none.")
    fitted: float | None = Field(
        description="When it was fitted to the service's own users, in seconds since 1970; null "
        "where it is the one of the policy's line."
    )
    users: int = Field(description="How many users it was fitted to; 0 for a guess.")
    words: list[str]
    relevance: list[PriorWeight]
    diversity: list[PriorWeight]
    noise: float = Field(description="The variance of a reward around what the model says.")
