"""A service behind a real socket, in a thread of this process."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import uvicorn
from fastapi import FastAPI

from variegate.engine.settings import Settings
from variegate.service.protocol import LimitedProtocol
from variegate.service.run import bind_socket


@contextmanager
def listening(
    app: FastAPI, protocol: type[LimitedProtocol] = LimitedProtocol, **options: Any
) -> Iterator[int]:
    """Answer at a free port, which is given, until the end."""
    listener = bind_socket(Settings(port=0))
    config = uvicorn.Config(app, http=protocol, ws="none", log_config=None, **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def ask(port: int, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """Return the status and the body of an answer; the path is sent as it is."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    sent = {"Content-Type": "application/json", **headers}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    return answer.status, json.loads(text) if text.startswith((b"{", b"[")) else text
