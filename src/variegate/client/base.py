"""What both clients share: the address, the headers and the limits of their requests."""

from typing import TYPE_CHECKING, Generic, TypeVar

from variegate.client.retry import Attempts, RetryPolicy
from variegate.client.transport import Call, check_installed, check_url, default_headers

if TYPE_CHECKING:
    import httpx2

Http = TypeVar("Http", "httpx2.Client", "httpx2.AsyncClient")


class BaseClient(Generic[Http]):
    """A client over one of the two clients of the HTTP library; `Client` has the parameters."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        deadline: float = 30.0,
        backoff: float = 0.1,
        http: Http | None = None,
    ) -> None:
        self._policy = RetryPolicy(timeout, retries, deadline, backoff)
        self._url, self._headers = check_url(url), default_headers(key)
        check_installed()
        self._owns_http = http is None
        self._http: Http = self._new_http() if http is None else http

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    def _new_http(self) -> Http:
        raise NotImplementedError

    def _request(self, call: Call[object], attempts: Attempts) -> "httpx2.Request":
        """Return the request of the next attempt."""
        content_type = {} if call.body is None else {"content-type": call.content_type}
        return self._http.build_request(
            call.method,
            self._url + call.path,
            headers={**self._headers, **content_type, **call.headers},
            content=call.body,
            timeout=attempts.timeout,
        )
