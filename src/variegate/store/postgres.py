"""A store in a PostgreSQL database, for several processes and machines."""

from typing import Final

import psycopg
from sqlalchemy import URL, Connection, create_engine

from variegate.errors import StoreError
from variegate.store.database import PATIENCE, Database
from variegate.store.failures import Failures
from variegate.store.packing import Values
from variegate.store.transaction import Transaction

#: What no server may take longer for, in milliseconds, so that nothing hangs for ever
_TIME_LIMITS: Final = {
    "lock_timeout": int(1000 * PATIENCE),
    "statement_timeout": 30_000,
    "idle_in_transaction_session_timeout": 60_000,
}
#: Settings of libpq that an address may set otherwise
_CONNECTING: Final = {
    "application_name": "variegate",
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
}
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
    """

    def __init__(self, url: URL, *, durable: bool) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in _TIME_LIMITS.items())
        if not durable:
            options += " -c synchronous_commit=off"
        # What the address says comes last and wins.
        query = {**_CONNECTING, **url.query, "options": f"{options} {_plain(url, 'options')}"}
        engine = create_engine(
            url.set(drivername="postgresql+psycopg", query=query),
            paramstyle="format",
            isolation_level="READ COMMITTED",
            # A connection that died with the server is found out before a batch is lost to it.
            pool_pre_ping=True,
            pool_size=5,
            max_overflow=15,
            pool_timeout=PATIENCE,
            use_native_hstore=False,
            client_encoding="utf8",
            hide_parameters=True,
        )
        super().__init__(engine, Failures(_shown(url), psycopg, _secrets(url)))
        try:
            self._check_encoding()
        except BaseException:
            self.close()
            raise

    def _begin_writing(self, connection: Connection) -> None:
        connection.begin()  # the driver does so with the first statement

    def _begin_reading(self, connection: Connection) -> Connection:
        reading = connection.execution_options(isolation_level="REPEATABLE READ")
        reading.begin()
        return reading

    def _transaction(self, connection: Connection) -> Transaction:
        return PostgresTransaction(connection, self.statements, self._failures)

    def _begin_changing_tables(self, connection: Connection) -> None:
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_TABLES_LOCK,))

    def _abandon(self, connection: Connection, error: BaseException | None = None) -> None:
        super()._abandon(connection, error)
        # After a change of servers the old one may still answer, and refuse every write.
        if isinstance(error, StoreError):
            connection.invalidate()

    def _check_encoding(self) -> None:
        with self._connected() as connection:
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise self._failures.unusable(f"the database must be encoded in UTF8, is {encoding}")


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
