"""The blocking client."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from time import sleep
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


class Client(BaseClient["httpx2.Client"]):
    """A client of the service; one can be used from several threads.

    Connection errors, timeouts and the statuses 429 and 503 are retried with exponential backoff
    and jitter, where a retry cannot do anything twice. After the last attempt, StoreError is
    raised.

    Parameters
    ----------
    url
        The service's address, such as http://127.0.0.1:8000.
    key
        As `variegate keys make` printed it; None for a service without keys.
    timeout
        Seconds to wait for the service to send anything.
    retries
        Attempts after the first.
    deadline
        Seconds for a call with all its attempts and pauses. An export has none once it has begun.
    backoff
        Maximum seconds of the first pause; it doubles with each attempt.
    http
        Your own `httpx2.Client`, for certificates or proxies; you close it.

    Examples
    --------
    ::

        with Client("http://127.0.0.1:8000") as client:
            slate = client.recommend("ana", k=5)
            client.feedback(slate, {slate.ids[0]: 1})
    """

    def _new_http(self) -> "httpx2.Client":
        import httpx2

        return httpx2.Client()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, unless `http` was passed."""
        if self._owns_http:
            self._http.close()

    def _result(self, call: Call[T]) -> T:
        return call.parse(self._send(call).body)

    def _is_ok(self, call: Call[None]) -> bool:
        try:
            self._result(call)
        except StoreError:
            return False
        return True

    def _total(self, calls: Iterable[Call[int]]) -> int:
        return sum(map(self._result, calls))

    def _all_pages(self, call: Call[Page[T]]) -> Iterator[T]:
        following: Call[Page[T]] | None = call
        while following is not None:
            page = self._result(following)
            yield from page.items
            following = page.next

    def _lines(self, call: Call[T]) -> Iterator[T]:
        import httpx2

        buffer = LineBuffer()
        with closing(self._send(call, is_streamed=True).stream) as response:
            try:
                for piece in response.iter_bytes():
                    yield from map(call.parse, buffer.feed(piece))
            except httpx2.RequestError as error:
                raise cut_off(error) from None
        buffer.check_complete()

    def _send(self, call: Call[T], *, is_streamed: bool = False) -> Reply:
        attempts = Attempts(call, self._policy)
        while True:
            result = attempts.evaluate(self._attempt(call, attempts, is_streamed))
            if isinstance(result, Reply):
                return result
            sleep(result)

    def _attempt(self, call: Call[T], attempts: Attempts, is_streamed: bool) -> Outcome:
        import httpx2

        request = self._request(call, attempts)
        try:
            response = self._http.send(request, stream=True)
            if is_streamed and response.status_code == 200:
                return Reply(200, b"", stream=response)
            with closing(response):
                body = b""
                for piece in response.iter_bytes():
                    body += piece
                    if attempts.remaining <= 0:
                        return NoReply("the deadline passed", unsent=False)
                return make_reply(response, body)
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
