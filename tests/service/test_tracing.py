"""Traces: the spans of a request come from both processes to a real collector."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest

from tests.service.asking import Answer, Caller
from tests.service.collector import Collector, collecting
from tools.loadtest.server import own_service
from variegate.engine.queue import BatchLoop, QueuedCommand
from variegate.engine.settings import Settings
from variegate.engine.tracing import BatchTracer, close_tracing, open_tracing
from variegate.errors import InputError, MissingExtraError, StoreError
from variegate.model.catalogue import Catalogue
from variegate.service.app import check_startable

#: A trace that the caller has begun, as the standard's header has it
TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
HEADERS = {"traceparent": f"00-{TRACE}-{CALLER}-01", "X-Request-ID": "from-the-shop"}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        yield collector


def shop(folder: Path) -> tuple[str, ...]:
    path = folder / "tiny.npz"
    Catalogue(list("abcd"), [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6]], "cosine").save(path)
    return "--catalogue", str(path), "--k", "2"


@pytest.mark.parametrize("engine", ["true", "false"], ids=["engine process", "engine thread"])
def test_spans_of_a_request_in_both_processes_are_one_trace(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("VARIEGATE_ENGINE_PROCESS", engine)
    with own_service(None, 1, [*shop(tmp_path), "--traces"]) as (host, port, _):
        caller = Caller((host, port), HEADERS)
        slate = caller.request("ann@example.com")
        assert slate.status == 201
        plain = Caller((host, port))
        plain.report(slate)
        assert plain.ask("GET", "/v1/users/nobody").status == 404
        assert plain.is_answered()

    spans = collector.trace(TRACE)
    request, batch = spans["POST /v1/users/{user}/slates"], spans["batch"]
    assert set(spans) == {request.name, "batch", "recommend", "commit"}
    assert [request.parent, batch.parent] == [CALLER, request.span]
    assert {spans["recommend"].parent, spans["commit"].parent} == {batch.span}
    assert request.start <= batch.start <= spans["recommend"].start <= spans["recommend"].end
    assert spans["recommend"].end <= spans["commit"].start <= spans["commit"].end <= batch.end
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/users/{user}/slates",
        "http.response.status_code": 201,
        "url.scheme": "http",
        "variegate.request_id": "from-the-shop",
    }
    assert batch.attributes == {"variegate.batch.commands": 1}
    resources = [span.resource for span in spans.values()]
    assert {one["service.name"] for one in resources} == {"variegate"}
    assert {one["deployment.environment.name"] for one in resources} == {"test"}

    # Requests without a trace begin one each, with no ids of users in it.
    (report,) = (one for one in collector.spans if "feedback" in one.name)
    assert set(collector.trace(report.trace)) == {report.name, "batch", "learn", "commit"}
    assert {one.name for one in collector.spans if not one.parent} == {
        "POST /v1/slates/{slate}/feedback",
        "GET /v1/users/{user}",
    }
    assert "ann" not in json.dumps(collector.spans)


def test_service_goes_on_without_its_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting() as gone:
        pass
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", gone.url)
    monkeypatch.setenv("VARIEGATE_ENGINE_PROCESS", "true")
    with own_service(None, 1, [*shop(tmp_path), "--traces"]) as (host, port, _):
        answers: list[Answer] = [Caller((host, port)).request() for _ in range(3)]

    assert [answer.status for answer in answers] == [201, 201, 201]


def test_last_spans_do_not_keep_a_service_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as gone:
        pass
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", gone.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60")
    provider = open_tracing()
    provider.get_tracer("test").start_span("unsent").end()

    started = perf_counter()
    close_tracing(provider)

    assert perf_counter() - started < 20  # 30 by itself


def test_commands_of_one_batch_have_the_spans_of_their_own_requests(collector: Collector) -> None:
    provider = open_tracing()
    tracer = BatchTracer(provider)
    observe = tracer.observing(lambda _name, _value: None)
    callers = [(("traceparent", f"00-{number:032x}-{CALLER}-01"),) for number in (1, 2)]
    group = [
        QueuedCommand(number, 0.0, None, "", trace)
        for number, trace in enumerate([callers[0], callers[1], (), callers[0]], 1)
    ]

    with tracer.batch(group):
        for name in ("recommend", "learn", "learn", "recommend"):
            observe(name, 0.001)
        observe("commit", 0.002)
    observe("learn", 0.001)  # of no batch
    close_tracing(provider)

    names = [
        sorted(one.name for one in collector.spans if one.trace == f"{number:032x}")
        for number in (1, 2)
    ]
    assert names == [["batch", "commit", "recommend", "recommend"], ["batch", "commit", "learn"]]
    assert len(collector.spans) == 7


def test_batch_that_the_store_refuses_is_marked(collector: Collector) -> None:
    provider = open_tracing()
    trace = (("traceparent", f"00-{TRACE}-{CALLER}-01"),)

    def execute(_commands: object) -> list[object]:
        raise StoreError("the disk is full")

    loop = BatchLoop(execute, lambda: False, timeout=10.0, tracer=BatchTracer(provider))
    (outcome,) = loop._execute_group([QueuedCommand(1, 0.0, None, "", trace)])
    close_tracing(provider)

    assert isinstance(outcome, StoreError)
    (batch,) = collector.spans
    assert (batch.name, batch.attributes["error.type"]) == ("batch", "StoreError")


def test_nothing_of_opentelemetry_but_its_interface_is_imported_without_traces() -> None:
    # FastAPI imports the interface.
    code = (
        "import sys, variegate.service.app, variegate.engine.process_main\n"
        "print(*(name for name in sys.modules if name.startswith('opentelemetry.')))"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "variegate.engine.tracing" in sys.modules
    assert not [
        name for name in loaded if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))
    ]


def test_missing_extra_is_named_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'variegate\[otel\]'"):
        check_startable(Settings(store=f"sqlite:///{tmp_path}/x.db", traces=True))


@pytest.mark.parametrize(
    ("variable", "value", "supported"),
    [
        ("OTEL_TRACES_EXPORTER", "console", "otlp"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "http/protobuf"),
    ],
)
def test_what_cannot_be_sent_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, supported: str
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(InputError) as caught:
        open_tracing()

    assert str(caught.value) == (
        f"environment variable `{variable}` must be {supported}, got {value}"
    )
