"""Sending calls, and waiting for their answers."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from time import sleep
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


class Client:
    """Asks the service, and waits for its answer; usable from several threads.

    Connection errors, time-outs, 429 and 503 are tried again, after growing pauses drawn at
    random, wherever a call made twice is the same as once; `recommend` only where the service
    surely did not take it in. What is never answered raises StoreError.

    Parameters
    ----------
    url
        The service's address, such as http://127.0.0.1:8000.
    key
        As `variegate keys make` printed it; None for a service without keys.
    timeout
        Seconds that the service may be silent.
    retries
        Attempts after the first.
    deadline
        Seconds for a call with all its attempts and pauses. An export, once begun, has none.
    backoff
        Seconds of the first pause, at most; it doubles with each attempt.
    http
        An `httpx2.Client` of yours, for certificates or proxies; you close it.

    Examples
    --------
    ::

        with Client("http://127.0.0.1:8000") as client:
            slate = client.recommend("ana", k=5)
            client.feedback(slate, {slate.ids[0]: 1})
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
        http: "httpx2.Client | None" = None,
    ) -> None:
        self._patience = Patience(timeout, retries, deadline, backoff)
        self._url, self._headers = checked_url(url), headers_for(key)
        check_installed()
        import httpx2

        self._is_own = http is None
        self._http = httpx2.Client() if http is None else http

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    def close(self) -> None:
        """Close the connections, unless they are another's."""
        if self._is_own:
            self._http.close()

    def ask(self, call: Call[T]) -> T:
        """Return what came of a call."""
        return call.read(self._exchange(call).body)

    def probe(self, call: Call[None]) -> bool:
        """Return whether the service says yes."""
        try:
            self.ask(call)
        except StoreError:
            return False
        return True

    def total(self, calls: Iterable[Call[int]]) -> int:
        """Return the sum of what came of calls, made one after the other."""
        return sum(map(self.ask, calls))

    def pages(self, call: Call[Page[T]]) -> Iterator[T]:
        """Give the things of all pages, each fetched when it is needed."""
        more: Call[Page[T]] | None = call
        while more is not None:
            page = self.ask(more)
            yield from page.items
            more = page.more

    def lines(self, call: Call[T]) -> Iterator[T]:
        """Give what each line of an answer stands for, as it comes."""
        import httpx2

        lines = Lines()
        with closing(self._exchange(call, is_streamed=True).rest) as response:
            try:
                for piece in response.iter_bytes():
                    yield from map(call.read, lines.of(piece))
            except httpx2.RequestError as error:
                raise broken(error) from None
        lines.check_ended()

    def _exchange(self, call: Call[T], *, is_streamed: bool = False) -> Reply:
        attempts = Attempts(call, self._patience)
        while True:
            judged = attempts.judge(self._attempt(call, attempts, is_streamed))
            if isinstance(judged, Reply):
                return judged
            sleep(judged)

    def _attempt(self, call: Call[T], attempts: Attempts, is_streamed: bool) -> Outcome:
        import httpx2

        request = self._http.build_request(
            call.method,
            self._url + call.path,
            headers=headers_of(self._headers, call),
            content=call.body,
            timeout=attempts.timeout,
        )
        try:
            response = self._http.send(request, stream=True)
            if is_streamed and response.status_code == 200:
                return Reply(200, b"", rest=response)
            with closing(response):
                body = b""
                for piece in response.iter_bytes():
                    body += piece
                    if attempts.left <= 0:
                        return Silence("it took longer than the deadline", unsent=False)
                return reply_of(response, body)
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
