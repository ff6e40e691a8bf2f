"""The lines of an export: what each holds, and what is required of one that is imported.

Every field has a range, so that nothing can be imported that a later reader (a list, a report, a
rebuild, an evaluation) could not work with.
"""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

from pydantic import (
    AfterValidator,
    AliasChoices,
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

from variegate.engine.feedback import MAX_REPORTS
from variegate.engine.terms import Terms, has_pending_rewards
from variegate.errors import ConflictError, DataError, InputError, NotFoundError, StateError
from variegate.kernels.layout import LARGEST

#: Written now; lines of format 1, a user each, are read too.
FORMAT: Final = 2


#: Bytes that a parsed line may take, about: what is larger is refused before it is parsed.
MAX_COST: Final = 32_000_000


_NO_CONTROLS: Final = r"^[^\x00-\x1f\x7f]+$"


_Id = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_NO_CONTROLS)]


_Name = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=_NO_CONTROLS)]


_SlateId = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z_-]{1,64}$")]


_Reward = Annotated[FiniteFloat, Field(ge=0, le=1)]


_Propensity = Annotated[FiniteFloat, Field(gt=0, le=1)]


_Distance = Annotated[FiniteFloat, Field(ge=0, le=1e6)]


_Number = Annotated[FiniteFloat, Field(ge=-LARGEST, le=LARGEST)]


_Count = Annotated[int, Field(ge=0, lt=2**53)]


_Second = Annotated[int, Field(ge=0, lt=2**32)]


#: Seconds since 1970, up to the year 2106: what was shown is kept with 32 bits for each time.
_Time = Annotated[FiniteFloat, Field(ge=0, lt=2**32)]


_Position = Annotated[str, StringConstraints(pattern=r"^(0|[1-9]\d{0,4})$")]


_Text = Annotated[str, StringConstraints(max_length=1_000_000)]


_Plain = _Text | Annotated[int, Field(ge=-(2**63), lt=2**63)] | FiniteFloat | bool | None


_Value = _Plain | Annotated[list[_Plain], Field(max_length=100_000)]


_Taught = Annotated[dict[_Position, _Reward], Field(max_length=10_000)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Line(_Part):
    variegate: Literal[2]


class ItemHistory(_Part):
    """The changes of items: the last revision, the first that is kept, and a digest of them."""

    revision: _Count
    first: _Count
    digest: _Name


class ExportLine(_Line):
    """The first line: when the export began, and which catalogue it is about."""

    kind: Literal["export"]
    time: _Time
    catalogue: dict[_Name, Any]
    items: ItemHistory


class ItemData(_Part):
    """An item that was added or changed at run time, as the store keeps it."""

    title: _Text | None = None
    attributes: dict[_Text, _Value] = {}
    features: list[_Number]
    distances: dict[_Text, _Value] = {}


class ItemLine(_Line):
    """A change of an item; `data` is None for one of the catalogue's file that was only retired."""

    kind: Literal["item"]
    revision: _Count
    row: Annotated[int, Field(ge=0, lt=2**31)]
    time: _Time
    id: _Id
    retired: bool
    data: ItemData | None


class PriorLine(_Line):
    """A prior that was fitted to users, as base64 of its file."""

    kind: Literal["prior"]
    policy: _Name
    users: _Count
    fitted: _Time
    data: str


class ArrayLine(_Part):
    """An array: its shape, and its numbers as base64 of 8 bytes each, little-endian."""

    shape: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(max_length=4)]
    data: str


class StateLine(_Part):
    """What a policy has learnt; format 1 has arrays as lists of numbers, or of lists of them."""

    policy: _Name
    version: Annotated[int, Field(ge=0, lt=2**16)]
    arrays: Annotated[dict[_Name, ArrayLine | list[Any]], Field(max_length=64)]


#: `kept` and `known` are the names of `pending` and `duplicate` in exports of earlier versions.
_Status = Literal["learnt", "pending", "duplicate", "late", "kept", "known"]


class _Outcome(_Part):
    slate_id: _SlateId
    status: _Status
    learnt: Annotated[list[_Id], Field(max_length=10_000)]


