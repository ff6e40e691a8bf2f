"""Sending calls from asyncio."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Self, TypeVar

from variegate.client import routes
from variegate.client.retry import Attempts, Patience
from variegate.client.transport import (
    Call,
    Lines,
    Outcome,
    Page,
    Reply,
    Silence,
    broken,
    check_installed,
    checked_url,
    headers_for,
    headers_of,
    method,
    reply_of,
    silence_of,
)
from variegate.errors import StoreError

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")


class AsyncClient:
    """Asks the service from asyncio: as `Client`, with `await` and `async for`.

    Parameters are those of `Client`; `http` is an `httpx2.AsyncClient`.

    Examples
    --------
    ::

        async with AsyncClient("http://127.0.0.1:8000") as client:
            slate = await client.recommend("ana", k=5)
            async for past in client.history("ana"): ...
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        deadline: float = 30.0,
        backoff: float = 0.1,
        http: "httpx2.AsyncClient | None" = None,
    ) -> None:
        self._patience = Patience(timeout, retries, deadline, backoff)
        self._url, self._headers = checked_url(url), headers_for(key)
        check_installed()
        import httpx2

        self._is_own = http is None
        self._http = httpx2.AsyncClient() if http is None else http

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    async def close(self) -> None:
        """Close the connections, unless they are another's."""
        if self._is_own:
            await self._http.aclose()

    async def ask(self, call: Call[T]) -> T:
        """Return what came of a call."""
        return call.read((await self._exchange(call)).body)

    async def probe(self, call: Call[None]) -> bool:
        """Return whether the service says yes."""
        try:
            await self.ask(call)
        except StoreError:
            return False
        return True

    async def total(self, calls: Iterable[Call[int]]) -> int:
        """Return the sum of what came of calls, made one after the other."""
        return sum([await self.ask(call) for call in calls])

    async def pages(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        """Give the things of all pages, each fetched when it is needed."""
        more: Call[Page[T]] | None = call
        while more is not None:
            page = await self.ask(more)
            for item in page.items:
                yield item
            more = page.more

    async def lines(self, call: Call[T]) -> AsyncIterator[T]:
        """Give what each line of an answer stands for, as it comes."""
        import httpx2

        lines = Lines()
        response = (await self._exchange(call, is_streamed=True)).rest
        try:
            async for piece in response.aiter_bytes():
                for line in lines.of(piece):
                    yield call.read(line)
        except httpx2.RequestError as error:
            raise broken(error) from None
        finally:
            await response.aclose()
        lines.check_ended()

    async def _exchange(self, call: Call[T], *, is_streamed: bool = False) -> Reply:
        attempts = Attempts(call, self._patience)
        while True:
            judged = attempts.judge(await self._attempt(call, attempts, is_streamed))
            if isinstance(judged, Reply):
                return judged
            await asyncio.sleep(judged)

    async def _attempt(self, call: Call[T], attempts: Attempts, is_streamed: bool) -> Outcome:
        import httpx2

        request = self._http.build_request(
            call.method,
            self._url + call.path,
            headers=headers_of(self._headers, call),
            content=call.body,
            timeout=attempts.timeout,
        )
        try:
            async with asyncio.timeout(attempts.left):
                response = await self._http.send(request, stream=True)
                if is_streamed and response.status_code == 200:
                    return Reply(200, b"", rest=response)
                try:
                    return reply_of(response, await response.aread())
                finally:
                    await response.aclose()
        except TimeoutError:
            return Silence("it took longer than the deadline", unsent=False)
        except httpx2.RequestError as error:
            return silence_of(error)

    recommend = method(routes.recommend, ask)
    feedback = method(routes.feedback, ask)
    user = method(routes.user, ask)
    history = method(routes.history, pages)
    forget = method(routes.forget, ask)
    export_users = method(routes.export_users, lines)
    import_users = method(routes.import_users, total)
    catalogue = method(routes.catalogue, ask)
    items = method(routes.items, pages)
    item = method(routes.item, ask)
    add_items = method(routes.add_items, ask)
    change_item = method(routes.change_item, ask)
    retire_item = method(routes.retire_item, ask)
    report = method(routes.report, ask)
    prior = method(routes.prior, ask)
    fit_prior = method(routes.fit_prior, ask)
    drop_prior = method(routes.drop_prior, ask)
    metrics = method(routes.metrics, ask)
    ping = method(routes.ping, ask)
    alive = method(routes.alive, probe)
    ready = method(routes.ready, probe)
