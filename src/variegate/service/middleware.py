"""What every request passes, in one layer: limits, keys, headers, log, metrics, last resort.

It speaks ASGI itself, since Starlette's middleware class costs more than an empty route does.
"""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Collection
from itertools import count
from math import ceil
from typing import Final
from urllib.parse import unquote_to_bytes

from fastapi import HTTPException, Response
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from variegate.engine.logs import Answered, current_request, log_request
from variegate.engine.settings import Settings
from variegate.errors import StoreError
from variegate.service.errors import INTERNAL, error_answer
from variegate.service.keys import PREFIX, Keyless, KeyRing
from variegate.service.metrics import Metrics
from variegate.service.protocol import CROWDED
from variegate.service.routing import Call, routable

_MOST_CLIENTS: Final = 10_000


class Buckets:
    """A token bucket for each client; a client not seen for long is forgotten.

    Parameters
    ----------
    rate
        Tokens that come in each second.
    size
        Tokens that a bucket holds: as many requests may come at once.

    Examples
    --------
    >>> buckets = Buckets(rate=2, size=1)
    >>> buckets.wait("a", now=0.0), buckets.wait("a", now=0.0), buckets.wait("a", now=0.5)
    (0.0, 0.5, 0.0)
    """

    def __init__(self, rate: float, size: float) -> None:
        self.rate, self.size = rate, max(size, 1.0)
        #: Tokens and when they were counted, the client seen longest ago first
        self._levels: dict[str, tuple[float, float]] = {}

    def wait(self, client: str, now: float) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        tokens, then = self._levels.pop(client, (self.size, now))
        tokens = min(self.size, tokens + (now - then) * self.rate)
        is_free = tokens >= 1
        self._levels[client] = (tokens - 1 if is_free else tokens, now)
        if len(self._levels) > _MOST_CLIENTS:
            # Memory stays bounded whatever addresses come; who is forgotten starts afresh.
            del self._levels[next(iter(self._levels))]
        return 0.0 if is_free else (1 - tokens) / self.rate


def client_of(address: str) -> str:
    """Return what an address is counted as: one person has all of an IPv6 /64."""
    if ":" not in address:
        return address
    from ipaddress import AddressValueError, IPv6Address

    try:
        number = IPv6Address(address.partition("%")[0])
    except AddressValueError:
        return address[:64]
    if number.ipv4_mapped is not None:
        return str(number.ipv4_mapped)
    return f"{int(number) >> 64:x}"


log = logging.getLogger(__name__)

