"""The service as one process or several: from settings to a socket that is served."""

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
from variegate.service.metrics import MULTIPROCESS_DIR
from variegate.service.protocol import LimitedProtocol, default_max_connections
from variegate.store import Store

#: Contains the settings as JSON, for the worker processes.
SETTINGS_VARIABLE: Final = "VARIEGATE_SERVE_SETTINGS"
KEEP_ALIVE_SECONDS: Final = 15
#: A worker that does not respond to the supervisor for so long is replaced; a slow machine takes
#: long to start one.
HEALTH_SECONDS: Final = 30
#: Bytes of a response that the system buffers before the network accepts them.
UNSENT_BYTES: Final = 131_072
#: Seconds for requests in progress when the service stops.
DRAIN_SECONDS: Final = 30
#: Addresses that mean all interfaces, and how to reach them from this machine.
_LOCAL: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound

Announce = Callable[[str], object]
_log = logging.getLogger(__name__)


def serve(settings: Settings, announce: Announce) -> None:
    """Serve until SIGTERM or SIGINT, then let the requests in progress finish.

    Parameters
    ----------
    announce
        Called once with a line that contains the address, when the service is up.
    """
    check_exposure(settings)
    listener = bind_socket(settings)
    configure_logs(settings.log_level, settings.log_format)
    url = local_url(listener)

    def announce_url() -> None:
        announce(f"variegate is running at {url} (API documentation: {url}/docs)")

    with listener:
        if settings.workers == 1:
            _serve_in_process(settings, listener, announce_url)
        else:
            _serve_in_workers(settings, listener, announce_url)


def check_exposure(settings: Settings) -> None:
    """Raise InputError if others could reach a service without keys."""
    is_open = settings.is_local or settings.allow_anonymous
    if is_open and "*" not in settings.cors_origins:
        return
    with Store.open(settings.store) as store:
        keys = list_keys(store)
    if is_open and not keys:
        raise InputError(
            "`cors_origins` must list origins, such as https://shop.example, while there is no key "
            f"in {mask_password(settings.store)}, got '*', which lets every web page read and "
            "change everything: list them, or make a key with `variegate keys make --role admin "
            "--name me`"
        )
    if is_open or any(row.revoked is None for row in keys):
        return
    raise InputError(
        f"`host` {settings.host} lets others reach the service, and there is no key in "
        f"{mask_password(settings.store)}: make one with `variegate keys make --role admin "
        "--name me`, or admit everybody with --allow-anonymous"
    )


def bind_socket(settings: Settings) -> socket.socket:
    """Return a listening socket at the address of the settings, or raise InputError."""
    host, port = settings.host.strip("[]"), settings.port
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise InputError(f"`host` must be an address of this machine, got {host!r}") from None
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            # Connections inherit it: the system buffers no megabytes for clients that do not read.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        listener.bind(address)
        # Two sockets that are bound and do not listen yet would not notice each other.
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise InputError(_describe_bind_error(error, host, port)) from None
    listener.set_inheritable(True)
    return listener


def local_url(listener: socket.socket) -> str:
    """Return the URL at which a browser on this machine can open the service."""
    host, port = listener.getsockname()[:2]
    host = _LOCAL.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def create_worker_app() -> FastAPI:
    """Return the application of a worker process, by the settings in its environment."""
    settings = Settings.model_validate_json(os.environ[SETTINGS_VARIABLE])
    configure_logs(settings.log_level, settings.log_format)
    try:
        return _set_up(settings)
    except VariegateError as error:
        # Not uvicorn's code for a failed start, which would stop the other workers too: the store
        # may be unavailable for a moment, and the supervisor tries again.
        _log.error("a worker cannot start: %s", error)
        raise SystemExit(1) from None


def _set_up(settings: Settings) -> FastAPI:
    """Set the limits of this process and return its application."""
    LimitedProtocol.header_timeout = LimitedProtocol.write_timeout = settings.timeout_seconds
    LimitedProtocol.max_connections = settings.max_connections or default_max_connections()
    # The writer waits for the interpreter after each commit; 5 ms, the default, is longer than
    # the commit.
    sys.setswitchinterval(0.001)
    app = build_app(settings)
    freeze_startup_objects()
    return app


class _AnnouncingServer(uvicorn.Server):
    """Calls `announce` when it has started."""

    announce: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.announce()


def _serve_in_process(
    settings: Settings, listener: socket.socket, announce: Callable[[], None]
) -> None:
    server = _AnnouncingServer(_config(settings, _set_up(settings)))
    server.announce = announce
    with _ignored_signals():
        server.run(sockets=[listener])


def _serve_in_workers(
    settings: Settings, listener: socket.socket, announce: Callable[[], None]
) -> None:
    check_startable(settings)
    with tempfile.TemporaryDirectory(prefix="variegate-metrics-") as folder:
        os.environ[MULTIPROCESS_DIR] = folder
        os.environ[SETTINGS_VARIABLE] = settings.model_dump_json()
        config = _config(settings, f"{__name__}:create_worker_app", factory=True)
        supervisor = Multiprocess(config, sockets=[listener])
        threading.Thread(target=_announce_when_up, args=(listener, announce), daemon=True).start()
        try:
            supervisor.run()
        finally:
            del os.environ[MULTIPROCESS_DIR], os.environ[SETTINGS_VARIABLE]
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise StateError("a worker could not start: see the log above")


def _config(settings: Settings, app: FastAPI | str, **options: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        workers=settings.workers,
        http=LimitedProtocol,
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
def _ignored_signals() -> Iterator[None]:
    """Ignore the signal that uvicorn raises again after it has drained, to exit with 0."""
    handlers = {
        number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _announce_when_up(listener: socket.socket, announce: Callable[[], None]) -> None:
    host, port = listener.getsockname()[:2]
    while listener.fileno() >= 0:
        connection = HTTPConnection(_LOCAL.get(host, host), port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                announce()
                return
        except (OSError, HTTPException):
            time.sleep(0.05)
        finally:
            connection.close()


def _describe_bind_error(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"`port` {port} is in use at {host}: stop what listens there, or use another --port"
    if error.errno == errno.EACCES:
        return f"`port` must be at least 1024 unless you are root, got {port}"
    return f"`host` must be an address of this machine, got {host!r}: {error.strerror}"
