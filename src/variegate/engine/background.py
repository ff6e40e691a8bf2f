"""Long work in a thread that hardly delays the threads that make lists and answer requests."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Final, TypeAlias

#: Seconds that a thread runs before another gets its turn; Python's own is 0.005.
_TURN: Final = 0.0002
#: Seconds after which others that are at work are no longer waited for: they may always be.
_PATIENCE: Final = 20.0

#: Called between two steps of long work, to let other threads run.
Pause: TypeAlias = Callable[[], None]


def no_pause() -> None:
    """Go on at once."""
    return


class Throttle:
    """Lets other threads run: pauses after some work.

    Otherwise a thread that only computes releases the interpreter every 5 ms, and a thread that
    reads from the store waits that long at each step.

    Parameters
    ----------
    work, pause
        Seconds of work between two pauses, and of a pause.
    is_busy
        Whether others are at work that pauses wait for, in the first 20 seconds.
    """

    def __init__(
        self,
        work: float = 0.002,
        pause: float = 0.001,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._work, self._pause, self._since = work, pause, monotonic()
        self._is_busy, self._until = is_busy, monotonic() + _PATIENCE

    def __call__(self) -> None:
        """Pause if it is time."""
        if monotonic() - self._since > self._work:
            sleep(self._pause)
            while self._is_busy() and monotonic() < self._until:
                sleep(self._pause)
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
