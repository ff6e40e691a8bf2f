"""One HTTP connection that is kept open, with as little of its own in the way as can be."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_core import to_json

_HEAD_END: Final = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """Sends one request at a time and waits for its answer.

    A client library would take longer over a request than the service does, and the
    measurement would be of that.
    """

    def __init__(self) -> None:
        self._received = bytearray()
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def to(cls, host: str, port: int) -> "Connection":
        """Open a connection."""
        _transport, made = await asyncio.get_running_loop().create_connection(cls, host, port)
        return made

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; return the status and the body of the answer."""
        assert self._transport is not None  # noqa: S101 - it is connected once it is made
        if self._transport.is_closing():  # what is written now would never be answered
            raise ConnectionResetError("the service hung up")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(_HEAD_END)
        if end < 0:
            return
        head = bytes(self._received[:end]).lower()
        length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        whole = end + len(_HEAD_END) + length
        if len(self._received) < whole:
            return
        answer = int(head[9:12]), bytes(self._received[end + len(_HEAD_END) : whole])
        del self._received[:whole]
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionResetError("the service hung up"))


def request_bytes(
    method: str,
    path: str,
    body: Any = None,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Return a request as it goes over the wire."""
    content = b"" if body is None else to_json(body)  # several times as fast as `json`
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(content)}\r\n"
    if key is not None:
        head += f"authorization: Bearer {key}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    if content:
        head += "content-type: application/json\r\n"
    return head.encode() + b"\r\n" + content
