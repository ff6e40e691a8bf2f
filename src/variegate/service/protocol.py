"""uvicorn's HTTP protocol with limits on headers, on unread responses and on connections.

Without them, a connection that sends nothing, sends one header per minute, or never reads its
response would stay open forever and hold one of the process's file descriptors.
"""

import sys
import time
from asyncio import TimerHandle
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

#: Maximum bytes of the request line and the headers; common servers accept 8 to 64 thousand.
MAX_HEADER_BYTES: Final = 65_536
#: Maximum connections per process, where the system allows more.
MAX_CONNECTIONS: Final = 10_000
#: In a request's scope: its connection is above the limit, so that only probes are answered.
OVER_LIMIT: Final = "variegate.over_limit"
#: Connections above the limit, for probes.
RESERVE: Final = 64
#: File descriptors for the store, the log and the engine process.
_OTHER_FILES: Final = 256
_REFUSAL: Final = (
    STATUS_LINE[503] + b"retry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)


class LimitedProtocol(HttpToolsProtocol):
    """Closes connections whose headers are too slow or too large, or whose response is not read.

    Above the limit, the connection that has been idle for longest is closed for a new one; if none
    is idle, the new one is refused, except for probes.
    """

    #: Seconds for the headers of a request; `variegate.service.run` sets it from the settings.
    header_timeout: float = 10.0
    #: Seconds in which a client must read some of a response; set likewise.
    write_timeout: float = 10.0
    #: Seconds of idleness after which a connection may be closed for another.
    min_idle: float = 1.0
    #: Maximum connections of the process; set likewise.
    max_connections: int = MAX_CONNECTIONS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._in_headers = True
        self._header_bytes = 0
        self._header_timer: TimerHandle | None = None
        self._write_timer: TimerHandle | None = None
        self._unread = 0
        self._is_over_limit = False
        self._idle_since = time.monotonic()

    def connection_made(self, transport: Any) -> None:
        """Start the timeout of the first request's headers."""
        super().connection_made(transport)
        self._header_timer = self.loop.call_later(self.header_timeout, self._on_header_timeout)
        if len(self.connections) > self.max_connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        super().connection_lost(exc)
        self._stop_header_timer()
        self._stop_write_timer()

    def on_message_begin(self) -> None:
        """Start to count the bytes of the headers."""
        super().on_message_begin()
        self._in_headers, self._header_bytes = True, 0

    def on_headers_complete(self) -> None:
        """Stop counting; the middleware limits the body."""
        self._in_headers = False
        if self._is_over_limit:
            cast("dict[str, Any]", self.scope)[OVER_LIMIT] = True
        super().on_headers_complete()
        if self._is_over_limit:
            self.cycle.keep_alive = False

    def data_received(self, data: bytes) -> None:
        """Parse the data. Headers that arrive in one piece, as most do, cost nothing more."""
        super().data_received(data)
        if not self._in_headers:
            self._stop_header_timer()
            return
        self._header_bytes += len(data)
        if self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(
                STATUS_LINE[431] + b"content-length: 0\r\nconnection: close\r\n\r\n"
            )
            self._close()
        elif self._header_timer is None:
            self._header_timer = self.loop.call_later(self.header_timeout, self._on_header_timeout)

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the client to read if the connection closes."""
        super().on_response_complete()
        self._idle_since = time.monotonic()
        if self.transport.is_closing():
            self._watch_writing()

    def pause_writing(self) -> None:
        """Start the timeout for the client to read."""
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        """Stop the timeout, unless the connection closes with data left."""
        super().resume_writing()
        self._stop_write_timer()
        if self.transport.is_closing():
            self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        super().send_400_response(msg)
        self._watch_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection without a further request."""
        self._close()

    def shutdown(self) -> None:
        """Close when the response is sent and read."""
        super().shutdown()
        if self.transport.is_closing():
            self._watch_writing()

    @property
    def _is_idle(self) -> bool:
        if self.transport.is_closing():
            return True
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        return cycle is None or cycle.response_complete

    def _make_room(self) -> None:
        others = cast("set[LimitedProtocol]", self.connections)
        before = time.monotonic() - self.min_idle
        idle = [one for one in others if one._idle_since < before and one._is_idle]
        if idle:
            longest = min(idle, key=lambda one: one._idle_since)
            others.discard(longest)
            longest.transport.abort()
        elif len(others) > self.max_connections + RESERVE:
            self.transport.write(_REFUSAL)
            self._close()
        else:
            self._is_over_limit = True

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
            self._watch_writing()

    def _on_header_timeout(self) -> None:
        self._header_timer = None
        self._close()

    def _watch_writing(self) -> None:
        """Abort the connection unless the client reads: unread data keeps it open."""
        if self._write_timer is None and (unread := self.transport.get_write_buffer_size()):
            self._unread = unread
            self._write_timer = self.loop.call_later(self.write_timeout, self._check_writing)

    def _check_writing(self) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size() < self._unread:
            self._watch_writing()
        else:
            self.transport.abort()

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def default_max_connections() -> int:
    """Return how many connections the limit on open files allows.

    The store, the log and the engine process need some files too.
    """
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit

    files, _ = getrlimit(RLIMIT_NOFILE)
    if files == RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(max(files - _OTHER_FILES, files // 2, 1), MAX_CONNECTIONS)
