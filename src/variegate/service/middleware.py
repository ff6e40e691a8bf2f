"""The middleware around all routes: limits, keys, headers, log, metrics, unexpected errors.

It is plain ASGI: Starlette's middleware class costs more than an empty route.
"""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Collection, Sequence
from itertools import count
from math import ceil
from typing import Final
from urllib.parse import unquote_to_bytes

from fastapi import HTTPException, Response
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from variegate.engine.logs import RequestLog, current_request, log_request
from variegate.engine.settings import Settings
from variegate.errors import StoreError
from variegate.service.errors import INTERNAL_ERROR, error_response
from variegate.service.keys import PREFIX, ROLES, AnonymousAccess, KeyCache
from variegate.service.metrics import Metrics
from variegate.service.protocol import OVER_LIMIT
from variegate.service.routing import RequestContext, routing_path
from variegate.service.site import PATH as SITE

log = logging.getLogger(__name__)


def security_headers(
    image_origins: Sequence[str] = (), script_hashes: Sequence[str] = ()
) -> list[tuple[bytes, bytes]]:
    """Return the headers of every response; pages may load images from other origins.

    No `unsafe-inline`: the service's pages load their scripts and styles as files, and the inline
    scripts of the documentation are known by their hashes.
    """
    images = " ".join(["'self'", "data:", *image_origins])
    policy = f"default-src 'self'; img-src {images}; frame-ancestors 'none'; base-uri 'none'"
    if script_hashes:
        policy += f"; script-src 'self' {' '.join(script_hashes)}"
    return [
        (b"x-content-type-options", b"nosniff"),
        (b"content-security-policy", policy.encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"x-frame-options", b"DENY"),
    ]


SECURITY_HEADERS: Final = security_headers()
#: Responses about users must not be cached.
_API_HEADERS: Final = [*SECURITY_HEADERS, (b"cache-control", b"no-store")]
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
#: A key that was sent in the wrong header must not be logged or sent back.
_KEY: Final = f"{PREFIX}_".encode()
#: Methods in log and metrics; clients can invent any number of others.
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
#: In log and metrics only: the client disconnected, or the server stopped, before the response.
_CLIENT_CLOSED: Final = 499
#: Bytes of a response that are passed to the server at once.
_CHUNK: Final = 65_536
#: After a body that was not read to its end the connection cannot be used again.
_CLOSE: Final = {"Connection": "close"}
_RETRY_SOON: Final = {"Retry-After": "1"}
_MAX_CLIENTS: Final = 10_000


