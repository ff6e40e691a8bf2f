"""A store in a PostgreSQL database, for several processes and machines."""

import select
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from itertools import chain
from math import ceil
from time import monotonic
from typing import Any, Final, LiteralString

import psycopg
from psycopg import IsolationLevel, errors
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format

from variegate.errors import InputError, StoreError
from variegate.store.binary import BinaryArray
from variegate.store.database import (
    LONG_SECONDS,
    ConnectionBudget,
    Database,
    Pool,
    lock_timeout,
)
from variegate.store.failures import ErrorTranslator
from variegate.store.sql import POSTGRES

#: How often to read what a server sends unasked before it counts as one that talks
_MAX_NOTICES: Final = 4
#: Seconds without use after which a connection is tested
_IDLE_SECONDS: Final = 5.0
#: Part of a statement's timeout after which the server itself cancels it, and says so
_SERVER_PART: Final = 0.9
#: What PgBouncer answers if the settings of a session are sent to it
_REFUSED_BY_POOLER: Final = "unsupported startup parameter"
#: Names the lock that keeps two processes from changing the tables at once
_TABLES_LOCK: Final = 0x76617269656761


class NoAnswerError(psycopg.OperationalError):
    """The server did not answer in time; the connection cannot be used after this."""


class _ArrayDumper(Dumper):
    """Sends an array as it is; the statement says its type."""

    format = Format.BINARY
    oid = 0

    def dump(self, obj: BinaryArray) -> bytes:
        return obj.data


