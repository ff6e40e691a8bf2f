"""The line of JSON that a user is exported as, and what is asked of one that comes in."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    Strict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from variegate.errors import DataError, InputError
from variegate.service.desk.terms import Terms, has_kept_rewards

#: Raised when a line of before can no longer be read as one of now.
FORMAT: Final = 1

_Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Policy = Annotated[str, StringConstraints(min_length=1, max_length=64)]
_Reward = Annotated[FiniteFloat, Field(ge=0, le=1)]
_Count = Annotated[int, Field(ge=0, lt=2**62)]
_Second = Annotated[int, Field(ge=0, lt=2**32)]
_Time = Annotated[FiniteFloat, Field(ge=0, le=1e15)]
_Place = Annotated[str, StringConstraints(pattern=r"^(0|[1-9]\d{0,4})$")]
_TAUGHT: Final = TypeAdapter(dict[_Place, _Reward], config=ConfigDict(strict=True))


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class StateLine(_Part):
    """What a policy has learnt; arrays as lists of numbers, or of lists of them."""

    policy: _Policy
    version: Annotated[int, Field(ge=0, lt=2**16)]
    arrays: Annotated[dict[_Policy, list[Any]], Field(max_length=64)]


class _Outcome(_Part):
    slate_id: _Id
    status: Literal["learnt", "kept", "known", "late"]
    learnt: list[_Id]


class _Report(_Part):
    content: _Id
    answer: _Outcome


_Bound = FiniteFloat | dict[_Id, FiniteFloat]


class _DialLine(_Part):
    scale: Annotated[FiniteFloat, Field(ge=0, le=1e6)] = 1.0
    floor: _Bound | None = None
    ceiling: _Bound | None = None


class TermsLine(_Part):
    """What a list was given under; see `Terms`."""

    revision: Annotated[str, StringConstraints(pattern=r"^\d{1,18}$")] | None = None
    aggregation: Literal["first", "sum"] = "first"
    default_reward: _Reward | None = None
    late: Literal["drop", "learn"] = "drop"
    mix: _Reward = 0.0
    dial: _DialLine | None = None
    candidates: list[_Id] | None = None
    exclude: list[_Id] = []
    allow_repeats: bool = False
    memory: _Count = 1000
    memory_days: Annotated[FiniteFloat, Field(ge=0, le=1e9)] = 30.0
    displaced: list[Annotated[tuple[_Id, _Second], Strict(False)]] = []
    asked: _Id | None = None

    @classmethod
    def checked(cls, terms: dict[str, Any]) -> dict[str, Any]:
        """Return `terms` as they are, or raise ValueError."""
        try:
            cls.model_validate(terms)
            Terms.from_dict(terms)
        except ValidationError as error:
            raise ValueError(_first_problem(error)) from None
        except InputError as error:
            raise ValueError(str(error)) from None
        return terms


class SlateLine(_Part):
    """A list that was given; the columns of the store."""

    id: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
    policy: _Policy
    created: _Time
    deadline: _Time | None
    closed: bool
    k: Annotated[int, Field(ge=1, le=10_000)]
    items: list[_Id]
    features: str
    propensities: list[_Reward] | None
    spread: dict[_Id, FiniteFloat]
    rewards: list[_Reward | None]
    taught: list[bool]
    reports: dict[Annotated[str, StringConstraints(max_length=201)], _Report]
    earned: Annotated[FiniteFloat, Field(ge=0)]
    answered: bool
    #: Lists of earlier exports have none of these
    terms: Annotated[dict[str, Any], AfterValidator(TermsLine.checked)] = {}
    due: _Time | None = None
    request: _Id | None = None

    @model_validator(mode="after")
    def _keep_acknowledged(self) -> "SlateLine":
        """Let a list of an earlier export still teach what was kept of it, as it would have."""
        if "terms" not in self.model_fields_set and has_kept_rewards(
            self.closed, self.rewards, self.taught
        ):
            self.terms = Terms(aggregation="sum").to_dict()
            self.due = self.created if self.deadline is None else self.deadline
        return self


class EventLine(_Part):
    """An event of the log."""

    time: _Time
    slate: _Id | None
    kind: Literal["slate", "feedback", "close", "withdraw", "import", "policy"]
    #: The state comes of `taught` alone; the rest is for people.
    body: dict[str, Any]


class UserLine(_Part):
    """A user, with all that is known of them."""

    variegate: Literal[1]
    user: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
    policy: _Policy
    created: _Time
    changed: _Time
    slates: _Count
    state: StateLine | None
    # JSON has no tuples.
    shown: list[Annotated[tuple[_Id, _Second], Strict(False)]]
    lists: list[SlateLine]
    events: list[EventLine]


def user_line(number: int, line: Mapping[str, Any]) -> UserLine:
    """Return the `number`-th line as a user, or raise DataError that says what is wrong."""
    if line.get("variegate") != FORMAT:
        given = line.get("variegate")
        raise DataError(f"user {number}: must be of format {FORMAT}, got {str(given)[:40]!r}")
    try:
        found = UserLine.model_validate(line)
    except ValidationError as error:
        raise DataError(f"user {number}: not as it was exported: {_first_problem(error)}") from None
    for one in found.lists:
        _check_lengths(number, one)
    lengths = {one.id: one.k for one in found.lists}
    for event in found.events:
        _check_taught(number, event, lengths.get(event.slate or "", 0))
    return found


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return f"`{place[:80]}`: {problem['msg']}"


def _check_lengths(number: int, line: SlateLine) -> None:
    for name in ("items", "rewards", "taught", "propensities"):
        column = getattr(line, name)
        if column is not None and len(column) != line.k:
            raise DataError(
                f"user {number}: `{name}` of list {line.id!r} must have {line.k} entries, "
                f"got {len(column)}"
            )


def _check_taught(number: int, event: EventLine, k: int) -> None:
    """Raise DataError for an event that taught something of no list, or of no position."""
    try:
        places = _TAUGHT.validate_python(event.body.get("taught", {}))
    except ValidationError:
        raise DataError(f"user {number}: `taught` must be rewards by position") from None
    if any(int(place) >= k for place in places):
        raise DataError(f"user {number}: an event taught what no list of theirs shows")