class Guard:
    """ASGI middleware that passes a request to the application, or refuses it.

    Parameters
    ----------
    app
        The application behind it.
    unlimited
        Paths without keys and rate limit, logged at level debug: probes, and the page's files.
    script_hashes
        Of the inline scripts in the documentation.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Settings,
        keys: KeyCache,
        metrics: Metrics,
        unlimited: Collection[str] = (),
        script_hashes: Sequence[str] = (),
    ) -> None:
        self.app, self.keys, self.metrics = app, keys, metrics
        self.unlimited = frozenset(unlimited)
        self.max_body, self.timeout = settings.max_body, settings.timeout_seconds
        self.anonymous = AnonymousAccess(settings)
        self._page_headers = security_headers(settings.image_origins)
        self._site_headers = security_headers(script_hashes=script_hashes)
        self.limiter: RateLimiter | None = None
        if settings.rate is not None:
            self.limiter = RateLimiter(settings.rate, settings.burst or 2 * settings.rate)
        # Unique without a random draw per request: a prefix of the process, and a number.
        self._prefix, self._numbers = secrets.token_hex(5), count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request or pass it on, then log and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        sent_id = headers.get(b"x-request-id", b"")
        if _REQUEST_ID.fullmatch(sent_id) and _KEY not in sent_id.lower():
            request_id = sent_id.decode()
        else:
            request_id = f"{self._prefix}-{next(self._numbers)}"
        context = scope["context"] = RequestContext(request_id, self.max_body)
        current_request.set(request_id)
        exchange = Exchange(context, headers, receive, send, self.timeout)
        exchange.headers = self._headers(scope["path"])
        try:
            refusal = await self._check(scope, headers, context)
            if refusal is None:
                await self.app(scope, exchange.receive, exchange.send)
            else:
                await refusal(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            pass  # there is nobody to respond to
        except Exception:  # unexpected: logged here, and not described to the client
            log.exception("a request failed")
            if exchange.status == 0:
                response = error_response(500, INTERNAL_ERROR, request_id)
                await response(scope, receive, exchange.send)
        finally:
            self._record(scope, context, exchange.status, time.perf_counter() - started)

    def _headers(self, path: str) -> list[tuple[bytes, bytes]]:
        if path.startswith("/v1/"):
            return _API_HEADERS
        return self._site_headers if path.startswith(SITE) else self._page_headers

    async def _check(
        self, scope: Scope, headers: dict[bytes, bytes], context: RequestContext
    ) -> Response | None:
        """Set the caller's role; return the response if the request is refused here."""
        if is_malformed(scope):
            message = "the path and the query must be UTF-8 without NUL"
            return error_response(400, message, context.request_id)
        raw_path: bytes = scope.get("raw_path") or b""
        if b"%" in raw_path or b"~" in raw_path:
            scope["path"] = routing_path(raw_path, scope["query_string"])
        if scope["path"] in self.unlimited:
            return None
        if scope.get(OVER_LIMIT):
            message = "the service has too many connections: try again in a moment"
            return error_response(503, message, context.request_id, _RETRY_SOON)
        try:
            if self.keys.is_stale:
                await self.keys.refresh()
        except StoreError as error:
            return error_response(503, str(error), context.request_id, _RETRY_SOON)
        self._identify(headers, context)
        return None if self.limiter is None else self._check_rate(self.limiter, scope, context)

    def _identify(self, headers: dict[bytes, bytes], context: RequestContext) -> None:
        """Set the caller's role, or the reason why there is none."""
        authorization = headers.get(b"authorization", b"")
        is_bearer = authorization[:7].lower() == b"bearer "
        key = authorization[7:] if is_bearer else headers.get(b"x-api-key")
        if key is not None:
            context.key = self.keys.check(key.strip().decode("latin-1"))
            # An unknown key is refused even where none is required: it is meant for another
            # service.
            context.refusal = "bad_key"
            if context.key is not None:
                # A role of a later version is the least here.
                context.role = next((r for r in ROLES if r == context.key.role), ROLES[0])
        elif not self.keys.has_keys:
            refusal = self.anonymous.refusal(headers)
            if refusal is None:
                context.role = "admin"
            else:
                context.refusal = refusal

    def _check_rate(
        self, limiter: "RateLimiter", scope: Scope, context: RequestContext
    ) -> Response | None:
        address = scope.get("client")
        client = context.key.id if context.key else rate_client(address[0]) if address else ""
        seconds = limiter.acquire(client, time.monotonic())
        if seconds == 0:
            return None
        context.refusal = "rate"
        message = f"more than {limiter.rate:g} requests per second: try again later"
        return error_response(429, message, context.request_id, {"Retry-After": str(ceil(seconds))})

    def _record(self, scope: Scope, context: RequestContext, status: int, seconds: float) -> None:
        route, method = route_template(scope), method_name(scope)
        status = status or _CLIENT_CLOSED
        self.metrics.count_request(route, method, status, seconds)
        if status in (401, 403, 429):
            self.metrics.count_refusal(context.refusal)
        level = logging.DEBUG if scope["path"] in self.unlimited else logging.INFO
        key = context.key.id if context.key else ""
        log_request(
            level, RequestLog(context.request_id, method, route, status, 1000 * seconds, key)
        )


