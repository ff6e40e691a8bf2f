"""What the requests and responses of the HTTP API are made of; see `variegate.schemas`."""

import re
from collections import Counter
from dataclasses import dataclass
from math import isinf
from typing import Annotated, Any, ClassVar, Final

from variegate.conditions import parse_condition
from variegate.errors import MissingExtraError, join_problems

try:
    from pydantic import (
        AfterValidator,
        AwareDatetime,
        BaseModel,
        BeforeValidator,
        ConfigDict,
        Discriminator,
        Field,
        FiniteFloat,
        StringConstraints,
        Tag,
        ValidationError,
        ValidatorFunctionWrapHandler,
        WrapValidator,
        model_validator,
    )
    from pydantic_core import PydanticCustomError
except ImportError:
    raise MissingExtraError(
        "the HTTP API needs pydantic: pip install 'variegate[client]' or 'variegate[service]'"
    ) from None

MAX_ID_LENGTH: Final = 200
#: No control characters: ids are written to logs and URLs.
ID_PATTERN: Final = r"^[^\x00-\x1f\x7f]+$"

Id = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID_LENGTH, pattern=ID_PATTERN)]
SlateId = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
PolicyName = Annotated[
    str, StringConstraints(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
]
Number = Annotated[FiniteFloat, Field(strict=True, ge=-1e6, le=1e6)]
#: The limit makes pydantic check that UTF-8 can encode it.
Text = Annotated[str, StringConstraints(max_length=10_000)]
_Scalar = Text | Annotated[int, Field(ge=-(2**63), lt=2**63)] | FiniteFloat | bool | None


def _checked_value(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    try:
        return check(value)
    except ValidationError:  # which has an error for each type that the value could have
        raise PydanticCustomError(
            "attribute_value",
            "Value should be text of at most 10000 characters, a finite number, a whole number of "
            "at most 64 bits, true, false, null, or a list of these",
        ) from None


#: The value of an attribute or a distance in a request.
Value = Annotated[_Scalar | list[_Scalar], WrapValidator(_checked_value)]
#: The same in a response: a catalogue file has other limits.
StoredValue = str | int | float | bool | None | list[str | int | float | bool | None]

_POSITION: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_REQUEST: Final = ConfigDict(extra="forbid", strict=True)


def _checked_users(users: list[str]) -> list[str]:
    problems = [
        f"`users` must be distinct, got {user!r:.80} {count} times"
        for user, count in Counter(users).items()
        if count > 1
    ]
    if problems:
        raise ValueError(join_problems(problems))
    return users


Users = Annotated[list[Id], Field(min_length=1, max_length=1000), AfterValidator(_checked_users)]


def _checked_condition(where: dict[str, Any]) -> dict[str, Any]:
    parse_condition(where)  # its InputError is a ValueError, which pydantic reports
    return where


def _checked_time(time: Any) -> Any:
    if not isinstance(time, str):
        raise ValueError("must be a text such as 2026-11-18T20:00:00Z")
    return time


def _checked_year(time: AwareDatetime) -> AwareDatetime:
    if not 0 <= time.timestamp() < 2**32:
        raise ValueError(f"must be from 1970 to 2106, got {time.isoformat()}")
    return time


#: A time in a request: a text of RFC 3339.
Time = Annotated[
    AwareDatetime,
    Field(strict=False),
    BeforeValidator(_checked_time),
    AfterValidator(_checked_year),
]


#: A condition on the attributes of items; see `variegate.conditions`.
Where = Annotated[dict[str, Any], AfterValidator(_checked_condition)]


class RequestModel(BaseModel):
    """A request body: unknown fields are refused, and text is not converted to numbers."""

    model_config = _REQUEST


class ResponseModel(BaseModel):
    """A response body: fields that a newer service adds are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class FieldError(ResponseModel):
    """What is wrong with one field of a request."""

    field: str = Field(description="Such as k, or diversity.scale.")
    detail: str


class Problem(ResponseModel):
    """What went wrong: the body of every response with a status of 400 or above (RFC 9457)."""

    type: str = Field(
        description="The kind of error, for programs, such as /problems/not_found. A 503 is "
        "/problems/unavailable where nothing was changed, and /problems/outcome_unknown where the "
        "change may have been made.",
        examples=["/problems/invalid"],
    )
    title: str = Field(description="The kind in words.", examples=["Invalid request"])
    status: int = Field(examples=[422])
    detail: str = Field(
        description="For people: what is wrong, and what is expected.",
        examples=["`k` must be greater than or equal to 1, got 0"],
    )
    request_id: str = Field(description="Also in the service's log and in X-Request-ID.")
    errors: tuple[FieldError, ...] = Field(
        (), description="Every invalid field of the request; left out if there is none."
    )

    @property
    def kind(self) -> str:
        """The last segment of `type`, such as not_found."""
        return self.type.rpartition("/")[2]


def _checked_score(score: float) -> float:
    if isinf(score):
        raise ValueError("must be finite, or null for a missing one")
    return score


def _kind_of_vector(vector: Any) -> str:
    return "list[base64]" if isinstance(vector, str) else "list[number]"


def _kind_of_candidates(candidates: Any) -> str:
    """Return whether a list is one of ids: its first element decides."""
    is_ids = not isinstance(candidates, list) or not candidates or isinstance(candidates[0], str)
    return "list[id]" if is_ids else "list[item]"


#: A vector in a request: numbers, or base64 of little-endian float32.
Vector = Annotated[
    Annotated[list[Number], Field(min_length=1, max_length=100_000), Tag("list[number]")]
    | Annotated[str, Field(min_length=1, max_length=540_000), Tag("list[base64]")],
    Discriminator(_kind_of_vector),
]


class Candidate(RequestModel):
    """An item that a request brings, with what a ranker knows of it."""

    id: Id
    score: Annotated[float, AfterValidator(_checked_score)] | None = Field(
        default=None, description="The ranker's score, on any scale; null if there is none."
    )
    features: dict[Text, Number] | None = Field(
        default=None, description="Further features of an open catalogue by name; 0 by default."
    )
    vector: Vector | None = Field(
        default=None,
        description="For distances on vectors: numbers, or base64 of float32, 4 bytes each.",
    )
    attributes: dict[Id, Value] | None = Field(
        default=None, description="For the other distances, `where` and `constraints`."
    )


CandidateList = Annotated[
    Annotated[list[Id], Tag("list[id]")] | Annotated[list[Candidate], Tag("list[item]")],
    Discriminator(_kind_of_candidates),
]


# A dataclass: callers of the clients make it themselves, and its limits are the service's to check.
@dataclass(frozen=True, slots=True)
class Diversity:
    """The diversity dial: how diverse one slate is, relative to what was learnt."""

    # Its numbers are strict; if it were, routes that FastAPI parses would want an instance.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    scale: Annotated[
        FiniteFloat,
        Field(
            strict=True,
            ge=0,
            le=1e6,
            description="Multiplies the learnt weights of diversity: 0 for none, 1 as learnt, "
            "2 for double.",
        ),
    ] = 1.0
    floor: Annotated[
        Number | dict[Text, Number] | None,
        Field(description="Minimum weight of diversity, for all distances or by distance name."),
    ] = None
    ceiling: Annotated[
        Number | dict[Text, Number] | None,
        Field(description="Maximum weight of diversity, for all distances or by distance name."),
    ] = None


def _checked_positions(pins: dict[str, str]) -> dict[str, str]:
    for position in pins:
        if not _POSITION.fullmatch(position):
            raise ValueError(f"must be ids by position, from 1 on, got position {position!r:.80}")
    return pins


class AtLeast(RequestModel):
    """A minimum number of items that meet a condition."""

    where: dict[str, Any] = Field(description="A condition on attributes.")
    n: Annotated[int, Field(ge=1, le=10_000)]


class Constraints(RequestModel):
    """What a slate must meet."""

    at_most: dict[Text, Annotated[int, Field(ge=1, le=10_000)]] = Field(
        default={},
        description="Maximum number of items per value, by attribute.",
        examples=[{"brand": 2}],
    )
    at_least: Annotated[list[AtLeast], Field(max_length=100)] = Field(
        default=[], description="Minimum numbers of items that meet conditions."
    )
    pins: Annotated[dict[str, Id], AfterValidator(_checked_positions)] = Field(
        default={},
        description="Ids of items by position, which counts from 1.",
        examples=[{"1": "p7"}],
    )
    relax: bool = Field(
        default=False,
        description="Whether constraints that cannot be met are relaxed, and returned as "
        "`relaxed`; by default they are refused.",
    )

    @model_validator(mode="after")
    def _check_conditions(self) -> "Constraints":
        for at, one in enumerate(self.at_least):
            parse_condition(one.where, f"constraints.at_least.{at}.where")
        return self
