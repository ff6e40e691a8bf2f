"""The back room as a process: started with one end of a pair of sockets, ended by closing it."""

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import suppress
from typing import Final

from variegate.errors import InputError
from variegate.service.settings import Settings

#: Seconds that a room may take to finish what it has.
_PATIENCE: Final = 30.0


def pays(settings: Settings) -> bool:
    """Whether to have a back room: as the settings say, or where cores would be idle without."""
    if os.name != "posix":
        if settings.backroom:
            raise InputError("`backroom` must not be true here: this system hands no socket down")
        return False
    return cores() >= 2 * settings.workers if settings.backroom is None else settings.backroom


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class RoomProcess:
    """A process that was started, and says through its socket when it is ready."""

    def __init__(self, settings: Settings) -> None:
        #: Our end
        self.front, back = socket.socketpair()
        with back:
            command = [sys.executable, "-m", "variegate.service.backroom", str(back.fileno())]
            self._process = subprocess.Popen(  # noqa: S603 - of our own making
                command,
                pass_fds=[back.fileno()],
                stdin=subprocess.DEVNULL,
                # Whoever reads what the service prints waits for its end, not for this one's.
                stdout=subprocess.DEVNULL,
            )
        # Through the socket, for they may hold a password: others see a command and what is
        # handed down with it.
        self.front.sendall(settings.model_dump_json().encode() + b"\n")
        self.front.setblocking(False)

    async def end(self) -> int | None:
        """Close the socket, wait for the process to finish what it has, and return its code."""
        with suppress(OSError):  # it may be closed already
            self.front.shutdown(socket.SHUT_WR)
        try:
            return await asyncio.to_thread(self._process.wait, _PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return await asyncio.to_thread(self._process.wait)
