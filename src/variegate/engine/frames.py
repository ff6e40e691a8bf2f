"""Objects through a socket between two processes of one service: a length, then a pickle.

Nobody else has an end of that socket, so what is read was written by this package.
"""

import pickle
import struct
from collections.abc import Iterator
from typing import Any, Final

_LENGTH: Final = struct.Struct("<I")


def framed(message: Any) -> bytes:
    """Return a message as it goes over the wire."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Puts together what comes in pieces."""

    def __init__(self) -> None:
        self._received = bytearray()

    def fed(self, data: bytes) -> Iterator[Any]:
        """Give the messages that are whole by now."""
        received = self._received
        received += data
        at = 0
        while len(received) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(received, at)
            start, end = at + _LENGTH.size, at + _LENGTH.size + length
            if len(received) < end:
                break
            yield pickle.loads(bytes(received[start:end]))  # noqa: S301 - of our own making
            at = end
        del received[:at]
