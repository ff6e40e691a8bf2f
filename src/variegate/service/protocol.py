"""HTTP as uvicorn speaks it, with the limits on a request's head that it lacks."""

from asyncio import TimerHandle
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

#: Bytes of the request line and the headers; common servers take 8 to 64 thousand.
MOST_HEAD_BYTES: Final = 65_536


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection whose head takes too long or grows too large.

    A connection that says nothing, or a header a minute, would otherwise stay for ever.
    """

    #: Seconds for the head of a request; `variegate.service.run` sets it from the settings.
    head_seconds: float = 10.0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_is_open = True
        self._head_bytes = 0
        self._head_timer: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request, not for ever."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._stop_timer()

    def on_message_begin(self) -> None:
        """Begin to measure a head."""
        super().on_message_begin()
        self._head_is_open, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        """End the measure; the body is the guard's matter."""
        self._head_is_open = False
        super().on_headers_complete()

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
            self.transport.close()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _give_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
