"""The service as a process, or several: from settings to a socket that answers."""

import errno
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from variegate.engine.logs import configure_logs
from variegate.engine.process import freeze_startup_objects
from variegate.engine.settings import Settings, mask_password
from variegate.errors import InputError, StateError, VariegateError
from variegate.service.app import build_app, check_startable
from variegate.service.keys import list_keys
from variegate.service.metrics import SHARED_FOLDER
from variegate.service.protocol import PatientProtocol, connections_that_fit
from variegate.store import Store

#: Holds the settings as JSON for the processes that answer.
HANDED_DOWN: Final = "VARIEGATE_SERVE_SETTINGS"
KEEP_ALIVE_SECONDS: Final = 15
#: A worker that does not answer the launcher for so long is replaced; a slow machine takes long to
#: start one.
HEALTH_SECONDS: Final = 30
#: Bytes of an answer that the system takes before the network has room for them.
UNSENT_BYTES: Final = 131_072
#: How long requests that are being answered may take when the service is told to stop.
DRAIN_SECONDS: Final = 30

Announce = Callable[[str], object]
_log = logging.getLogger(__name__)


def serve(settings: Settings, announce: Announce) -> None:
    """Answer until SIGTERM or SIGINT, then let the requests under way finish.

    Parameters
    ----------
    announce
        Is told the address, once, when the service answers.
    """
    check_exposure(settings)
    listener = bound_socket(settings)
    configure_logs(settings.log_level, settings.log_format)
    address = address_of(listener)

    def tell() -> None:
        announce(f"variegate answers at {address} (its interface: {address}/docs)")

    with listener:
        if settings.workers == 1:
            _serve_here(settings, listener, tell)
        else:
            _serve_in_processes(settings, listener, tell)


def check_exposure(settings: Settings) -> None:
    """Raise InputError where others could reach a service that has no keys."""
    is_open = settings.is_local or settings.allow_anonymous
    if is_open and "*" not in settings.cors_origins:
        return
    with Store.open(settings.store) as store:
        keys = list_keys(store)
    if is_open and not keys:
        raise InputError(
            "`cors_origins` must name its origins, such as https://shop.example, while no key is "
            f"in {mask_password(settings.store)}, got '*', by which every web page could read "
            "and change everything: name them, or make a key with `variegate keys make --role "
            "admin --name me`"
        )
    if is_open or any(row.revoked is None for row in keys):
        return
    raise InputError(
        f"`host` {settings.host} lets others reach the service, and no key is in "
        f"{mask_password(settings.store)}: make one with `variegate keys make --role admin "
        "--name me`, or let everybody in with --allow-anonymous"
    )


def bound_socket(settings: Settings) -> socket.socket:
    """Return a socket at the address of the settings, or raise InputError."""
    host, port = settings.host.strip("[]"), settings.port
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise InputError(f"`host` must be an address of this machine, got {host!r}") from None
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            # Connections inherit it: the system keeps no megabytes for those who do not read.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        listener.bind(address)
        # Two that are bound and do not listen yet would not see each other.
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise InputError(_why_not(error, host, port)) from None
    listener.set_inheritable(True)
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the URL that a browser on this machine can open."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - told, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def app_of_worker() -> FastAPI:
    """Return the service by the settings that the launcher handed down."""
    settings = Settings.model_validate_json(os.environ[HANDED_DOWN])
    configure_logs(settings.log_level, settings.log_format)
    _set_up_process(settings)
    try:
        return _built_to_last(settings)
    except VariegateError as error:
        # Told in a line. Not uvicorn's code for a failed start, which would stop the others too:
        # the store may be away for a moment, and the launcher tries again.
        _log.error("a worker cannot start: %s", error)
        raise SystemExit(1) from None


def _set_up_process(settings: Settings) -> None:
    PatientProtocol.head_seconds = PatientProtocol.write_seconds = settings.timeout_seconds
    PatientProtocol.most_connections = settings.max_connections or connections_that_fit()
    # The writer waits for the interpreter after each commit; 5 ms, the default, is longer than
    # the commit.
    sys.setswitchinterval(0.001)


def _built_to_last(settings: Settings) -> FastAPI:
    app = build_app(settings)
    freeze_startup_objects()
    return app


class _TellingServer(uvicorn.Server):
    """Says when it has started."""

    tell: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.tell()


def _serve_here(settings: Settings, listener: socket.socket, tell: Callable[[], None]) -> None:
    _set_up_process(settings)
    server = _TellingServer(_config(settings, _built_to_last(settings)))
    server.tell = tell
    with _quiet_end():
        server.run(sockets=[listener])


def _serve_in_processes(
    settings: Settings, listener: socket.socket, tell: Callable[[], None]
) -> None:
    check_startable(settings)
    with tempfile.TemporaryDirectory(prefix="variegate-metrics-") as folder:
        os.environ[SHARED_FOLDER] = folder
        os.environ[HANDED_DOWN] = settings.model_dump_json()
        config = _config(settings, f"{__name__}:app_of_worker", factory=True)
        supervisor = Multiprocess(config, sockets=[listener])
        threading.Thread(target=_tell_when_up, args=(listener, tell), daemon=True).start()
        try:
            supervisor.run()
        finally:
            del os.environ[SHARED_FOLDER], os.environ[HANDED_DOWN]
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise StateError("a worker could not start: the log above says why")


def _config(settings: Settings, app: FastAPI | str, **options: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        workers=settings.workers,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_worker_healthcheck=HEALTH_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        **options,
    )


@contextmanager
def _quiet_end() -> Iterator[None]:
    """Let uvicorn, which raises the signal again after it has drained, end like a success."""
    handlers = {
        number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _tell_when_up(listener: socket.socket, tell: Callable[[], None]) -> None:
    host, port = listener.getsockname()[:2]
    while listener.fileno() >= 0:
        connection = HTTPConnection(
            {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host),  # noqa: S104
            port,
            timeout=5,
        )
        try:
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                tell()
                return
        except (OSError, HTTPException):
            time.sleep(0.05)
        finally:
            connection.close()


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"`port` {port} is taken at {host}: stop what listens there, or give another --port"
    if error.errno == errno.EACCES:
        return f"`port` must be from 1024 for those who are not root, got {port}"
    return f"`host` must be an address of this machine, got {host!r}: {error.strerror}"
