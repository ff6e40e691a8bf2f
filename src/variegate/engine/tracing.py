"""OpenTelemetry traces: of a request, and of what the engine does for it in another process.

Nothing of OpenTelemetry is imported unless the setting `traces` is on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from variegate.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from variegate.engine.queue import QueuedCommand

#: Headers that say which trace something belongs to; plain data, to go to another process.
TraceHeaders: TypeAlias = tuple[tuple[str, str], ...]
#: Those of the current request; empty without a trace.
current_trace: ContextVar[TraceHeaders] = ContextVar("current_trace", default=())
#: Seconds for the last spans when the service stops; the engine's process has 5 in all
_CLOSE_SECONDS: Final = 2.0
_COMMIT: Final = "commit"
#: What the engine reports with its seconds that gets a span of its own
_STEPS: Final = ("recommend", "learn", _COMMIT)
#: The standard variables that choose how traces are sent, and the only value that is supported
_SUPPORTED: Final = {
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
}
_Observe: TypeAlias = Callable[[str, float], None]
#: Name, start and end in nanoseconds
_Step: TypeAlias = tuple[str, int, int]


def open_tracing() -> TracerProvider:
    """Return what sends spans by OTLP, as the standard variables OTEL_* say.

    Raises MissingExtraError without OpenTelemetry, and InputError for a variable that asks for
    what is not supported.
    """
    for variable, supported in _SUPPORTED.items():
        if (value := os.environ.get(variable) or supported) != supported:
            raise InputError(f"environment variable `{variable}` must be {supported}, got {value}")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtraError(
            f"`traces` needs OpenTelemetry: pip install 'variegate[otel]' ({error})"
        ) from None
    resource = Resource.create({"service.version": version("variegate")})
    if str(resource.attributes["service.name"]).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": "variegate"}))
    # Not made the provider of the process, which belongs to whoever embeds the service.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def close_tracing(provider: TracerProvider) -> None:
    """Send the last spans, unless the collector does not take them soon."""
    # Its own deadline is 30 seconds, with retries.
    closing = Thread(target=provider.shutdown, name="variegate-last-spans", daemon=True)
    closing.start()
    closing.join(_CLOSE_SECONDS)


class BatchTracer:
    """Makes spans of the engine's batches, in the trace of each request that a batch answers.

    A batch answers several requests, so each of their traces has its spans: the batch, the
    commands of this request in it, and the commit.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("variegate.engine", version("variegate"))
        #: Of the present batch, if there is one
        self._steps: list[_Step] | None = None

    def observing(self, observe: _Observe) -> _Observe:
        """Return `observe`, which also notes the steps of the present batch."""

        def note_and_observe(name: str, value: float) -> None:
            if self._steps is not None and name in _STEPS:
                end = time.time_ns()
                self._steps.append((name, end - round(1e9 * value), end))
            observe(name, value)

        return note_and_observe

    @contextmanager
    def batch(self, group: Sequence[QueuedCommand]) -> Iterator[None]:
        """Make spans of what the engine does for these commands, in this order."""
        steps: list[_Step] = []
        self._steps = steps
        start, error = time.time_ns(), ""
        try:
            yield
        except BaseException as raised:
            error = type(raised).__qualname__
            raise
        finally:
            self._steps = None
            traces = [one.trace for one in group]
            # An error can come before all commands are executed. One that is executed alone has
            # no step of its own.
            commands = [step for step in steps if step[0] != _COMMIT]
            commits = [step for step in steps if step[0] == _COMMIT]
            for headers in dict.fromkeys(filter(None, traces)):
                own = [step for step, its in zip(commands, traces, strict=False) if its == headers]
                self._send(headers, start, [*own, *commits], len(group), error)

    def _send(
        self, headers: TraceHeaders, start: int, steps: Sequence[_Step], size: int, error: str
    ) -> None:
        """Send the spans of a batch, which ends now, and of steps in it to one trace."""
        from opentelemetry import propagate, trace

        parent = propagate.extract(dict(headers))
        attributes = {"variegate.batch.commands": size}
        batch = self._tracer.start_span("batch", parent, start_time=start, attributes=attributes)
        inside = trace.set_span_in_context(batch, parent)
        for name, begun, done in steps:
            self._tracer.start_span(name, inside, start_time=begun).end(done)
        if error:
            batch.set_attribute("error.type", error)
            batch.set_status(trace.StatusCode.ERROR)
        batch.end()