#: No `unsafe-inline`: pages of this service bring their scripts and styles as files.
SECURITY_HEADERS: Final = [
    (b"x-content-type-options", b"nosniff"),
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
#: Answers about users stay in no cache.
_PRIVATE: Final = [*SECURITY_HEADERS, (b"cache-control", b"no-store")]
_SANE_ID: Final = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
#: A key that was sent in the wrong header must not be logged or sent back.
_KEY: Final = f"{PREFIX}_".encode()
#: Methods that are told by name; clients can make up any number of others.
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
#: In log and metrics alone: the client went away, or the server stopped, before there was an
#: answer.
_GONE: Final = 499
#: Bytes of an answer that are handed to the server at once.
_PIECE: Final = 65_536
#: After a body that was not read to its end the connection cannot be used again.
_CLOSE: Final = {"Connection": "close"}


class Guard:
    """ASGI middleware that lets a request in, or answers it itself.

    Parameters
    ----------
    app
        What answers the requests that are let in.
    unlimited
        Paths without rate limit and without keys, that are logged for debugging only: probes.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Settings,
        keys: KeyRing,
        metrics: Metrics,
        unlimited: Collection[str] = (),
    ) -> None:
        self.app, self.keys, self.metrics = app, keys, metrics
        self.unlimited = frozenset(unlimited)
        self.max_body, self.patience = settings.max_body, settings.timeout_seconds
        self.keyless = Keyless(settings)
        self.buckets: Buckets | None = None
        if settings.rate is not None:
            self.buckets = Buckets(settings.rate, settings.burst or 2 * settings.rate)
        # Unique without a draw a request: the process's own beginning, and a number.
        self._prefix, self._numbers = secrets.token_hex(5), count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer, then log and count."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        if _SANE_ID.fullmatch(given) and _KEY not in given.lower():
            request_id = given.decode()
        else:
            request_id = f"{self._prefix}-{next(self._numbers)}"
        call = scope["call"] = Call(request_id, self.max_body)
        current_request.set(request_id)
        exchange = Exchange(call, headers, receive, send, self.patience)
        exchange.headers = _PRIVATE if scope["path"].startswith("/v1/") else SECURITY_HEADERS
        try:
            refusal = await self._look(scope, headers, call)
            if refusal is None:
                await self.app(scope, exchange.receive, exchange.send)
            else:
                await refusal(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            pass  # there is nobody to answer; it is counted as gone
        except Exception:  # the last resort: whatever escapes is logged here and told nowhere
            log.exception("a request failed")
            if exchange.status == 0:
                await error_answer(500, INTERNAL, request_id)(scope, receive, exchange.send)
        finally:
            self._record(scope, call, exchange.status, time.perf_counter() - started)

    async def _look(self, scope: Scope, headers: dict[bytes, bytes], call: Call) -> Response | None:
        """Find the caller's role; return the answer where it is clear without asking further."""
        if is_malformed(scope):
            message = "the path and the query must be UTF-8 without NUL"
            return error_answer(400, message, call.request_id)
        raw_path: bytes = scope.get("raw_path") or b""
        if b"%" in raw_path or b"~" in raw_path:
            scope["path"] = routable(raw_path, scope["query_string"])
        if scope["path"] in self.unlimited:
            return None
        if scope.get(CROWDED):
            message = "the service has as many connections as it can hold: try again in a moment"
            return error_answer(503, message, call.request_id, {"Retry-After": "1"})
        try:
            if self.keys.is_stale:
                await self.keys.refresh()
        except StoreError as error:
            return error_answer(503, str(error), call.request_id, {"Retry-After": "1"})
        self._identify(headers, call)
        return None if self.buckets is None else self._limited(self.buckets, scope, call)

    def _identify(self, headers: dict[bytes, bytes], call: Call) -> None:
        """Find the caller's role, or why there is none."""
        given = headers.get(b"authorization", b"")
        text = given[7:] if given[:7].lower() == b"bearer " else headers.get(b"x-api-key")
        if text is not None:
            call.key = self.keys.check(text.strip().decode("latin-1"))
            # A key that is unknown is not as good as none, even where none is needed: whoever
            # sends it means another service.
            call.refused = "bad_key"
            if call.key is not None:
                call.role = "admin" if call.key.role == "admin" else "client"
        elif not self.keys.was_filled:
            refusal = self.keyless.refusal(headers)
            if refusal is None:
                call.role = "admin"
            else:
                call.refused = refusal

    def _limited(self, buckets: Buckets, scope: Scope, call: Call) -> Response | None:
        client = scope.get("client")
        name = call.key.id if call.key else client_of(client[0]) if client else ""
        seconds = buckets.wait(name, time.monotonic())
        if seconds == 0:
            return None
        call.refused = "rate"
        message = f"more than {buckets.rate:g} requests a second: try again later"
        retry = {"Retry-After": str(ceil(seconds))}
        return error_answer(429, message, call.request_id, retry)

    def _record(self, scope: Scope, call: Call, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        status = status or _GONE
        self.metrics.answered(route, method, status, seconds)
        if status in (401, 403, 429):
            self.metrics.refused(call.refused)
        level = logging.DEBUG if scope["path"] in self.unlimited else logging.INFO
        key = call.key.id if call.key else ""
        log_request(level, Answered(call.request_id, method, route, status, 1000 * seconds, key))


class Exchange:
    """The two ends of a request: what is received is measured, what is sent gets headers.

    Where the client hangs up before there is an answer, none is sent and `status` stays 0,
    whatever the application makes of it.
    """

    __slots__ = (
        "_call",
        "_deadline",
        "_receive",
        "_send",
        "_size",
        "has_hung_up",
        "headers",
        "patience",
        "status",
    )

    def __init__(
        self,
        call: Call,
        headers: dict[bytes, bytes],
        receive: Receive,
        send: Send,
        patience: float,
    ) -> None:
        self._call, self._receive, self._send = call, receive, send
        self.patience = patience
        self.headers = SECURITY_HEADERS
        #: Of the answer; 0 while there is none
        self.status = 0
        self.has_hung_up = False
        #: Bytes that came, or that were said to come; below 0 when all came
        self._size = int(length) if (length := headers.get(b"content-length", b"")).isdigit() else 0
        self._deadline = 0.0

    async def receive(self) -> Message:
        """Return what comes, or raise 413 or 408."""
        if self._size < 0:
            return self._noted(await self._receive())
        if self._deadline == 0.0:
            # What was announced is checked before anything is read, and counted from 0 on.
            self._check_size()
            self._size = 0
            self._deadline = time.monotonic() + self.patience
        message = await (self._receive() if has_come(self._receive) else self._awaited())
        self._size += len(message.get("body", b""))
        self._check_size()
        if not message.get("more_body", False):
            self._size = -1
        return self._noted(message)

    def _noted(self, message: Message) -> Message:
        if message["type"] == "http.disconnect" and self.status == 0:
            self.has_hung_up = True
        return message

    async def _awaited(self) -> Message:
        try:
            async with asyncio.timeout(self._deadline - time.monotonic()):
                return await self._receive()
        except TimeoutError:
            raise HTTPException(
                408, f"the body must be sent within {self.patience:g} seconds", _CLOSE
            ) from None

    async def send(self, message: Message) -> None:
        """Send, with the headers that all answers have."""
        if self.has_hung_up:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [
                *message.get("headers", ()),
                *self.headers,
                (b"x-request-id", self._call.request_id.encode()),
            ]
        elif len(message.get("body", b"")) > _PIECE:
            message = await self._sent_but_the_end(message)
        await self._send(message)

    async def _sent_but_the_end(self, message: Message) -> Message:
        """Send a large body in pieces, each when the client has read the one before, but the last.

        Who asks for much and reads nothing would otherwise get a copy of it, for as long as the
        connection lasts.
        """
        body: bytes = message["body"]
        last = (len(body) - 1) // _PIECE * _PIECE
        for start in range(0, last, _PIECE):
            piece = body[start : start + _PIECE]
            await self._send({"type": message["type"], "body": piece, "more_body": True})
        return {**message, "body": body[last:]}

    def _check_size(self) -> None:
        if self._size > self._call.max_body:
            raise HTTPException(
                413, f"the body must have at most {self._call.max_body} bytes", _CLOSE
            )


def has_come(receive: Receive) -> bool:
    """Whether uvicorn has something to receive already, so that nobody has to look at the clock."""
    event = getattr(getattr(receive, "__self__", None), "message_event", None)
    return event is not None and event.is_set()


def is_malformed(scope: Scope) -> bool:
    """Whether a path or query has bytes that are no text, or NUL, which no database takes."""
    path: str = scope["path"]
    if "\x00" in path:
        return True
    if "\ufffd" in path and not _is_text(scope.get("raw_path") or b""):
        return True
    query: bytes = scope["query_string"]
    return b"%" in query and (b"%00" in query or not _is_text(query))


def _is_text(quoted: bytes) -> bool:
    try:
        unquote_to_bytes(quoted).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
