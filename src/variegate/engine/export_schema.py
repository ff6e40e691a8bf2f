"""The schema of an export's lines, and the file of lines that an import reads.

Every field has a range, so that nothing can be imported that a later reader (a list, a report, a
rebuild, an evaluation) could not handle.
"""

import json
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, NoReturn, TypeAlias, TypeVar

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

from variegate.engine.codecs import validation_message
from variegate.engine.feedback import MAX_REPORTS
from variegate.engine.terms import Terms, has_pending_rewards
from variegate.errors import ConflictError, DataError, InputError, NotFoundError, StateError
from variegate.kernels.layout import LARGEST
from variegate.schemas import ID_PATTERN, Id, SlateId

#: The format of new exports; format 1, with one line per user, can still be read.
FORMAT: Final = 2
#: Approximate bytes of memory for a parsed line, at most; a larger one is refused unparsed.
MAX_COST: Final = 32_000_000

_Name = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=ID_PATTERN)]
_Text = Annotated[str, StringConstraints(max_length=1_000_000)]
_Reward = Annotated[FiniteFloat, Field(ge=0, le=1)]
_Propensity = Annotated[FiniteFloat, Field(gt=0, le=1)]
_Distance = Annotated[FiniteFloat, Field(ge=0, le=1e6)]
_Number = Annotated[FiniteFloat, Field(ge=-LARGEST, le=LARGEST)]
_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Row = Annotated[int, Field(ge=0, lt=2**31)]
_Second = Annotated[int, Field(ge=0, lt=2**32)]
#: Seconds since 1970, up to the year 2106: shown items are stored with 32 bits for each time.
_Time = Annotated[FiniteFloat, Field(ge=0, lt=2**32)]
_Plain = _Text | Annotated[int, Field(ge=-(2**63), lt=2**63)] | FiniteFloat | bool | None
_Value = _Plain | Annotated[list[_Plain], Field(max_length=100_000)]
_Position = Annotated[str, StringConstraints(pattern=r"^(0|[1-9]\d{0,4})$")]
_Taught = Annotated[dict[_Position, _Reward], Field(max_length=10_000)]
# JSON has no tuples.
_Shown = Annotated[tuple[Id, _Second], Strict(False)]


_TERMS: Final = TypeAdapter(Terms)

Kind = TypeVar("Kind")
Body = TypeVar("Body")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Line(_Part):
    variegate: Literal[2]


class ItemHistory(_Part):
    """The changes of items: the last revision, the first that is stored, and a digest of them."""

    revision: _Count
    first: _Count
    digest: _Name


class ExportLine(_Line):
    """The first line: when the export began, and its catalogue."""

    kind: Literal["export"]
    time: _Time
    catalogue: dict[_Name, Any]
    items: ItemHistory


class ItemData(_Part):
    """The data of an item that was added or changed at run time."""

    title: _Text | None = None
    attributes: dict[_Text, _Value] = {}
    features: list[_Number]
    distances: dict[_Text, _Value] = {}


class ItemLine(_Line):
    """A change of an item; `data` is None for an item of the file that was only retired."""

    kind: Literal["item"]
    revision: _Count
    row: _Row
    time: _Time
    id: Id
    retired: bool
    data: ItemData | None


class PriorLine(_Line):
    """A prior that was fitted to users, as base64 of its file."""

    kind: Literal["prior"]
    policy: _Name
    users: _Count
    fitted: _Time
    data: str


class KeyLine(_Line):
    """An API key: a hash, and no secret."""

    kind: Literal["key"]
    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,40}$")]
    name: Annotated[_Name, Field(min_length=1, max_length=100)]
    role: Annotated[str, StringConstraints(pattern=r"^(read|write|admin|client)$")]
    hash: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    created: _Time
    revoked: _Time | None


class ArrayLine(_Part):
    """An array: its shape, and its numbers as base64 of 8 bytes each, little-endian."""

    shape: Annotated[list[_Row], Field(max_length=4)]
    data: str


