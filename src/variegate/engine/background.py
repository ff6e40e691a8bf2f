"""Long work in a thread that hardly delays the threads that make lists and answer requests."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Final

#: Seconds of work between two pauses, and of a pause
_WORK_SECONDS, _PAUSE_SECONDS = 0.002, 0.001
#: Seconds that a thread runs before another gets its turn; Python's own is 0.005.
_TURN: Final = 0.0002


class Throttle:
    """Lets other threads run: pauses for 1 ms after each 2 ms of work.

    Otherwise a thread that only computes releases the interpreter every 5 ms, and a thread that
    reads from the store waits that long at each step.
    """

    def __init__(self) -> None:
        self._since = monotonic()

    def __call__(self) -> None:
        """Pause if it is time."""
        if monotonic() - self._since > _WORK_SECONDS:
            sleep(_PAUSE_SECONDS)
            self._since = monotonic()


@contextmanager
def in_background() -> Iterator[None]:
    """Make many objects in a thread that hardly delays the others of its process.

    The garbage collector pauses: it would stop all threads to look at every one of the objects.
    """
    gc.disable()
    try:
        with frequent_switches():
            yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Let threads take turns more often: one that makes lists waits for its turn at every step."""
    seconds = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(seconds)
