"""A real service in a thread, and a proxy in front of it that misbehaves on request."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from variegate.engine.settings import Settings
from variegate.service.app import build_app
from variegate.service.protocol import LimitedProtocol
from variegate.service.run import bind_socket, local_url


@contextmanager
def service(folder: Path, **settings: Any) -> Iterator[str]:
    """Give the address of a service that keeps its state in a folder; all of it in this process."""
    url = f"sqlite:///{folder}/store.db?durability=normal"
    result = Settings(store=url, port=0, engine_process=False, **settings)
    listener = bind_socket(result)
    config = uvicorn.Config(build_app(result), http=LimitedProtocol, lifespan="on", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield local_url(listener)
    finally:
        server.should_exit = True
        thread.join()


class Stumbling(ThreadingHTTPServer):
    """Does with each request what comes next in `script`, and passes it on when that is over.

    `drop` hangs up at once; `cut` passes the request on and hangs up instead of answering;
    `cut short` answers half; `mute` says nothing; `503` and `429` are sent as the service sends
    them, with Retry-After 0; `unknown` passes the request on and answers as the service does where
    the answer to a commit was lost; `bad gateway` and `busy` pass it on and answer 502 and 503 as
    a proxy does.
    """

    daemon_threads = True

    def __init__(self, behind: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = urlsplit(behind).netloc
        self.script: list[str] = []
        #: Method and path of every request that came
        self.asked: list[str] = []
        self.is_over = threading.Event()

    @property
    def url(self) -> str:
        """The address to ask."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients hang up here on purpose."""


class _Handler(BaseHTTPRequestHandler):
    server: Stumbling

    def answer(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        deed = self.server.script.pop(0) if self.server.script else "pass"
        if deed == "drop":
            return
        if deed == "mute":
            self.server.is_over.wait()
            return
        if deed in ("503", "429"):
            self.refuse(int(deed), "unavailable" if deed == "503" else "rate_limited")
        else:
            self.pass_on(body, deed)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - as the base class has it

    def pass_on(self, body: bytes, deed: str) -> None:
        behind = HTTPConnection(self.server.behind, timeout=20)
        try:
            names = ("content-type", "idempotency-key")
            kinds = {name: self.headers[name] for name in names if name in self.headers}
            behind.request(self.command, self.path, body, kinds)
            answer = behind.getresponse()
            content = answer.read()
        finally:
            behind.close()
        if deed == "pass":
            self.tell(answer.status, content)
        elif deed == "cut short":
            self.tell(answer.status, content[: len(content) // 2], len(content))
        elif deed in ("bad gateway", "busy"):
            self.tell(502 if deed == "bad gateway" else 503, b"<html>")
        elif deed == "unknown":
            self.refuse(503, "outcome_unknown")

    def refuse(self, status: int, code: str) -> None:
        text = json.dumps(
            {
                "type": f"/problems/{code}",
                "title": "Refused",
                "status": status,
                "detail": "not now",
                "request_id": "r-1",
            }
        )
        self.tell(status, text.encode())

    def tell(self, status: int, content: bytes, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("content-length", str(length or len(content)))
        self.send_header("retry-after", "0")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def stumbling(behind: str) -> Iterator[Stumbling]:
    """Give a proxy that misbehaves, in front of a service."""
    with Stumbling(behind) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.is_over.set()
            proxy.shutdown()
            thread.join()