class StateLine(_Part):
    """The state of a policy; format 1 has arrays as nested lists of numbers."""

    policy: _Name
    version: Annotated[int, Field(ge=0, lt=2**16)]
    arrays: Annotated[dict[_Name, ArrayLine | list[Any]], Field(max_length=64)]


#: `kept` and `known` are the names of `pending` and `duplicate` in exports of earlier versions.
_Status = Literal["learnt", "pending", "duplicate", "late", "kept", "known"]


class _Outcome(_Part):
    slate_id: SlateId
    status: _Status
    learnt: Annotated[list[Id], Field(max_length=10_000)]


class _Report(_Part):
    content: Id
    answer: _Outcome


def _check_terms(terms: dict[str, Any]) -> dict[str, Any]:
    try:
        # As JSON, in which a strict check takes objects and arrays for classes and tuples.
        _TERMS.validate_json(json.dumps(terms))
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from None
    except RecursionError:
        raise ValueError("must not be nested so deeply") from None
    return terms


class SlateLine(_Part):
    """A list; the columns of the store."""

    id: SlateId
    policy: _Name
    created: _Time
    deadline: _Time | None
    closed: bool
    k: Annotated[int, Field(ge=1, le=10_000)]
    items: list[Id]
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
    #: Both are recomputed from `rewards`.
    earned: Annotated[FiniteFloat, Field(ge=0, le=10_000)]
    answered: bool
    #: Not in exports of earlier versions
    terms: Annotated[dict[str, Any], AfterValidator(_check_terms)] = {}
    due: _Time | None = None
    request: Id | None = None

    @model_validator(mode="after")
    def _keep_acknowledged(self) -> "SlateLine":
        """Let pending feedback on a list of an earlier export be learnt, as it would have been."""
        _check_slate(self)
        if "terms" not in self.model_fields_set and has_pending_rewards(
            self.closed, self.rewards, self.taught
        ):
            self.terms = Terms(aggregation="sum").to_dict()
            self.due = self.created if self.deadline is None else self.deadline
        return self


class _FeedbackBody(_Part):
    rewards: Annotated[dict[Id, _Reward], Field(max_length=10_000)]
    seen: Annotated[list[Id], Field(max_length=100_000)] | None
    event: Id | None
    status: _Status
    taught: _Taught


class _CloseBody(_Part):
    taught: _Taught


class _WithdrawBody(_Part):
    instead: SlateId


class _InteractionBody(_Part):
    rewards: Annotated[dict[Id, _Reward], Field(min_length=1, max_length=10_000)]
    time: _Time | None
    allow_repeats: bool
    memory: _Count
    revision: Annotated[str, StringConstraints(pattern=r"^\d{1,18}$")] | None
    slates: _Count
    features: str


class InteractionLine(_Part):
    """An interaction outside lists."""

    time: _Time
    slate: None
    kind: Literal["interaction"]
    body: _InteractionBody
    request: Id | None = None


class _Event(_Part, Generic[Kind, Body]):
    time: _Time
    slate: SlateId
    kind: Kind
    body: Body


#: An event of the log
EventLine: TypeAlias = Annotated[
    _Event[Literal["feedback"], _FeedbackBody]
    | _Event[Literal["close"], _CloseBody]
    | _Event[Literal["withdraw"], _WithdrawBody]
    | InteractionLine,
    Field(discriminator="kind"),
]


class _HistoryPart(_Part):
    lists: list[SlateLine]
    events: list[EventLine]
    #: Whether the next line continues the history of this user
    more: bool = False


class HistoryLine(_HistoryPart):
    """More of the history of the user of the line before."""

    variegate: Literal[2]
    kind: Literal["history"]
    user: Id


class UserLine(_HistoryPart):
    """A user: state, shown items, and the history or its beginning."""

    variegate: Literal[1, 2]
    kind: Literal["user"] = "user"
    user: Id
    policy: _Name
    created: _Time
    changed: _Time
    slates: _Count
    state: StateLine | None
    shown: list[_Shown]
    #: Not in exports of earlier versions
    consumed: list[_Shown] = []
    #: What the part of the history taught that was removed, if any was
    checkpoint: StateLine | None = None


