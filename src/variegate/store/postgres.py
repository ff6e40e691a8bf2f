"""A store in a PostgreSQL database, for several processes and machines."""

import select
from collections.abc import Generator
from math import ceil
from time import monotonic
from typing import Any, Final, cast

import psycopg
from psycopg import errors
from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.exc import DisconnectionError

from variegate.errors import StoreError
from variegate.store.database import Database, Transaction, checkout_seconds, lock_seconds
from variegate.store.failures import Failures, driver_error
from variegate.store.rows import CHANGING_SECONDS, Values

#: Looks at what a server has sent of its own accord, before that counts as a server that talks
_LOOKS: Final = 4
#: Seconds without use after which a connection is asked whether it is still there
_IDLE: Final = 5.0


class NoAnswerError(psycopg.OperationalError):
    """The server did not answer in time; the connection is of no use after this."""


class LimitedConnection(psycopg.Connection[Any]):
    """Raises NoAnswerError where one wait for the server takes longer than `limit` seconds.

    Every statement, commit and rollback waits in `wait`; how long connecting may take is said by
    `connect_timeout`.
    """

    limit: float = 30.0
    _used_at: float = 0.0

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Let a generator of psycopg run to its end, but not for ever."""
        try:
            found = super().wait(_limited(gen, self.limit), *args, **options)
        except NoAnswerError:
            # A pipeline would wait once more on its way out.
            self.pgconn.finish()
            raise
        self._used_at = monotonic()
        return found

    def is_usable(self) -> bool:
        """Whether a connection from the pool can be used; NoAnswerError where nobody says."""
        if self.is_lost():
            return False
        if monotonic() - self._used_at < _IDLE:
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
        """Whether the server has closed the connection, as far as is known on this side."""
        try:
            for _ in range(_LOOKS):
                if not _is_readable(self.pgconn.socket):
                    return False
                # What a server sends of its own accord: that a setting changed, or that it ends.
                self.pgconn.consume_input()
                self.pgconn.is_busy()
        except psycopg.Error:
            return True
        return False


def _limited(gen: Generator[Any, Any, Any], limit: float) -> Generator[Any, Any, Any]:
    """Give what `gen` gives; raise where it still waits after `limit` seconds.

    psycopg sends what is ready, and nothing several times in a second while nothing is.
    """
    deadline = monotonic() + limit
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and monotonic() > deadline:
                gen.close()
                raise NoAnswerError(f"the server did not answer within {limit:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


def _is_readable(socket: int) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([socket], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))


_TIMEOUTS: Final = (errors.QueryCanceled, errors.LockNotAvailable)
_SILENCES: Final = (NoAnswerError, errors.ConnectionTimeout)
#: Part of a statement's time after which the server itself gives it up, and says so
_ON_SERVER: Final = 0.9
#: Names the lock that keeps two processes from changing the tables at once
_TABLES_LOCK: Final = 0x76617269656761


class PostgresTransaction(Transaction):
    """Asks for bytes as bytes."""

    def _ask(self, statement: str, parameters: Values) -> None:
        # Otherwise bytes come as text, two characters each.
        is_binary = statement in self.statements.with_bytes
        self._cursor.execute(statement, parameters, binary=is_binary)


class PostgresDatabase(Database):
    """A database on a server, which may go away and come back.

    Parameters
    ----------
    url
        Its address.
    durable
        Whether a batch is on the server's disk before it counts as kept.
    timeout
        Seconds that the server may take for a statement.
    """

    def __init__(self, url: URL, *, durable: bool, timeout: float) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in _time_limits(timeout).items())
        if not durable:
            options += " -c synchronous_commit=off"
        # What the address says comes last and wins.
        query = {
            **_connecting(timeout),
            **url.query,
            "options": f"{options} {_plain(url, 'options')}",
        }
        engine = create_engine(
            url.set(drivername="postgresql+psycopg", query=query),
            paramstyle="format",
            isolation_level="READ COMMITTED",
            pool_size=5,
            max_overflow=15,
            pool_timeout=checkout_seconds(timeout),
            use_native_hstore=False,
            client_encoding="utf8",
            hide_parameters=True,
        )
        failures = Failures(_shown(url), psycopg, _secrets(url), _TIMEOUTS, _SILENCES)
        super().__init__(engine, failures, timeout=timeout)
        event.listen(engine, "do_connect", self._connect)
        event.listen(engine, "checkout", _check_usable)
        try:
            self._check_encoding()
        except BaseException:
            self.close()
            raise

    def _connect(
        self, _dialect: Any, _record: Any, arguments: Any, options: Any
    ) -> LimitedConnection:
        connection = LimitedConnection.connect(*arguments, **options)
        connection.limit = self._timeout
        return connection

    def _limit(self, connection: Connection, timeout: float | None) -> None:
        _driver_connection(connection).limit = self._timeout if timeout is None else timeout

    def _begin_writing(self, connection: Connection) -> None:
        connection.begin()  # the driver does so with the first statement
        self._lengthen(connection)

    def _begin_reading(self, connection: Connection) -> Connection:
        reading = connection.execution_options(isolation_level="REPEATABLE READ")
        reading.begin()
        self._lengthen(connection)
        return reading

    def _lengthen(self, connection: Connection) -> None:
        """Give the statements of this transaction as long on the server as they have here."""
        limit = _driver_connection(connection).limit
        if limit > self._timeout:
            milliseconds = _milliseconds(_ON_SERVER * limit)
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {milliseconds}")

    def _transaction(self, connection: Connection) -> Transaction:
        return PostgresTransaction(connection, self.statements, self._failures)

    def _begin_changing_tables(self, connection: Connection) -> None:
        self._lengthen(connection)
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_milliseconds(CHANGING_SECONDS)}")
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_TABLES_LOCK,))

    def _commit(self, connection: Connection) -> None:
        # What is sent into a connection that the server has closed is lost for certain, but the
        # error would look like that of an answer that was lost.
        if _driver_connection(connection).is_lost():
            raise self._failures.unusable("the server closed the connection before the commit")
        super()._commit(connection)

    def _is_undone(self, error: Exception) -> bool:
        """Whether the server itself answered that it did not commit."""
        diagnosis = getattr(driver_error(error), "diag", None)
        return diagnosis is not None and diagnosis.severity_nonlocalized == "ERROR"

    def _abandon(self, connection: Connection, error: BaseException | None = None) -> None:
        # Closing the connection undoes all, and waits for nobody. And after a change of servers
        # the old one may still answer, and refuse every write.
        if isinstance(error, (StoreError, *self._failures.kinds)):
            connection.invalidate()
        else:
            super()._abandon(connection, error)

    def _check_encoding(self) -> None:
        with self._connected() as connection:
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise self._failures.unusable(f"the database must be encoded in UTF8, is {encoding}")


def _check_usable(connection: LimitedConnection, _record: Any, _proxy: Any) -> None:
    """Let the pool open another where a connection died with its server, before a batch does.

    Not `pool_pre_ping`, which asks the server each time, and has no deadline.
    """
    if not connection.is_usable():
        raise DisconnectionError


def _time_limits(timeout: float) -> dict[str, int]:
    """Return what no server may take longer for, in milliseconds."""
    return {
        "lock_timeout": _milliseconds(lock_seconds(timeout)),
        "statement_timeout": _milliseconds(_ON_SERVER * timeout),
        "idle_in_transaction_session_timeout": 60_000,
    }


def _connecting(timeout: float) -> dict[str, str]:
    """Return settings of libpq that an address may set otherwise."""
    return {
        "application_name": "variegate",
        "connect_timeout": str(ceil(lock_seconds(timeout))),  # libpq takes 1 for 2
        "tcp_user_timeout": "10000",
    }


def _milliseconds(seconds: float) -> int:
    return max(1, int(1000 * seconds))


def _driver_connection(connection: Connection) -> LimitedConnection:
    return cast(LimitedConnection, connection.connection.dbapi_connection)


def _plain(url: URL, name: str) -> str:
    value = url.query.get(name, "")
    return value if isinstance(value, str) else " ".join(value)


def _shown(url: URL) -> str:
    """Return an address without a name, a password or settings."""
    plain = URL.create("postgresql", host=url.host, port=url.port, database=url.database)
    return plain.render_as_string()


def _secrets(url: URL) -> tuple[str, ...]:
    named = (_plain(url, name) for name in url.query if "pass" in name)
    return tuple(secret for secret in (url.password, *named) if secret)
