"""What happens in the back room: operations in, outcomes out, until the other end is closed."""

import logging
import select
import socket
from collections import deque
from contextlib import suppress
from typing import Any, Final

from variegate.errors import VariegateError
from variegate.service.backroom.frames import Frames, framed
from variegate.service.desk.batches import MOST, Batches, Outcome, Waiting

#: Bytes read at a time.
_PIECE: Final = 2**20

_log = logging.getLogger(__name__)


class News:
    """What was observed and not yet told: the metrics are kept where they are asked for."""

    def __init__(self, front: socket.socket) -> None:
        self._front = front
        self._observed: list[tuple[str, float]] = []

    def observe(self, name: str, value: float) -> None:
        """Note a number; see `Settler`."""
        self._observed.append((name, value))

    def tell(self, outcomes: list[tuple[int, Outcome]]) -> None:
        """Send outcomes to the front, and what was observed."""
        told = [(number, _tellable(outcome)) for number, outcome in outcomes]
        with suppress(OSError):  # whoever waited has gone: what was done stays done
            self._front.sendall(framed((told, self._observed)))
        self._observed = []


class Room:
    """Does what comes through a socket."""

    def __init__(self, front: socket.socket, batches: Batches, news: News) -> None:
        self._front, self._batches, self._news = front, batches, news
        self._frames, self._waiting = Frames(), deque[Waiting[int]]()
        self._is_open = True

    def run(self) -> None:
        """Work until the other end is closed, and all that came through before is done."""
        while self._is_open or self._waiting:
            self._receive(0.0 if self._waiting else self._batches.pause)
            count = min(len(self._waiting), MOST)
            batch = [self._waiting.popleft() for _ in range(count)]
            if batch:
                self._news.tell(self._batches.done(batch))
            self._batches.end_round()

    def _receive(self, seconds: float) -> None:
        """Take in what has come, or what comes within so many seconds."""
        if not self._is_open or not select.select([self._front], [], [], seconds)[0]:
            return
        try:
            data = self._front.recv(_PIECE)
        except ConnectionResetError:  # whoever waited was killed
            data = b""
        self._is_open = bool(data)
        self._waiting.extend(
            Waiting(operation, since, number) for number, since, operation in self._frames.fed(data)
        )


def _tellable(outcome: Outcome) -> Any:
    """Return an outcome that can be put together again in another process."""
    if not isinstance(outcome, BaseException) or isinstance(outcome, VariegateError):
        return outcome
    _log.error("an operation failed", exc_info=outcome)
    return RuntimeError(f"{type(outcome).__name__}: {outcome}")
