"""A proxy between a service and PostgreSQL that can lose messages."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

COMMIT = b"COMMIT\0"


class Proxy:
    """Forwards bytes between TCP clients and the Unix socket of a server.

    `mode` is one of: `forward`; `lose_commit` closes the connection instead of forwarding a COMMIT;
    `lose_answer` forwards a COMMIT and closes the connection when its answer comes; `keep_answer`
    forwards it and nothing after it; `swallow` forwards nothing, on new connections either.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        folder = parse_qs(parts.query)["host"][0]
        self._server = f"{folder}/.s.PGSQL.{parts.port or 5432}"
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        user = parts.username or "postgres"
        #: The address of the same database through this proxy
        self.url = f"postgresql://{user}@{host}:{port}{parts.path}"
        self.mode = "forward"
        #: Servers that got a COMMIT whose answer must be lost
        self._committing: set[socket.socket] = set()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Close all connections."""
        for one in (self._listener, *self._sockets):
            _close(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            self._sockets += [client, server]
            try:
                server.connect(self._server)
            except OSError:
                _close(client)
                continue
            for pump in (self._requests, self._answers):
                threading.Thread(target=pump, args=(client, server), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        while data := _received(client):
            if self.mode == "swallow":
                continue
            if COMMIT in data:
                if self.mode == "lose_commit":
                    break
                if self.mode != "forward":
                    self._committing.add(server)
            with suppress(OSError):
                server.sendall(data)
        _close(client)
        _close(server)

    def _answers(self, client: socket.socket, server: socket.socket) -> None:
        while data := _received(server):
            is_to_be_lost = server in self._committing
            if self.mode == "swallow" or (self.mode == "keep_answer" and is_to_be_lost):
                continue
            if self.mode == "lose_answer" and is_to_be_lost:
                break
            with suppress(OSError):
                client.sendall(data)
        _close(client)
        _close(server)


@contextmanager
def proxy_to(url: str) -> Iterator[Proxy]:
    """Start a proxy to a database of `tests.postgres`."""
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()


def _received(one: socket.socket) -> bytes:
    try:
        return one.recv(65536)
    except OSError:
        return b""


def _close(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
