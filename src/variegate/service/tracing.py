"""The outermost middleware where `traces` is on: one span per request, which the engine continues.

FastAPI can make such spans itself, but they have the path, with the ids of users.
"""

from collections.abc import Collection
from importlib.metadata import version

from opentelemetry import propagate
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, SpanKind, StatusCode
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from variegate.engine.tracing import current_trace
from variegate.service.middleware import method_name, route_template


class TracingMiddleware:
    """ASGI middleware that makes a span of each request, in the trace that its headers name.

    Parameters
    ----------
    untraced
        Paths without spans: probes, and the page's files.
    """

    def __init__(
        self, app: ASGIApp, *, provider: TracerProvider, untraced: Collection[str] = ()
    ) -> None:
        self._app, self._untraced = app, frozenset(untraced)
        self._tracer = provider.get_tracer("variegate.service", version("variegate"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, inside a span."""
        if scope["type"] != "http" or scope["path"] in self._untraced:
            await self._app(scope, receive, send)
            return
        method = method_name(scope)
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        with self._tracer.start_as_current_span(
            method,
            propagate.extract(headers),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "url.scheme": scope["scheme"]},
        ) as span:
            carrier: dict[str, str] = {}
            propagate.inject(carrier)
            current_trace.set(tuple(carrier.items()))

            async def send_and_note(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _note_status(span, message["status"])
                await send(message)

            await self._app(scope, receive, send_and_note)
            route = route_template(scope)
            span.update_name(f"{method} {route}")
            span.set_attribute("http.route", route)
            span.set_attribute("variegate.request_id", scope["context"].request_id)


def _note_status(span: Span, status: int) -> None:
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_attribute("error.type", str(status))
        span.set_status(StatusCode.ERROR)
