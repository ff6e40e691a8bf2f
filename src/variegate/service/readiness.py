"""Whether the service is ready: checked in a thread of its own, reported by the event loop.

A probe waits for no thread pool and not for a store that hangs: it reports the last check, which
must be recent.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, NamedTuple

#: Seconds for which the result of a check counts.
FRESH_SECONDS: Final = 3.0
#: Seconds that a check may take before probes stop to wait for it.
PATIENCE_SECONDS: Final = 2.0
#: The same while there is a result that counts.
SHORT_PATIENCE_SECONDS: Final = 0.25

_log = logging.getLogger(__name__)


class _Result(NamedTuple):
    time: float
    is_ready: bool


class Readiness:
    """The last result of some checks, and at most one thread that runs them.

    Parameters
    ----------
    checks
        Each raises an exception where the service is not ready. They may block.
    """

    def __init__(self, checks: Sequence[Callable[[], None]]) -> None:
        self._checks = checks
        self._last: _Result | None = None
        self._running: Future[None] | None = None
        self._began = 0.0

    async def is_ready(self) -> bool:
        """Return whether the checks pass now, or passed a moment ago."""
        if self._running is None or self._running.done():
            self._begin()
        patience = SHORT_PATIENCE_SECONDS if self._age() <= FRESH_SECONDS else PATIENCE_SECONDS
        left = self._began + patience - time.monotonic()
        if self._running is not None and left > 0:
            await asyncio.wait([asyncio.wrap_future(self._running)], timeout=left)
        return self._last is not None and self._last.is_ready and self._age() <= FRESH_SECONDS

    def _age(self) -> float:
        return float("inf") if self._last is None else time.monotonic() - self._last.time

    def _begin(self) -> None:
        self._running, self._began = Future(), time.monotonic()
        self._running.set_running_or_notify_cancel()
        # A daemon: a check that hangs must not keep the process from ending.
        thread = threading.Thread(
            target=self._run, args=(self._running,), name="variegate-readiness", daemon=True
        )
        thread.start()

    def _run(self, done: Future[None]) -> None:
        was_ready = self._last is None or self._last.is_ready
        try:
            for check in self._checks:
                check()
        except Exception as error:  # whatever a check raises, the service is not ready
            is_ready = False
            if was_ready:
                _log.warning("the service is not ready: %s", error)
        else:
            is_ready = True
            if not was_ready:
                _log.warning("the service is ready again")
        self._last = _Result(time.monotonic(), is_ready)
        done.set_result(None)
