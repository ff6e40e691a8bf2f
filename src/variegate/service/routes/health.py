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
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, HTTPException, Response

from variegate.schemas import Status
from variegate.service.metrics import CONTENT_TYPE, Metrics
from variegate.service.routing import client_router, open_router

#: What load balancers ask; never limited, never behind a key.
PROBES: Final = ("/healthz", "/readyz")
_SOON: Final = {"Retry-After": "1"}
#: Seconds for which the result of a check counts.
FRESH_SECONDS: Final = 3.0
#: Seconds that a check may take before probes stop to wait for it.
PATIENCE_SECONDS: Final = 2.0
#: The same while there is a result that counts.
SHORT_PATIENCE_SECONDS: Final = 0.25

_log = logging.getLogger(__name__)


_METRICS_ANSWER: Final[dict[str, Any]] = {
    "description": "Prometheus text.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


def health_routes(checks: Sequence[Callable[[], None]], metrics: Metrics) -> APIRouter:
    """Return the routes that need no engine: probes, metrics, and a ping."""
    router = open_router(tags=["operation"])
    readiness = Readiness(checks)

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz")
    async def healthz() -> Status:
        """Say that the process is alive."""
        return Status()

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz")
    async def readyz() -> Status:
        """Say that the store can be reached; 503 while it cannot."""
        if not await readiness.is_ready():
            # Anybody may ask: where the store is and what is wrong with it is in the log alone.
            raise HTTPException(503, "the service is not ready: its log says why", _SOON)
        return Status()

    closed = client_router(prefix="", tags=["operation"])

    @closed.get("/metrics", response_class=Response, responses={200: _METRICS_ANSWER})
    async def metrics_text() -> Response:
        """Return the service's numbers as Prometheus reads them."""
        # Not among the reads: they may all wait for a store that is away.
        return Response(await asyncio.to_thread(metrics.text), media_type=CONTENT_TYPE)

    router.routes.extend(closed.routes)
    router.routes.extend(_ping_route().routes)
    return router


def _ping_route() -> APIRouter:
    router = client_router(tags=["operation"])

    @router.get("/ping")
    async def ping() -> Status:
        """Do nothing: a way to try a key, and what the load test compares with."""
        return Status()

    return router


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
