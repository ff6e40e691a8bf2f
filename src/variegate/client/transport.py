"""Calls and replies, independent of the network, and what both clients share to send them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeAlias, TypeVar
from urllib.parse import urlsplit

from variegate.errors import InputError, MissingExtraError, StoreError

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
P = ParamSpec("P")
Built = TypeVar("Built")
Result = TypeVar("Result")
Sender = TypeVar("Sender")
_SELF: Final = Parameter("self", Parameter.POSITIONAL_ONLY)


class Retry(Enum):
    """When a failed call may be sent again."""

    #: The call is idempotent.
    ALWAYS = "always"
    #: Only if the service certainly did not execute it.
    IF_NOT_EXECUTED = "if_not_executed"
    NEVER = "never"


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """A request, and how to parse its response.

    Parameters
    ----------
    path
        Percent-encoded, relative to the service's address, with the query.
    parse
        Makes the result from the body; from one of its lines, for a streamed response.
    removes
        Whether the call deletes something: a 404 after an unknown outcome then means success.
    """

    method: str
    path: str
    parse: Callable[[bytes], T_co]
    body: bytes | None = None
    content_type: str = "application/json"
    retry: Retry = Retry.ALWAYS
    headers: Mapping[str, str] = field(default_factory=dict)
    removes: bool = False

    @property
    def changes(self) -> bool:
        """Whether it changes anything, so that a lost response matters."""
        return self.method != "GET"


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of results, and the call for the next one."""

    items: tuple[T, ...]
    next: "Call[Page[T]] | None"


@dataclass(frozen=True)
class Reply:
    """A response, with its body or, for a streamed one, the response of the HTTP library."""

    status: int
    body: bytes
    retry_after: str | None = None
    stream: Any = None


@dataclass(frozen=True)
class NoReply:
    """No response: the reason, and whether the request certainly did not reach the service."""

    reason: str
    unsent: bool


Outcome: TypeAlias = Reply | NoReply


class LineBuffer:
    """Splits a streamed body into lines, at newlines only.

    JSON may contain the other characters at which `str.splitlines` and httpx split.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that are complete with this piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [line for line in lines if line]

    def check_complete(self) -> None:
        """Raise StoreError if the last line has no newline."""
        if self._rest:
            raise StoreError("the response was cut off in the middle of a line: try again")


def check_installed() -> None:
    """Raise MissingExtraError if the HTTP library is not installed."""
    try:
        import httpx2  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "the client needs httpx2: pip install 'variegate[client]'"
        ) from None


def check_url(url: str) -> str:
    """Return the service's address without a trailing slash, or raise InputError."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_plain = not (parts.query or parts.fragment or parts.username) and parts.port != 0
    except (ValueError, AttributeError, TypeError):
        is_address = is_plain = False
    if not (is_address and is_plain):
        raise InputError(f"`url` must be like http://127.0.0.1:8000, got {url!r:.80}")
    return url.rstrip("/")


def default_headers(key: str | None) -> dict[str, str]:
    """Return the headers of every request, or raise InputError."""
    headers = {"accept": "application/json", "user-agent": "variegate"}
    if key is None:
        return headers
    if not (key.isascii() and key.isprintable()) or " " in key or not key:
        # A message must not contain a key, not even a wrong one.
        raise InputError("`key` must be as `variegate keys make` printed it, got something else")
    return {**headers, "authorization": f"Bearer {key}"}


def make_reply(response: "httpx2.Response", body: bytes) -> Reply:
    """Return a response of the HTTP library as a `Reply`."""
    return Reply(response.status_code, body, response.headers.get("retry-after"))


def make_no_reply(error: "httpx2.RequestError") -> NoReply:
    """Return an error of the HTTP library as a `NoReply`."""
    import httpx2

    unsent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return NoReply(" ".join(reason.split()), isinstance(error, unsent))


def cut_off(error: "httpx2.RequestError") -> StoreError:
    """Return the error to raise where a streamed response does not end."""
    return StoreError(f"the response was cut off: {make_no_reply(error).reason}")


def method(
    build: Callable[P, Built], send: Callable[[Sender, Built], Result]
) -> Callable[Concatenate[Sender, P], Result]:
    """Return a client's method: it builds a call from its arguments, and sends it."""

    def call(client: Sender, /, *args: P.args, **options: P.kwargs) -> Result:
        return send(client, build(*args, **options))

    call.__name__ = call.__qualname__ = build.__name__
    call.__doc__ = build.__doc__
    call.__signature__ = Signature(  # type: ignore[attr-defined]
        [_SELF, *signature(build).parameters.values()]
    )
    return call
