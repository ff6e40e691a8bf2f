"""A few threads for answers that take long, apart from those that all other requests use."""

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
from variegate.service.routing import call_of

#: Threads that work at the same time; more would take the interpreter from the event loop.
THREADS: Final = 2
#: Questions that are being answered or wait for a thread.
MOST_QUESTIONS: Final = 10


class _Job:
    """A question that is being answered, or waits; several requests may have asked it."""

    def __init__(self, question: Hashable, work: Callable[[], bytes]) -> None:
        self.question, self.work = question, work
        self.answer: Future[bytes] = Future()
        self.context: Context = copy_context()
        self.askers = 0

    def run(self) -> None:
        try:
            self.answer.set_result(self.context.run(self.work))
        except BaseException as error:  # it belongs to those who asked
            self.answer.set_exception(error)


class SmallPool:
    """Works out each distinct question once, however many ask it at the same time.

    Who waits holds no thread. A question that nobody waits for any more, and that no thread has
    begun, gives up its place.

    Parameters
    ----------
    threads
        How many questions are worked out at the same time.
    most
        How many are worked out or wait; one more is refused at once.
    """

    def __init__(self, threads: int = THREADS, most: int = MOST_QUESTIONS) -> None:
        self._most_threads, self._most = threads, most
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, _Job] = {}
        self._waiting: deque[_Job] = deque()
        self._threads = 0

    @property
    def questions(self) -> int:
        """How many questions are being answered or wait."""
        return len(self._jobs)

    async def answer(
        self, request: Request, question: Hashable, work: Callable[[], bytes]
    ) -> bytes:
        """Return what `work` gives, or raise 429 where too many questions wait."""
        job = self._job(question, work)
        if job is None:
            call_of(request).refused = "busy"
            message = f"{self._most} questions of this kind wait for an answer: try again later"
            raise HTTPException(429, message, {"Retry-After": "1"})
        gone = asyncio.ensure_future(_hung_up(request))
        try:
            answer = asyncio.wrap_future(job.answer)
            # Nobody may be there to hear of an error.
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())
            either: list[asyncio.Future[Any]] = [answer, gone]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                gone.result()  # which raises what is wrong with a body that came meanwhile
                raise ClientDisconnect
            return await answer
        finally:
            gone.cancel()
            self._leave(job)

    def _job(self, question: Hashable, work: Callable[[], bytes]) -> _Job | None:
        with self._lock:
            job = self._jobs.get(question)
            if job is None:
                if len(self._jobs) >= self._most:
                    return None
                job = self._jobs[question] = _Job(question, work)
                self._waiting.append(job)
                if self._threads < self._most_threads:
                    self._threads += 1
                    # A daemon: a fit of minutes must not keep the process from ending.
                    name = f"variegate-small-pool-{self._threads}"
                    threading.Thread(target=self._run, name=name, daemon=True).start()
            job.askers += 1
            return job

    def _leave(self, job: _Job) -> None:
        with self._lock:
            job.askers -= 1
            if job.askers == 0 and job.answer.cancel():
                self._waiting.remove(job)
                del self._jobs[job.question]

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job.run()
            with self._lock:
                del self._jobs[job.question]

    def _next(self) -> _Job | None:
        with self._lock:
            if self._waiting:
                job = self._waiting.popleft()
                job.answer.set_running_or_notify_cancel()
                return job
            self._threads -= 1
            return None


async def _hung_up(request: Request) -> None:
    """Return when the client has closed the connection."""
    message: Any = {}
    while message.get("type") != "http.disconnect":
        message = await request.receive()


class JsonAnswer(Response):
    """JSON that is written already, with the two headers that it needs and no others."""

    def __init__(self, body: bytes, status: int) -> None:
        self.body, self.status_code, self.background = body, status, None
        length = (b"content-length", str(len(body)).encode())
        self.raw_headers = [length, (b"content-type", b"application/json")]


def answered(content: Any, status: int = 200) -> Response:
    """Return what the core gave as JSON; `answer_of` tells OpenAPI what that is."""
    return JsonAnswer(_written(content), status)


def _written(content: Any) -> bytes:
    body = to_json(content)
    # The writer has no mode that refuses them, and a text may well have these letters.
    if b"NaN" in body or b"Infinity" in body:
        json.loads(body, parse_constant=_refused)
    return body


def _refused(number: str) -> None:
    raise StateError(f"an answer must have finite numbers, got {number}: JSON has no other")


async def worked_out(
    pool: SmallPool, request: Request, question: Hashable, work: Callable[[], Any]
) -> Response:
    """Return what takes a while as JSON: worked out in a pool, for all who ask the same now."""
    return JsonAnswer(await pool.answer(request, question, lambda: _written(work())), 200)


def answer_of(model: type[BaseModel], about: str, status: int = 200) -> dict[int | str, Any]:
    """Return a route's `responses` for an answer that `answered` gives."""
    return {status: {"model": model, "description": about}}