Line: TypeAlias = ExportLine | ItemLine | PriorLine | KeyLine | UserLine | HistoryLine


_KINDS: Final[Mapping[str, type[Line]]] = {
    "export": ExportLine,
    "item": ItemLine,
    "prior": PriorLine,
    "key": KeyLine,
    "user": UserLine,
    "history": HistoryLine,
}


def parse_line(raw: bytes, max_cost: int = MAX_COST) -> Line:
    """Return the content of a line, or raise DataError."""
    plain = _load_json(raw, max_cost)
    version = plain.get("variegate")
    if version not in (1, FORMAT) or isinstance(version, bool):
        raise DataError(f"`variegate` must be 1 or {FORMAT}, got {str(version)[:40]!r}")
    kind = plain.get("kind") if version == FORMAT else "user"
    if not isinstance(kind, str) or kind not in _KINDS:
        raise DataError(f"`kind` must be one of {', '.join(_KINDS)}, got {str(kind)[:40]!r}")
    try:
        return _KINDS[kind].model_validate(plain)
    except ValidationError as error:
        raise DataError(_first_problem(error)) from None


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_context=False)[0]
    place = f"`{'.'.join(map(str, problem['loc']))[:80] or 'line'}`"
    message = validation_message(place, problem)
    return message if message.startswith(place) else f"{place}: {message}"


def _load_json(raw: bytes, max_cost: int) -> dict[str, Any]:
    # The text is in memory three times: as bytes, as text and as values. Each value follows one of
    # these characters and takes up to 100 bytes beyond its text.
    cost = 3 * len(raw) + 100 * sum(map(raw.count, (b"[", b"{", b",", b":")))
    if cost > max_cost:
        raise DataError(
            f"must take at most {max_cost} bytes of memory, and would take up to {cost}"
        )
    try:
        plain = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise DataError("must be a line of JSON as in an export") from None
    if not isinstance(plain, dict):
        raise DataError(f"must be an object, got {type(plain).__name__}")
    return plain


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def decode_base64(name: str, text: str) -> bytes:
    """Return decoded bytes, or raise DataError."""
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


class Entry(NamedTuple):
    """A line, or the lines of one user: the number of the first, from 1, and their offsets."""

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
        The text before a line's number in messages.
    max_cost
        Approximate bytes of memory for one parsed line, at most.
    """

    path: str
    place: str = "line "
    max_cost: int = MAX_COST

    def lines(self, entry: Entry | None = None) -> Iterator[tuple[Entry, Line]]:
        """Yield the lines of an entry, or all lines, parsed; those that are empty are left out."""
        for at, raw in self._raw_lines(entry or Entry("", 1, 0, sys.maxsize)):
            if raw.strip():
                with self.at_line(at.number):
                    line = parse_line(raw, self.max_cost)
                yield at, line

    def _raw_lines(self, entry: Entry) -> Iterator[tuple[Entry, bytes]]:
        number, start, longest = entry.number, entry.start, self.max_cost // 3
        try:
            with open(self.path, "rb") as file:
                file.seek(start)
                while start < entry.end and (raw := file.readline(longest + 1)):
                    if len(raw) > longest:
                        raise DataError(f"{self.place}{number}: must have at most {longest} bytes")
                    yield Entry("", number, start, start + len(raw)), raw
                    number, start = number + 1, start + len(raw)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from None

    @contextmanager
    def at_line(self, number: int) -> Iterator[None]:
        """Add the line's number to errors that are raised inside."""
        try:
            yield
        except ConflictError as error:
            raise ConflictError(f"{self.place}{number}: {error}") from None
        except (DataError, InputError, NotFoundError, StateError) as error:
            raise DataError(f"{self.place}{number}: {error}") from None
