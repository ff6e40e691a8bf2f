"""The front's end of the back room: hands operations over, and answers to those who wait."""

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from time import monotonic
from typing import Any, Final, cast

from variegate.errors import StoreError, VariegateError
from variegate.service.backroom.frames import Frames, framed
from variegate.service.backroom.process import RoomProcess
from variegate.service.desk.batches import LONGEST_QUEUE
from variegate.service.desk.writer import Future, deliver
from variegate.service.settings import Settings

#: Seconds between two tries to open a room.
_PAUSE: Final = 1.0

_log = logging.getLogger(__name__)


class Messenger:
    """Submits operations to a back room, and opens another where one is lost.

    What was handed to a room that is lost is answered with a StoreError: whether it was kept,
    asking again tells, as after a restart of the whole service.

    Parameters
    ----------
    observe
        Is told what the room observed; see `Settler`.
    """

    def __init__(self, settings: Settings, observe: Callable[[str, float], None]) -> None:
        self._settings, self._observe = settings, observe
        self._process: RoomProcess | None = None
        self._line: _Line | None = None
        self._waiting: dict[int, Future] = {}
        self._numbers = count()
        self._tending: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start the room, which takes a second or two to get ready; `open` waits for it."""
        self._process = RoomProcess(self._settings)

    async def open(self) -> None:
        """Return when the room is ready, or raise why it cannot be."""
        if self._process is None:
            self.begin()
        try:
            lost = await self._connect()
        except BaseException:
            await self._end_room()
            raise
        self._tending = asyncio.create_task(self._tend(lost))

    def abandon(self) -> None:
        """Leave a room that was begun to itself: it ends."""
        if self._process is not None:
            self._process.front.close()

    async def close(self) -> None:
        """Let the room finish what it has, and end it."""
        if self._tending is not None:
            self._tending.cancel()
        self._line = None
        await self._end_room()

    def check(self) -> None:
        """Raise StoreError while there is no room that is ready."""
        if self._line is None:
            raise StoreError("what works lists out is being started: try again in a moment")

    async def submit(self, operation: Any) -> Any:
        """Return the operation's answer once it is kept, or raise its error."""
        self.check()
        if len(self._waiting) > LONGEST_QUEUE:
            raise StoreError("the service is too busy: try again in a moment")
        future: Future = asyncio.get_running_loop().create_future()
        number = next(self._numbers)
        self._waiting[number] = future
        cast(_Line, self._line).send((number, monotonic(), operation))
        return await future

    async def _connect(self) -> "asyncio.Future[None]":
        """Wait for the room to be ready; return what is done when it is lost."""
        line = _Line(self._answered)
        await asyncio.get_running_loop().create_connection(
            lambda: line, sock=cast(RoomProcess, self._process).front
        )
        await line.ready
        self._line = line
        return line.lost

    async def _tend(self, lost: "asyncio.Future[None]") -> None:
        """Open another room whenever one is lost."""
        while True:
            await lost
            self._line = None
            error = StoreError("what works lists out was lost: try again in a moment")
            deliver([(future, error) for future in self._waiting.values()])
            self._waiting.clear()
            code = await self._end_room()
            _log.error("the process that works lists out ended (%s): another is started", code)
            lost = await self._reopened()

    async def _reopened(self) -> "asyncio.Future[None]":
        while True:
            try:
                self.begin()
                return await self._connect()
            except (VariegateError, OSError) as error:
                _log.warning("what works lists out cannot start: %s", error)
                await self._end_room()
                await asyncio.sleep(_PAUSE)

    async def _end_room(self) -> int | None:
        process, self._process = self._process, None
        return None if process is None else await process.end()

    def _answered(self, message: Any) -> None:
        outcomes, observed = message
        waiting = self._waiting
        deliver([(waiting.pop(number), outcome) for number, outcome in outcomes])
        for name, value in observed:
            self._observe(name, value)


class _Line(asyncio.Protocol):
    """The socket to one room."""

    def __init__(self, answered: Callable[[Any], None]) -> None:
        loop = asyncio.get_running_loop()
        self._answered, self._frames = answered, Frames()
        self._transport: asyncio.Transport | None = None
        #: Done when the room says that it is ready, or why it cannot be
        self.ready: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()

    def send(self, message: Any) -> None:
        """Send a message."""
        cast(asyncio.Transport, self._transport).write(framed(message))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        for message in self._frames.fed(data):
            if self.ready.done():
                self._answered(message)
            elif isinstance(message, VariegateError):
                self.ready.set_exception(message)
            else:
                self.ready.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self.ready.done():
            why = StoreError("the process that works lists out ended before it was ready")
            self.ready.set_exception(why)
        if not self.lost.done():
            self.lost.set_result(None)