class Exchange:
    """The two channels of a request: limits what is received, adds headers to what is sent.

    If the client disconnects before the response, none is sent and `status` stays 0, whatever the
    application does.
    """

    __slots__ = (
        "_context",
        "_deadline",
        "_receive",
        "_seconds",
        "_send",
        "_size",
        "_usual_body",
        "headers",
        "is_disconnected",
        "status",
        "timeout",
    )

    def __init__(
        self,
        context: RequestContext,
        headers: dict[bytes, bytes],
        receive: Receive,
        send: Send,
        timeout: float,
    ) -> None:
        self._context, self._receive, self._send = context, receive, send
        self.timeout = timeout
        self.headers = SECURITY_HEADERS
        #: Of the response; 0 before it
        self.status = 0
        self.is_disconnected = False
        #: Bytes received, before that the announced ones; below 0 after the last
        self._size = int(length) if (length := headers.get(b"content-length", b"")).isdigit() else 0
        self._usual_body = context.max_body
        self._deadline = self._seconds = 0.0

    async def receive(self) -> Message:
        """Return the next message, or raise 413 or 408."""
        if self._size < 0:
            return self._note_disconnect(await self._receive())
        if self._deadline == 0.0:
            # The announced size is checked before anything is read; then bytes are counted from 0.
            self._check_size()
            self._size = 0
            # A route that accepts more than others waits longer for it.
            self._seconds = self.timeout * max(1.0, self._context.max_body / self._usual_body)
            self._deadline = time.monotonic() + self._seconds
        message = await (self._receive() if has_message(self._receive) else self._receive_in_time())
        self._size += len(message.get("body", b""))
        self._check_size()
        if not message.get("more_body", False):
            self._size = -1
        return self._note_disconnect(message)

    def _note_disconnect(self, message: Message) -> Message:
        if message["type"] == "http.disconnect" and self.status == 0:
            self.is_disconnected = True
        return message

    async def _receive_in_time(self) -> Message:
        try:
            async with asyncio.timeout(self._deadline - time.monotonic()):
                return await self._receive()
        except TimeoutError:
            raise HTTPException(
                408, f"the body must be sent within {self._seconds:g} seconds", _CLOSE
            ) from None

    async def send(self, message: Message) -> None:
        """Send a message, with the headers of all responses."""
        if self.is_disconnected:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [
                *message.get("headers", ()),
                *self.headers,
                (b"x-request-id", self._context.request_id.encode()),
            ]
        elif len(message.get("body", b"")) > _CHUNK:
            message = await self._send_all_but_last(message)
        await self._send(message)

    async def _send_all_but_last(self, message: Message) -> Message:
        """Send a large body in chunks, each when the previous one was read; return the last.

        Otherwise a client that requests much and reads nothing would occupy memory for as long as
        the connection lasts.
        """
        body: bytes = message["body"]
        last = (len(body) - 1) // _CHUNK * _CHUNK
        for start in range(0, last, _CHUNK):
            chunk = body[start : start + _CHUNK]
            await self._send({"type": message["type"], "body": chunk, "more_body": True})
        return {**message, "body": body[last:]}

    def _check_size(self) -> None:
        if self._size > self._context.max_body:
            raise HTTPException(
                413, f"the body must have at most {self._context.max_body} bytes", _CLOSE
            )


class RateLimiter:
    """A token bucket per client; the clients not seen for longest are forgotten.

    Parameters
    ----------
    rate
        Tokens added per second.
    size
        Maximum number of tokens: so many requests may arrive at once.

    Examples
    --------
    >>> limiter = RateLimiter(rate=2, size=1)
    >>> [limiter.acquire("a", now=seconds) for seconds in (0.0, 0.0, 0.5)]
    [0.0, 0.5, 0.0]
    """

    def __init__(self, rate: float, size: float) -> None:
        self.rate, self.size = rate, max(size, 1.0)
        #: Tokens and the time they were counted, the client seen longest ago first
        self._levels: dict[str, tuple[float, float]] = {}

    def acquire(self, client: str, now: float) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        tokens, then = self._levels.pop(client, (self.size, now))
        tokens = min(self.size, tokens + (now - then) * self.rate)
        is_free = tokens >= 1
        self._levels[client] = (tokens - 1 if is_free else tokens, now)
        if len(self._levels) > _MAX_CLIENTS:
            # Memory stays bounded for any number of addresses; a forgotten client starts full.
            del self._levels[next(iter(self._levels))]
        return 0.0 if is_free else (1 - tokens) / self.rate


def route_template(scope: Scope) -> str:
    """Return the route that was found, such as /v1/users/{user}: without ids, for logs."""
    template: str = getattr(scope.get("route"), "path", "unmatched")
    return template


def method_name(scope: Scope) -> str:
    """Return the method, for logs."""
    return scope["method"] if scope["method"] in _METHODS else "other"


def rate_client(address: str) -> str:
    """Return the client of an address for the rate limit: one person has all of an IPv6 /64."""
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


def has_message(receive: Receive) -> bool:
    """Return whether uvicorn already has a message, so that no timeout is needed."""
    event = getattr(getattr(receive, "__self__", None), "message_event", None)
    return event is not None and event.is_set()


def is_malformed(scope: Scope) -> bool:
    """Return whether a path or query is not UTF-8, or contains NUL, which no database accepts."""
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
