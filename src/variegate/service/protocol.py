"""HTTP as uvicorn speaks it, with limits that it lacks: on heads, on unread answers, on how many.

A connection that says nothing, sends a header a minute, or never reads what it asked for would
otherwise stay for ever, and hold one of the process's file descriptors.
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

#: Bytes of the request line and the headers; common servers take 8 to 64 thousand.
MOST_HEAD_BYTES: Final = 65_536
#: Connections of a process, where the system would allow more.
MOST_CONNECTIONS: Final = 10_000
#: In a request's scope: whether its connection is one more than the process wants to hold.
CROWDED: Final = "variegate.crowded"
#: Connections beyond the most, on which probes are still answered.
RESERVE: Final = 64
#: File descriptors that are left for the store, the log and the engine process.
_OTHER_FILES: Final = 256
_REFUSAL: Final = (
    STATUS_LINE[503] + b"retry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection whose head takes too long or grows too large, or whose answer stays.

    Where there are too many connections, the one that has been idle for the longest time is
    closed for a new one; where none is idle, the new one is refused, but for probes.
    """

    #: Seconds for the head of a request; `variegate.service.run` sets it from the settings.
    head_seconds: float = 10.0
    #: Seconds in which a client must read some of an answer that waits for it; set likewise.
    write_seconds: float = 10.0
    #: Seconds that a connection is left alone before it must make room for another.
    idle_seconds: float = 1.0
    #: Connections that the process holds; set likewise.
    most_connections: int = MOST_CONNECTIONS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_is_open = True
        self._head_bytes = 0
        self._head_timer: TimerHandle | None = None
        self._write_timer: TimerHandle | None = None
        self._unread = 0
        self._is_crowded = False
        self._idle_since = time.monotonic()

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request, not for ever."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)
        if len(self.connections) > self.most_connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._stop_timer()
        self._stop_write_timer()

    def on_message_begin(self) -> None:
        """Begin to measure a head."""
        super().on_message_begin()
        self._head_is_open, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        """End the measure; the body is the guard's matter."""
        self._head_is_open = False
        if self._is_crowded:
            cast("dict[str, Any]", self.scope)[CROWDED] = True
        super().on_headers_complete()
        if self._is_crowded:
            self.cycle.keep_alive = False

    def data_received(self, data: bytes) -> None:
        """Parse what came. A head that came in one piece, as most do, costs nothing more."""
        super().data_received(data)
        if not self._head_is_open:
            self._stop_timer()
            return
        self._head_bytes += len(data)
        if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(
                STATUS_LINE[431] + b"content-length: 0\r\nconnection: close\r\n\r\n"
            )
            self._close()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def on_response_complete(self) -> None:
        """Wait for the next request; or for the client to read, where there is none to come."""
        super().on_response_complete()
        self._idle_since = time.monotonic()
        if self.transport.is_closing():
            self._watch_writing()

    def pause_writing(self) -> None:
        """Wait for the client to read, not for ever."""
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        """Go on; what is left when the connection closes is watched too."""
        super().resume_writing()
        self._stop_write_timer()
        if self.transport.is_closing():
            self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        super().send_400_response(msg)
        self._watch_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that no request comes on."""
        self._close()

    def shutdown(self) -> None:
        """Close when the answer is given, and read."""
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
        others = cast("set[PatientProtocol]", self.connections)
        before = time.monotonic() - self.idle_seconds
        idle = [one for one in others if one._idle_since < before and one._is_idle]
        if idle:
            longest = min(idle, key=lambda one: one._idle_since)
            others.discard(longest)
            longest.transport.abort()
        elif len(others) > self.most_connections + RESERVE:
            self.transport.write(_REFUSAL)
            self._close()
        else:
            self._is_crowded = True

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
            self._watch_writing()

    def _give_up(self) -> None:
        self._head_timer = None
        self._close()

    def _watch_writing(self) -> None:
        """Abort the connection unless the client reads on; what is unread keeps it open."""
        if self._write_timer is None and (unread := self.transport.get_write_buffer_size()):
            self._unread = unread
            self._write_timer = self.loop.call_later(self.write_seconds, self._check_writing)

    def _check_writing(self) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size() < self._unread:
            self._watch_writing()
        else:
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def connections_that_fit() -> int:
    """Return how many connections the limit on open files leaves room for.

    The store, the log and the engine process need some too.
    """
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit

    files, _ = getrlimit(RLIMIT_NOFILE)
    if files == RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(max(files - _OTHER_FILES, files // 2, 1), MOST_CONNECTIONS)
