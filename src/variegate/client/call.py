"""A request and an answer as the client thinks of them, before and after any network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Repeat(Enum):
    """When a call that failed may be made again."""

    #: The call is idempotent: twice is the same as once.
    ALWAYS = "always"
    #: Only if the service certainly did not carry it out.
    NOT_DONE = "not_done"
    NEVER = "never"


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """A request, and what to make of its answer.

    Parameters
    ----------
    path
        Quoted, from the service's address on, with the query.
    read
        Makes the result of an answer's body; of one of its lines, for an answer that is streamed.
    """

    method: str
    path: str
    read: Callable[[bytes], T_co]
    body: bytes | None = None
    content_type: str = "application/json"
    repeat: Repeat = Repeat.ALWAYS
    #: Headers of this call alone
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Whether it takes something away: gone when it is asked for again means that it was done.
    removes: bool = False

    @property
    def changes(self) -> bool:
        """Whether it changes anything, so that it matters if an answer was lost."""
        return self.method != "GET"


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some of the things asked for, and the call for more."""

    items: tuple[T, ...]
    more: "Call[Page[T]] | None"


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    body: bytes
    retry_after: str | None = None
    #: The rest of a body that is read as it comes, as the HTTP library has it
    rest: Any = None


@dataclass(frozen=True)
class Silence:
    """No answer: what happened, and whether the request surely did not reach the service."""

    why: str
    unsent: bool


Outcome: TypeAlias = Reply | Silence
