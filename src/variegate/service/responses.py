"""JSON responses, and a thread pool for those that take long."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextvars import Context, copy_context
from typing import Any, Final

from fastapi import HTTPException, Request, Response
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.requests import ClientDisconnect

from variegate.errors import StateError
from variegate.service.routing import request_context

#: Threads of the pool; more would take the interpreter from the event loop.
N_THREADS: Final = 2
#: Tasks of the pool that run or wait.
MAX_TASKS: Final = 10


class JsonResponse(Response):
    """Serialised JSON, with the two headers that it needs and no others."""

    def __init__(self, body: bytes, status: int) -> None:
        self.body, self.status_code, self.background = body, status, None
        length = (b"content-length", str(len(body)).encode())
        self.raw_headers = [length, (b"content-type", b"application/json")]


def json_response(content: Any, status: int = 200) -> Response:
    """Return content of the engine as JSON, unvalidated; `returns` documents it."""
    return JsonResponse(serialise(content), status)


def returns(model: type[BaseModel], description: str, status: int = 200) -> dict[str, Any]:
    """Return the options of a route that returns a `json_response`."""
    responses = {status: {"model": model, "description": description}}
    return {"response_class": Response, "status_code": status, "responses": responses}


async def computed_response(
    pool: "CoalescingPool", request: Request, key: Hashable, compute: Callable[[], Any]
) -> Response:
    """Return content as JSON that a pool computes, once for all requests with an equal key."""
    return JsonResponse(await pool.run(request, key, lambda: serialise(compute())), 200)


def serialise(content: Any) -> bytes:
    """Return content as JSON, or raise StateError for numbers that are not finite."""
    body = to_json(content)
    # to_json has no mode that refuses them, and a text may contain these letters.
    if b"NaN" in body or b"Infinity" in body:
        json.loads(body, parse_constant=_refuse_constant)
    return body


def _refuse_constant(number: str) -> None:
    raise StateError(f"a response must have finite numbers, got {number}")


class _Task:
    """A task that runs or waits, for one or several requests."""

    def __init__(self, key: Hashable, compute: Callable[[], bytes]) -> None:
        self.key, self.compute = key, compute
        self.result: Future[bytes] = Future()
        self.context: Context = copy_context()
        self.n_requests = 0

    def run(self) -> None:
        try:
            self.result.set_result(self.context.run(self.compute))
        except BaseException as error:  # raised in the requests that wait
            self.result.set_exception(error)


class CoalescingPool:
    """A thread pool that runs a task once for all requests that need it at the same time.

    Waiting requests occupy no thread. A task that no request waits for any more is removed, unless
    it has started.

    Parameters
    ----------
    n_threads
        Maximum number of tasks that run at the same time.
    max_tasks
        Maximum number of tasks that run or wait; more are refused at once.
    """

    def __init__(self, n_threads: int = N_THREADS, max_tasks: int = MAX_TASKS) -> None:
        self._max_threads, self._max_tasks = n_threads, max_tasks
        self._lock = threading.Lock()
        self._tasks: dict[Hashable, _Task] = {}
        self._waiting: deque[_Task] = deque()
        self._n_threads = 0

    @property
    def n_tasks(self) -> int:
        """The number of tasks that run or wait."""
        return len(self._tasks)

    async def run(self, request: Request, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        """Return the result of `compute`, or raise 429 if too many tasks wait."""
        task = self._join(key, compute)
        if task is None:
            request_context(request).refusal = "busy"
            message = f"{self._max_tasks} requests of this kind are waiting: try again later"
            raise HTTPException(429, message, {"Retry-After": "1"})
        disconnected = asyncio.ensure_future(_wait_for_disconnect(request))
        try:
            result = asyncio.wrap_future(task.result)
            # If the request ends first, the error must be retrieved here.
            result.add_done_callback(lambda done: done.cancelled() or done.exception())
            either: list[asyncio.Future[Any]] = [result, disconnected]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                disconnected.result()  # raises 413 or 408 for a body that arrived meanwhile
                raise ClientDisconnect
            return await result
        finally:
            disconnected.cancel()
            self._leave(task)

    def _join(self, key: Hashable, compute: Callable[[], bytes]) -> _Task | None:
        with self._lock:
            task = self._tasks.get(key)
            if task is None:
                if len(self._tasks) >= self._max_tasks:
                    return None
                task = self._tasks[key] = _Task(key, compute)
                self._waiting.append(task)
                if self._n_threads < self._max_threads:
                    self._n_threads += 1
                    # A daemon: a fit of minutes must not keep the process from ending.
                    name = f"variegate-pool-{self._n_threads}"
                    threading.Thread(target=self._work, name=name, daemon=True).start()
            task.n_requests += 1
            return task

    def _leave(self, task: _Task) -> None:
        with self._lock:
            task.n_requests -= 1
            if task.n_requests == 0 and task.result.cancel():
                self._waiting.remove(task)
                del self._tasks[task.key]

    def _work(self) -> None:
        while (task := self._next()) is not None:
            task.run()
            with self._lock:
                del self._tasks[task.key]

    def _next(self) -> _Task | None:
        with self._lock:
            if self._waiting:
                task = self._waiting.popleft()
                task.result.set_running_or_notify_cancel()
                return task
            self._n_threads -= 1
            return None


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client has closed the connection."""
    message: Any = {}
    while message.get("type") != "http.disconnect":
        message = await request.receive()
