"""The steps from an empty database to the tables of today, each in a transaction of its own.

A step that was released never changes: databases that took it are out there. What a new version of
the tables needs is a new step at the end, and the same in `schema`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, inspect

from variegate.store.database import Database
from variegate.store.rows import SCHEMA
from variegate.store.schema import TABLES


@dataclass(frozen=True)
class Migration:
    """One step: the number of the version that it leads to, and what it does."""

    number: int
    apply: Callable[[Connection], None]


#: How each database calls what the steps need
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "sqlite": {
        "text": "TEXT",
        "bytes": "BLOB",
        "real": "DOUBLE",
        "counted": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "false": "0",
        "true": "1",
    },
    "postgresql": {
        "text": 'TEXT COLLATE "C"',
        "bytes": "BYTEA",
        "real": "DOUBLE PRECISION",
        "counted": "BIGSERIAL NOT NULL PRIMARY KEY",
        "false": "FALSE",
        "true": "TRUE",
    },
}

_FIRST_TABLES: Final = (
    """CREATE TABLE meta ("key" {text} NOT NULL PRIMARY KEY, value TEXT)""",
    """CREATE TABLE users (
        id {text} NOT NULL PRIMARY KEY, policy {text} NOT NULL, state {bytes},
        shown {bytes} NOT NULL, slates BIGINT NOT NULL, version BIGINT NOT NULL,
        created {real} NOT NULL, changed {real} NOT NULL)""",
    """CREATE TABLE slates (
        id {text} NOT NULL PRIMARY KEY, user_id {text} NOT NULL, policy {text} NOT NULL,
        created {real} NOT NULL, deadline {real}, closed BOOLEAN NOT NULL, k INTEGER NOT NULL,
        items TEXT NOT NULL, features {bytes} NOT NULL, propensities TEXT, spread TEXT NOT NULL,
        rewards TEXT NOT NULL, taught TEXT NOT NULL, reports TEXT NOT NULL,
        earned {real} NOT NULL, answered BOOLEAN NOT NULL)""",
    "CREATE INDEX slates_by_user ON slates (user_id, id)",
    """CREATE INDEX slates_open ON slates (deadline)
        WHERE closed IS {false} AND deadline IS NOT NULL""",
    """CREATE INDEX slates_answered ON slates (policy, user_id, answered)
        WHERE answered IS {true}""",
    """CREATE TABLE events (
        seq {counted}, time {real} NOT NULL, user_id {text} NOT NULL, slate_id {text},
        kind {text} NOT NULL, body TEXT NOT NULL)""",
    "CREATE INDEX events_by_user ON events (user_id, seq)",
    """CREATE TABLE items (
        "row" INTEGER NOT NULL PRIMARY KEY, id {text} NOT NULL UNIQUE, retired BOOLEAN NOT NULL,
        data TEXT)""",
    """CREATE TABLE keys (
        id {text} NOT NULL PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL,
        hash TEXT NOT NULL, created {real} NOT NULL, revoked {real})""",
)


#: Numbers as bytes do not get smaller, and PostgreSQL takes its time to find that out
_UNPRESSED: Final = (
    "ALTER TABLE users ALTER COLUMN state SET STORAGE EXTERNAL",
    "ALTER TABLE slates ALTER COLUMN features SET STORAGE EXTERNAL",
)


def _make_first_tables(connection: Connection) -> None:
    name = connection.dialect.name
    for statement in _FIRST_TABLES:
        connection.exec_driver_sql(statement.format_map(_WORDS[name]))
    for statement in _UNPRESSED if name == "postgresql" else ():
        connection.exec_driver_sql(statement)


_PRIORS: Final = """CREATE TABLE priors (
    policy {text} NOT NULL PRIMARY KEY, version BIGINT NOT NULL, data {bytes},
    users BIGINT NOT NULL, fitted {real} NOT NULL, turn {real} NOT NULL)"""


def _make_priors(connection: Connection) -> None:
    connection.exec_driver_sql(_PRIORS.format_map(_WORDS[connection.dialect.name]))


#: An open list with more positions that have not taught than positions without a reward was given
#: while rewards were summed: what was acknowledged of it must still teach. No other list of before
#: becomes due, since it is not known what it was given under.
_TERMS: Final = (
    "ALTER TABLE slates ADD COLUMN terms TEXT NOT NULL DEFAULT '{{}}'",
    "ALTER TABLE slates ADD COLUMN due {real}",
    "ALTER TABLE slates ADD COLUMN request {text}",
    """UPDATE slates SET terms = '{{"aggregation":"sum"}}', due = COALESCE(deadline, created)
        WHERE closed IS {false} AND answered IS {true}
        AND (LENGTH(taught) - LENGTH(REPLACE(taught, 'false', ''))) / 5
        > (LENGTH(rewards) - LENGTH(REPLACE(rewards, 'null', ''))) / 4""",
    "DROP INDEX slates_open",
    """CREATE INDEX slates_due ON slates (due) WHERE closed IS {false} AND due IS NOT NULL""",
    """CREATE UNIQUE INDEX slates_by_request ON slates (user_id, request)
        WHERE request IS NOT NULL""",
    "CREATE INDEX users_by_policy ON users (policy)",
)


def _add_terms(connection: Connection) -> None:
    for statement in _TERMS:
        connection.exec_driver_sql(statement.format_map(_WORDS[connection.dialect.name]))


#: `recounting` fills them when the store is opened
_SUMS: Final = (
    """CREATE TABLE sums (
        period BIGINT NOT NULL, part INTEGER NOT NULL, policy {text} NOT NULL, sums TEXT NOT NULL,
        PRIMARY KEY (period, part, policy))""",
    """CREATE TABLE user_sums (
        user_id {text} NOT NULL, policy {text} NOT NULL, sums TEXT NOT NULL,
        PRIMARY KEY (user_id, policy))""",
    "DROP INDEX slates_answered",
)


def _make_sums(connection: Connection) -> None:
    for statement in _SUMS:
        connection.exec_driver_sql(statement.format_map(_WORDS[connection.dialect.name]))


#: What the items were before is not known: their history begins with what they are now.
_ITEM_HISTORY: Final = (
    """CREATE TABLE item_changes (
        revision BIGINT NOT NULL, "row" INTEGER NOT NULL, id {text} NOT NULL,
        retired BOOLEAN NOT NULL, data TEXT, time {real} NOT NULL,
        PRIMARY KEY (revision, "row"))""",
    """INSERT INTO item_changes (revision, "row", id, retired, data, time)
        SELECT CAST(meta.value AS BIGINT), items."row", items.id, items.retired, items.data, 0
        FROM items JOIN meta ON meta."key" = 'items_revision'""",
    """INSERT INTO meta ("key", value)
        SELECT 'items_history', value FROM meta WHERE "key" = 'items_revision'
        AND EXISTS (SELECT 1 FROM items)""",
)


def _add_item_history(connection: Connection) -> None:
    for statement in _ITEM_HISTORY:
        connection.exec_driver_sql(statement.format_map(_WORDS[connection.dialect.name]))


_REPLICAS: Final = """CREATE TABLE replicas (
    id {text} NOT NULL PRIMARY KEY, host TEXT NOT NULL, pid BIGINT NOT NULL,
    configuration TEXT NOT NULL, seen {real} NOT NULL)"""


def _make_replicas(connection: Connection) -> None:
    connection.exec_driver_sql(_REPLICAS.format_map(_WORDS[connection.dialect.name]))


MIGRATIONS: Final = (
    Migration(1, _make_first_tables),
    Migration(2, _make_priors),
    Migration(3, _add_terms),
    Migration(4, _make_sums),
    Migration(5, _add_item_history),
    Migration(6, _make_replicas),
)


def migrate(
    database: Database, *, create: bool = True, steps: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring a database to the version of the last of `steps`.

    An empty one is filled only where `create` allows it. Raises StoreError for a database of a
    later version, and for one that holds something else.
    """
    with database.looking() as connection:
        version = _version(database, connection)
    if version > steps[-1].number:
        raise database.unusable(
            f"was written by a later version of variegate (tables {version}, this one knows "
            f"{steps[-1].number}): upgrade variegate"
        )
    if version == 0 and not create:
        raise database.unusable("there is no store here")
    for step in steps[version:]:
        with database.changing_tables() as connection:
            # Another process may have taken it meanwhile.
            if _version(database, connection) < step.number:
                step.apply(connection)
                kept = (SCHEMA, str(step.number))
                connection.exec_driver_sql(database.statements.set_meta, kept)


def _version(database: Database, connection: Connection) -> int:
    """Return the number of the last step that was taken, 0 for an empty database."""
    found = inspect(connection)
    names = TABLES.tables.keys() & found.get_table_names()
    if not names:
        return 0
    columns = {column["name"] for column in found.get_columns("meta")} if "meta" in names else set()
    if columns == {"key", "value"}:
        value = connection.exec_driver_sql(database.statements.meta, (SCHEMA,)).scalar()
        if value is not None and value.isdigit():
            return int(value)
    raise database.unusable("holds tables of something else: give the store a database of its own")