class _Report(_Part):
    content: _Id
    answer: _Outcome


_Bound = FiniteFloat | dict[_Text, FiniteFloat]


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

    id: _SlateId
    policy: _Name
    created: _Time
    deadline: _Time | None
    closed: bool
    k: Annotated[int, Field(ge=1, le=10_000)]
    items: list[_Id]
    features: str
    propensities: list[_Propensity] | None
    #: Exports of earlier versions call it `spread`.
    diversity: Annotated[
        dict[_Text, _Distance],
        Field(max_length=1000, validation_alias=AliasChoices("diversity", "spread")),
    ]
    rewards: list[_Reward | None]
    taught: list[bool]
    reports: Annotated[
        dict[Annotated[str, StringConstraints(min_length=1, max_length=201)], _Report],
        Field(max_length=MAX_REPORTS + 1),
    ]
    #: Both follow from `rewards`, and are computed from them.
    earned: Annotated[FiniteFloat, Field(ge=0, le=10_000)]
    answered: bool
    #: Lists of earlier exports have none of these
    terms: Annotated[dict[str, Any], AfterValidator(TermsLine.checked)] = {}
    due: _Time | None = None
    request: _Id | None = None

    @model_validator(mode="after")
    def _keep_acknowledged(self) -> "SlateLine":
        """Let a list of an earlier export still teach what was kept of it, as it would have."""
        _check_slate(self)
        if "terms" not in self.model_fields_set and has_pending_rewards(
            self.closed, self.rewards, self.taught
        ):
            self.terms = Terms(aggregation="sum").to_dict()
            self.due = self.created if self.deadline is None else self.deadline
        return self


class _FeedbackBody(_Part):
    rewards: Annotated[dict[_Id, _Reward], Field(max_length=10_000)]
    seen: Annotated[list[_Id], Field(max_length=100_000)] | None
    event: _Id | None
    status: _Status
    taught: _Taught


class _CloseBody(_Part):
    taught: _Taught


class _WithdrawBody(_Part):
    instead: _SlateId


class _FeedbackLine(_Part):
    kind: Literal["feedback"]
    time: _Time
    slate: _SlateId
    body: _FeedbackBody


class _CloseLine(_Part):
    kind: Literal["close"]
    time: _Time
    slate: _SlateId
    body: _CloseBody


class _WithdrawLine(_Part):
    kind: Literal["withdraw"]
    time: _Time
    slate: _SlateId
    body: _WithdrawBody


#: An event of the log
EventLine: TypeAlias = Annotated[
    _FeedbackLine | _CloseLine | _WithdrawLine, Field(discriminator="kind")
]


class _HistoryPart(_Part):
    lists: list[SlateLine]
    events: list[EventLine]
    #: Whether the next line goes on with the history of this user
    more: bool = False


class HistoryLine(_HistoryPart):
    """More of the history of the user of the line before."""

    variegate: Literal[2]
    kind: Literal["history"]
    user: _Id


class UserLine(_HistoryPart):
    """A user: what was learnt and shown, and the history or its beginning."""

    variegate: Literal[1, 2]
    kind: Literal["user"] = "user"
    user: _Id
    policy: _Name
    created: _Time
    changed: _Time
    slates: _Count
    state: StateLine | None
    # JSON has no tuples.
    shown: list[Annotated[tuple[_Id, _Second], Strict(False)]]


Line: TypeAlias = ExportLine | ItemLine | PriorLine | UserLine | HistoryLine


_KINDS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "export": TypeAdapter(ExportLine),
    "item": TypeAdapter(ItemLine),
    "prior": TypeAdapter(PriorLine),
    "user": TypeAdapter(UserLine),
    "history": TypeAdapter(HistoryLine),
}


