"""The client for asyncio."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Self, TypeVar

from variegate.client import routes
from variegate.client.base import BaseClient
from variegate.client.retry import Attempts
from variegate.client.transport import (
    Call,
    LineBuffer,
    NoReply,
    Outcome,
    Page,
    Reply,
    cut_off,
    make_no_reply,
    make_reply,
    method,
)
from variegate.errors import StoreError

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")


class AsyncClient(BaseClient["httpx2.AsyncClient"]):
    """A client of the service for asyncio: as `Client`, with `await` and `async for`.

    The parameters are those of `Client`; `http` is an `httpx2.AsyncClient`.

    Examples
    --------
    ::

        async with AsyncClient("http://127.0.0.1:8000") as client:
            slate = await client.recommend("ana", k=5)
            async for past in client.history("ana"): ...
    """

    def _new_http(self) -> "httpx2.AsyncClient":
        import httpx2

        return httpx2.AsyncClient()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, unless `http` was passed."""
        if self._owns_http:
            await self._http.aclose()

    async def _result(self, call: Call[T]) -> T:
        return call.parse((await self._send(call)).body)

    async def _is_ok(self, call: Call[None]) -> bool:
        try:
            await self._result(call)
        except StoreError:
            return False
        return True

    async def _total(self, calls: Iterable[Call[int]]) -> int:
        return sum([await self._result(call) for call in calls])

    async def _all_pages(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        following: Call[Page[T]] | None = call
        while following is not None:
            page = await self._result(following)
            for item in page.items:
                yield item
            following = page.next

    async def _lines(self, call: Call[T]) -> AsyncIterator[T]:
        import httpx2

        buffer = LineBuffer()
        response = (await self._send(call, is_streamed=True)).stream
        try:
            async for piece in response.aiter_bytes():
                for line in buffer.feed(piece):
                    yield call.parse(line)
        except httpx2.RequestError as error:
            raise cut_off(error) from None
        finally:
            await response.aclose()
        buffer.check_complete()

    async def _send(self, call: Call[T], *, is_streamed: bool = False) -> Reply:
        attempts = Attempts(call, self._policy)
        while True:
            result = attempts.evaluate(await self._attempt(call, attempts, is_streamed))
            if isinstance(result, Reply):
                return result
            await asyncio.sleep(result)

    async def _attempt(self, call: Call[T], attempts: Attempts, is_streamed: bool) -> Outcome:
        import httpx2

        request = self._request(call, attempts)
        try:
            async with asyncio.timeout(attempts.remaining):
                response = await self._http.send(request, stream=True)
                if is_streamed and response.status_code == 200:
                    return Reply(200, b"", stream=response)
                try:
                    return make_reply(response, await response.aread())
                finally:
                    await response.aclose()
        except TimeoutError:
            return NoReply("the deadline passed", unsent=False)
        except httpx2.RequestError as error:
            return make_no_reply(error)

    recommend = method(routes.recommend, _result)
    recommend_many = method(routes.recommend_many, _lines)
    feedback = method(routes.feedback, _result)
    add_event = method(routes.add_event, _result)
    user = method(routes.user, _result)
    history = method(routes.history, _all_pages)
    forget = method(routes.forget, _result)
    export_users = method(routes.export_users, _lines)
    import_users = method(routes.import_users, _total)
    catalogue = method(routes.catalogue, _result)
    items = method(routes.items, _all_pages)
    item = method(routes.item, _result)
    add_items = method(routes.add_items, _result)
    change_item = method(routes.change_item, _result)
    patch_item = method(routes.patch_item, _result)
    retire_item = method(routes.retire_item, _result)
    import_items = method(routes.import_items, _lines)
    retire_items = method(routes.retire_items, _lines)
    restore_items = method(routes.restore_items, _lines)
    report = method(routes.report, _result)
    prior = method(routes.prior, _result)
    fit_prior = method(routes.fit_prior, _result)
    drop_prior = method(routes.drop_prior, _result)
    metrics = method(routes.metrics, _result)
    ping = method(routes.ping, _result)
    alive = method(routes.alive, _is_ok)
    ready = method(routes.ready, _is_ok)
