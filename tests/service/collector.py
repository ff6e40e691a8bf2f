"""An OpenTelemetry collector at a free port of this machine, which keeps the spans that it gets."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple


class Received(NamedTuple):
    """A span as it came in."""

    name: str
    trace: str
    span: str
    parent: str
    attributes: dict[str, Any]
    #: Of what sent it
    resource: dict[str, Any]
    #: In nanoseconds
    start: int
    end: int


class Collector:
    """The spans that came, and where they are sent to."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[Received] = []

    def add(self, body: bytes) -> None:
        """Add the spans of a request."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        request = ExportTraceServiceRequest.FromString(body)
        for group in request.resource_spans:
            resource = _values(group.resource.attributes)
            for span in (span for scope in group.scope_spans for span in scope.spans):
                self.spans.append(
                    Received(
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        _values(span.attributes),
                        resource,
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                    )
                )

    def trace(self, trace: str) -> dict[str, Received]:
        """Return the spans of a trace by their names, of which no two may be the same."""
        spans = [span for span in self.spans if span.trace == trace]
        found = {span.name: span for span in spans}
        assert len(found) == len(spans)
        return found


@contextmanager
def collecting() -> Iterator[Collector]:
    """Give a collector that answers until the end."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            is_packed = self.headers["Content-Encoding"] == "gzip"
            is_known = self.path == "/v1/traces"
            if is_known:
                collector.add(gzip.decompress(body) if is_packed else body)
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        collector.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


def _values(attributes: Any) -> dict[str, Any]:
    return {
        one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value")
        for one in attributes
    }
