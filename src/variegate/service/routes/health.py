"""Probes, metrics and a ping: the routes that need no engine.

Readiness is checked in a separate thread. A probe does not wait for a thread pool, nor for a store
that hangs: it reports the last check, which must be recent.
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
from variegate.service.routing import public_router, read_router

#: For load balancers: without rate limit and without keys.
PROBES: Final = ("/healthz", "/readyz")
#: Seconds for which the result of a check is valid.
FRESH_SECONDS: Final = 3.0
#: Seconds that a probe waits for a check.
TIMEOUT_SECONDS: Final = 2.0
#: The same while there is a valid result.
SHORT_TIMEOUT_SECONDS: Final = 0.25

_METRICS_RESPONSE: Final[dict[str, Any]] = {
    "description": "Prometheus text.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
_log = logging.getLogger(__name__)


def health_routers(checks: Sequence[Callable[[], None]], metrics: Metrics) -> list[APIRouter]:
    """Return the routers of probes, metrics and ping."""
    return [_probes(Readiness(checks)), _metrics(metrics), _ping()]


def _probes(readiness: "Readiness") -> APIRouter:
    router = public_router(tags=["operation"])

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz")
    async def healthz() -> Status:
        """Return 200 while the process is alive."""
        return Status()

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz")
    async def readyz() -> Status:
        """Return 200 if the store can be reached, and 503 otherwise."""
        if not await readiness.is_ready():
            # Anybody may call this: the store's address and its errors are in the log only.
            message = "the service is not ready: see its log"
            raise HTTPException(503, message, {"Retry-After": "1"})
        return Status()

    return router


def _metrics(metrics: Metrics) -> APIRouter:
    router = read_router(prefix="", tags=["operation"])

    @router.get("/metrics", response_class=Response, responses={200: _METRICS_RESPONSE})
    async def metrics_text() -> Response:
        """Return the metrics in the Prometheus text format."""
        # Not in the thread pool of reads: these may all wait for a store that is not available.
        return Response(await asyncio.to_thread(metrics.text), media_type=CONTENT_TYPE)

    return router


def _ping() -> APIRouter:
    router = read_router(tags=["operation"])

    @router.get("/ping")
    async def ping() -> Status:
        """Do nothing: to check a key, and as the baseline of the load test."""
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
        Each raises an exception if the service is not ready. They may block.
    """

    def __init__(self, checks: Sequence[Callable[[], None]]) -> None:
        self._checks = checks
        self._last: _Result | None = None
        self._running: Future[None] | None = None
        self._started = 0.0

    async def is_ready(self) -> bool:
        """Return whether the checks pass now, or passed a moment ago."""
        if self._running is None or self._running.done():
            self._start()
        timeout = SHORT_TIMEOUT_SECONDS if self._age() <= FRESH_SECONDS else TIMEOUT_SECONDS
        remaining = self._started + timeout - time.monotonic()
        if self._running is not None and remaining > 0:
            await asyncio.wait([asyncio.wrap_future(self._running)], timeout=remaining)
        return self._last is not None and self._last.is_ready and self._age() <= FRESH_SECONDS

    def _age(self) -> float:
        return float("inf") if self._last is None else time.monotonic() - self._last.time

    def _start(self) -> None:
        self._running, self._started = Future(), time.monotonic()
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
        except Exception as error:  # any error of a check means not ready
            is_ready = False
            if was_ready:
                _log.warning("the service is not ready: %s", error)
        else:
            is_ready = True
            if not was_ready:
                _log.warning("the service is ready again")
        self._last = _Result(time.monotonic(), is_ready)
        done.set_result(None)