def parse_line(raw: bytes, max_cost: int = MAX_COST) -> Line:
    """Return what a line holds, or raise DataError."""
    plain = _parsed(raw, max_cost)
    version = plain.get("variegate")
    if version not in (1, FORMAT) or isinstance(version, bool):
        raise DataError(f"`variegate` must be 1 or {FORMAT}, got {str(version)[:40]!r}")
    kind = plain.get("kind") if version == FORMAT else "user"
    if not isinstance(kind, str) or kind not in _KINDS:
        raise DataError(f"`kind` must be one of {', '.join(_KINDS)}, got {str(kind)[:40]!r}")
    try:
        found: Line = _KINDS[kind].validate_python(plain)
    except ValidationError as error:
        raise DataError(_first_problem(error)) from None
    return found


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return f"`{place[:80]}`: {problem['msg'].removeprefix('Value error, ')}"


def _parsed(raw: bytes, max_cost: int) -> dict[str, Any]:
    # The text is there three times: as bytes, as text and as what it stands for. An object takes
    # up to 100 bytes beyond its text, and stands behind one of these characters.
    cost = 3 * len(raw) + 100 * sum(map(raw.count, (b"[", b"{", b",", b":")))
    if cost > max_cost:
        raise DataError(
            f"must take at most {max_cost} bytes of memory, and would take up to {cost}"
        )
    try:
        plain = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise DataError("must be a line of JSON as an export has it") from None
    if not isinstance(plain, dict):
        raise DataError(f"must be an object, got {type(plain).__name__}")
    return plain


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def decoded(name: str, text: str) -> bytes:
    """Return the bytes of base64, or raise DataError."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise DataError(f"`{name}` must be base64") from None


def _check_slate(line: SlateLine) -> None:
    for name in ("items", "rewards", "taught", "propensities"):
        column = getattr(line, name)
        if column is not None and len(column) != line.k:
            raise DataError(
                f"`{name}` of list {line.id!r} must have {line.k} entries, got {len(column)}"
            )
    items = set(line.items)
    if len(items) != line.k:
        raise DataError(f"`items` of list {line.id!r} must be distinct")
    for done, reward in zip(line.taught, line.rewards, strict=True):
        if done and reward is None:
            raise DataError(f"`taught` of list {line.id!r} must be false without a reward")
    for report in line.reports.values():
        if report.answer.slate_id != line.id or not items.issuperset(report.answer.learnt):
            raise DataError(f"`reports` of list {line.id!r} must be about that list")


class RawLine(NamedTuple):
    """A line that is not empty: its number from 1, its bytes, and where they begin and end."""

    number: int
    raw: bytes
    start: int
    end: int


class Entry(NamedTuple):
    """The lines of one user, or one line of another kind: where they begin and end."""

    name: str
    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file of lines.

    Parameters
    ----------
    place
        What a message has before a line's number.
    max_cost
        Bytes that one parsed line may take, about.
    """

    path: str
    place: str = "line "
    max_cost: int = MAX_COST

    def raw_lines(self, entry: Entry | None = None) -> Iterator[RawLine]:
        """Give the lines of an entry, or all lines."""
        number, start = (entry.number, entry.start) if entry else (1, 0)
        longest = self.max_cost // 3
        try:
            with open(self.path, "rb") as file:
                file.seek(start)
                while entry is None or start < entry.end:
                    raw = file.readline(longest + 1)
                    if not raw:
                        break
                    if len(raw) > longest:
                        raise DataError(f"{self.place}{number}: must have at most {longest} bytes")
                    if raw.strip():
                        yield RawLine(number, raw, start, start + len(raw))
                    number, start = number + 1, start + len(raw)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from None

    def lines(self, entry: Entry) -> Iterator[tuple[int, Line]]:
        """Give the lines of an entry, parsed, with their numbers."""
        for number, raw, _start, _end in self.raw_lines(entry):
            with self.located(number):
                line = parse_line(raw, self.max_cost)
            yield number, line

    @contextmanager
    def located(self, number: int) -> Iterator[None]:
        """Let an error that is raised inside say which line it is about."""
        try:
            yield
        except ConflictError as error:
            raise ConflictError(f"{self.place}{number}: {error}") from None
        except (DataError, InputError, NotFoundError, StateError) as error:
            raise DataError(f"{self.place}{number}: {error}") from None
