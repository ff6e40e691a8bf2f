"""What both clients have in common: settings, methods from routes, httpx's words in ours."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar
from urllib.parse import urlsplit

from variegate.errors import InputError, MissingExtraError, StoreError

if TYPE_CHECKING:
    import httpx2
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeAlias

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


P = ParamSpec("P")
Asked = TypeVar("Asked")
Got = TypeVar("Got")
Sender = TypeVar("Sender")
_SELF: Final = Parameter("self", Parameter.POSITIONAL_ONLY)


def check_installed() -> None:
    """Raise MissingExtraError where the HTTP library is not installed."""
    try:
        import httpx2  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "the client needs httpx2: pip install 'variegate[client]'"
        ) from None


def checked_url(url: str) -> str:
    """Return the service's address without a slash at its end, or raise InputError."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_plain = not (parts.query or parts.fragment or parts.username) and parts.port != 0
    except (ValueError, AttributeError, TypeError):
        is_address = is_plain = False
    if not (is_address and is_plain):
        raise InputError(f"`url` must be like http://127.0.0.1:8000, got {url!r:.80}")
    return url.rstrip("/")


def headers_for(key: str | None) -> dict[str, str]:
    """Return the headers of every request, or raise InputError."""
    headers = {"accept": "application/json", "user-agent": "variegate"}
    if key is None:
        return headers
    if not (key.isascii() and key.isprintable()) or " " in key or not key:
        # A message must not hold a key, not even a wrong one.
        raise InputError("`key` must be as `variegate keys make` printed it, got something else")
    return {**headers, "authorization": f"Bearer {key}"}


def headers_of(headers: dict[str, str], call: Call[object]) -> dict[str, str]:
    """Return the headers of a request: those of all, and those of this call."""
    kind = {} if call.body is None else {"content-type": call.content_type}
    return {**headers, **kind, **call.headers}


def reply_of(response: "httpx2.Response", body: bytes) -> Reply:
    """Return an answer in the client's own terms."""
    return Reply(response.status_code, body, response.headers.get("retry-after"))


def broken(error: "httpx2.RequestError") -> StoreError:
    """Return what to raise where an answer does not come to its end."""
    return StoreError(f"the answer broke off: {silence_of(error).why}")


def silence_of(error: "httpx2.RequestError") -> Silence:
    """Return what happened where there is no answer."""
    import httpx2

    unsent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Silence(" ".join(why.split()), isinstance(error, unsent))


class Lines:
    """Lines of an answer that comes in pieces, split at newlines alone.

    A title may have one of the other characters at which Python and httpx split lines.
    """

    def __init__(self) -> None:
        self._begun = b""

    def of(self, piece: bytes) -> list[bytes]:
        """Return the lines that are whole with this piece."""
        *whole, self._begun = (self._begun + piece).split(b"\n")
        return [line for line in whole if line]

    def check_ended(self) -> None:
        """Raise StoreError if the last line has no end."""
        if self._begun:
            raise StoreError("the answer broke off in the middle of a line: ask again")


def method(
    build: Callable[P, Asked], send: Callable[[Sender, Asked], Got]
) -> Callable[Concatenate[Sender, P], Got]:
    """Return a method of a sender: what a route's function makes of its arguments, sent."""

    def sent(sender: Sender, /, *given: P.args, **options: P.kwargs) -> Got:
        return send(sender, build(*given, **options))

    arguments = signature(build)
    sent.__name__ = sent.__qualname__ = build.__name__
    sent.__doc__ = build.__doc__
    sent.__signature__ = Signature(  # type: ignore[attr-defined]
        [_SELF, *arguments.parameters.values()]
    )
    return sent