class PostgresConnection(psycopg.Connection[Any]):
    """Raises NoAnswerError if one wait for the server takes longer than `timeout` seconds.

    The server's own `statement_timeout` has no effect if the server, its machine or the network
    stands still. Every statement, commit and rollback waits in `wait`; connecting has its
    `connect_timeout`.
    """

    timeout: float = 30.0
    _used_at: float = 0.0

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Run a generator of psycopg to its end, with the timeout."""
        try:
            found = super().wait(_with_timeout(gen, self.timeout), *args, **options)
        except NoAnswerError:
            # A pipeline would wait once more when it ends.
            self.pgconn.finish()
            raise
        self._used_at = monotonic()
        return found

    def is_usable(self) -> bool:
        """Whether a connection from the pool can be used; NoAnswerError if the server is silent.

        A connection that died with its server is found here, before a transaction fails.
        """
        if self.is_lost():
            return False
        if monotonic() - self._used_at < _IDLE_SECONDS:
            return True
        try:
            self.execute("SELECT 1")
            self.rollback()
        except NoAnswerError:
            raise
        except psycopg.Error:
            return False
        return True

    def is_lost(self) -> bool:
        """Whether the server has closed the connection, as far as this side knows."""
        try:
            for _ in range(_MAX_NOTICES):
                if not _is_readable(self.pgconn.socket):
                    return False
                # A server sends unasked that a setting changed, or that it stops.
                self.pgconn.consume_input()
                self.pgconn.is_busy()
        except psycopg.Error:
            return True
        return False


class PostgresDatabase(Database[PostgresConnection]):
    """A database on a server, which may go away and come back.

    Parameters
    ----------
    url
        Its address, as libpq takes it.
    durable
        Whether each commit waits for the server's disk.
    timeout
        Seconds that the server may take for a statement.
    max_connections
        How many connections can be in use at once.
    """

    def __init__(self, url: str, *, durable: bool, timeout: float, max_connections: int) -> None:
        address = _parse(url)
        self._session = _session(durable=durable, timeout=timeout)
        self._parameters = _parameters(address, self._session, timeout)
        self._max_connections = max_connections
        #: Whether a pooler (PgBouncer) gives each transaction another session, so that settings
        #: and prepared statements last for a transaction only
        self._is_pooled = False
        translator = ErrorTranslator(
            _public_address(address),
            psycopg,
            secrets=[value for name, value in address.items() if "pass" in name and value],
            timeouts=(errors.QueryCanceled, errors.LockNotAvailable),
            no_answer=(NoAnswerError, errors.ConnectionTimeout),
        )
        idle = min(5, max_connections)
        pool = Pool(self._connect, max_idle=idle, max_open=max_connections, timeout=timeout)
        super().__init__(pool, POSTGRES, translator, timeout=timeout)
        try:
            self._check_session()
        except BaseException:
            self.close()
            raise

    def connection_budget(self) -> ConnectionBudget:
        """Return how many connections there can be."""
        if self._is_pooled:
            return ConnectionBudget(self._max_connections, None)
        with self.reading() as transaction:
            ((limit,),) = transaction.rows(
                """SELECT current_setting('max_connections')::INTEGER
                    - current_setting('superuser_reserved_connections')::INTEGER"""
            )
        return ConnectionBudget(self._max_connections, limit)

    def _connect(self) -> PostgresConnection:
        try:
            connection = PostgresConnection.connect(**self._parameters)
        except psycopg.OperationalError as error:
            if self._is_pooled or _REFUSED_BY_POOLER not in str(error):
                raise
            self._is_pooled = True
            self._parameters.pop("options")
            connection = PostgresConnection.connect(**self._parameters)
        connection.timeout = self._timeout
        connection.adapters.register_dumper(BinaryArray, _ArrayDumper)
        return connection

    def _set_timeout(self, connection: PostgresConnection, timeout: float | None) -> None:
        connection.timeout = self._timeout if timeout is None else timeout

    def _begin_writing(self, connection: PostgresConnection, *, durable: bool = True) -> None:
        self._begin(connection, IsolationLevel.READ_COMMITTED)
        if not durable:
            connection.execute("SET LOCAL synchronous_commit = off")

    def _begin_reading(self, connection: PostgresConnection) -> None:
        self._begin(connection, IsolationLevel.REPEATABLE_READ)

    def _begin_changing_tables(self, connection: PostgresConnection) -> None:
        self._begin_writing(connection)
        connection.execute(f"SET LOCAL lock_timeout = {_milliseconds(LONG_SECONDS)}")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_TABLES_LOCK,))

    def _begin(self, connection: PostgresConnection, level: IsolationLevel) -> None:
        # The driver begins the transaction with its first statement.
        if connection.isolation_level is not level:
            connection.isolation_level = level
        if self._is_pooled:
            connection.prepare_threshold = None
            connection.execute(*_set_locally(self._session))
        if connection.timeout > self._timeout:
            timeout = _milliseconds(_SERVER_PART * connection.timeout)
            connection.execute(f"SET LOCAL statement_timeout = {timeout}")

    def _cursor(self, connection: PostgresConnection) -> psycopg.Cursor[Any]:
        # Otherwise bytes come as text, two characters each.
        return connection.cursor(binary=True)

    def _pipeline(
        self, connection: PostgresConnection
    ) -> Callable[[], AbstractContextManager[Any]] | None:
        return connection.pipeline if psycopg.Pipeline.is_supported() else None

    def _commit(self, connection: PostgresConnection) -> None:
        # What is sent into a connection that the server has closed is certainly lost, but the
        # error would look like that of a lost answer.
        if connection.is_lost():
            raise self._errors.unusable("the server closed the connection before the commit")
        super()._commit(connection)

    def _is_rolled_back(self, error: Exception) -> bool:
        """Whether the server itself answered that it did not commit."""
        diagnosis = getattr(error, "diag", None)
        return diagnosis is not None and diagnosis.severity_nonlocalized == "ERROR"

    def _roll_back(
        self, connection: PostgresConnection, error: BaseException | None = None
    ) -> None:
        # Closing the connection rolls back without a wait. And after a failover the old server may
        # still answer, and refuse every write.
        if isinstance(error, (StoreError, psycopg.Error)):
            connection.close()
        else:
            super()._roll_back(connection, error)

    def _check_session(self) -> None:
        with self.reading() as transaction:
            ((encoding, plans),) = transaction.rows(
                "SELECT current_setting('server_encoding'), current_setting('plan_cache_mode')"
            )
        # A pooler can be configured to ignore the settings of a session.
        self._is_pooled |= plans != self._session["plan_cache_mode"]
        if encoding != "UTF8":
            raise self._errors.unusable(f"the database must be encoded in UTF8, is {encoding}")


def _parse(url: str) -> dict[str, str]:
    """Return the parameters of an address, by the names of libpq."""
    # The text may hold a password, so no message repeats it.
    try:
        address = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except psycopg.Error:
        raise InputError(
            "`url` must be postgresql://user@host/database with parameters of libpq, "
            "got something else"
        ) from None
    if "@" in address.get("host", ""):
        raise InputError("`url` must have the @ of a password written as %40")
    if not address.get("port", "0").replace(",", "").isdigit():
        raise InputError("`url` must have a number as its port")
    return address


def _session(*, durable: bool, timeout: float) -> dict[str, str]:
    """Return the settings of a session."""
    session = {
        "lock_timeout": str(_milliseconds(lock_timeout(timeout))),
        "statement_timeout": str(_milliseconds(_SERVER_PART * timeout)),
        "idle_in_transaction_session_timeout": "60000",
        # Every statement finds its rows by an index, whatever its parameters, so that it need not
        # be planned again for each execution.
        "plan_cache_mode": "force_generic_plan",
    }
    if not durable:
        session["synchronous_commit"] = "off"
    return session


def _set_locally(settings: Mapping[str, str]) -> tuple[LiteralString, list[str]]:
    """Return a statement that makes settings for one transaction, and its parameters."""
    calls: LiteralString = ", ".join(["set_config(%s, %s, true)"] * len(settings))
    return f"SELECT {calls}", list(chain.from_iterable(settings.items()))


def _parameters(
    address: Mapping[str, str], session: Mapping[str, str], timeout: float
) -> dict[str, Any]:
    """Return what to connect with; what the address says comes last and wins."""
    ours = " ".join(f"-c {name}={value}" for name, value in session.items())
    return {
        "application_name": "variegate",
        "connect_timeout": str(ceil(lock_timeout(timeout))),  # libpq takes 1 for 2
        "tcp_user_timeout": "10000",
        "client_encoding": "utf8",
        **address,
        "options": f"{ours} {address.get('options', '')}",
    }


def _public_address(address: Mapping[str, str]) -> str:
    """Return an address without user, password and parameters."""
    host = address.get("host", "")
    # A path is that of a socket.
    place = "" if host.startswith("/") else host
    if place and "port" in address:
        place += f":{address['port']}"
    return f"postgresql://{place}/{address.get('dbname', '')}"


def _milliseconds(seconds: float) -> int:
    return max(1, int(1000 * seconds))


def _with_timeout(gen: Generator[Any, Any, Any], timeout: float) -> Generator[Any, Any, Any]:
    """Yield what `gen` yields; raise NoAnswerError if it still waits after `timeout` seconds.

    psycopg sends what is ready, and nothing several times a second while nothing is.
    """
    deadline = monotonic() + timeout
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and monotonic() > deadline:
                gen.close()
                raise NoAnswerError(f"the server did not answer within {timeout:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


def _is_readable(socket: int) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([socket], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))
