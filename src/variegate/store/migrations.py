"""The steps from the tables of an older store to those of `schema`.

A step never changes, because stores exist that took it. A new version of the tables needs a new
step, the same change in `schema`, and a higher `VERSION`. From version 10 on, code of the version
before a step must be able to use the tables after it, so that replicas can be upgraded one by one.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from variegate.store.database import Database, Transaction
from variegate.store.failures import NO_STORE
from variegate.store.rows import SCHEMA, TABLES_VERSION
from variegate.store.schema import CREATE_TABLES, SET_STORAGE, TABLES, VERSION


class Migration(NamedTuple):
    """A step: the version that it leads to, and its statements.

    Parameters
    ----------
    oldest
        The oldest version of the code that can use the tables after it, if not its own.
    """

    number: int
    statements: tuple[str, ...]
    oldest: int | None = None


MIGRATIONS: Final = (
    Migration(
        2,
        (
            """CREATE TABLE priors (
                policy {text} NOT NULL PRIMARY KEY, version BIGINT NOT NULL, data {bytes},
                users BIGINT NOT NULL, fitted {real} NOT NULL, turn {real} NOT NULL)""",
        ),
    ),
    Migration(
        3,
        (
            "ALTER TABLE slates ADD COLUMN terms TEXT NOT NULL DEFAULT '{{}}'",
            "ALTER TABLE slates ADD COLUMN due {real}",
            "ALTER TABLE slates ADD COLUMN request {text}",
            # An open slate with more positions that were not learnt than positions without a
            # reward was created while rewards were summed: its acknowledged feedback must still be
            # learnt. No other slate becomes due, because its terms are not known.
            """UPDATE slates
                SET terms = '{{"aggregation":"sum"}}', due = COALESCE(deadline, created)
                WHERE closed IS {false} AND answered IS {true}
                AND (LENGTH(taught) - LENGTH(REPLACE(taught, 'false', ''))) / 5
                > (LENGTH(rewards) - LENGTH(REPLACE(rewards, 'null', ''))) / 4""",
            "DROP INDEX slates_open",
            "CREATE INDEX slates_due ON slates (due) WHERE closed IS {false} AND due IS NOT NULL",
            """CREATE UNIQUE INDEX slates_by_request ON slates (user_id, request)
                WHERE request IS NOT NULL""",
            "CREATE INDEX users_by_policy ON users (policy)",
        ),
    ),
    # `sums.ensure_sums` fills these tables when the store is opened.
    Migration(
        4,
        (
            """CREATE TABLE sums (
                period BIGINT NOT NULL, part INTEGER NOT NULL, policy {text} NOT NULL,
                sums TEXT NOT NULL, PRIMARY KEY (period, part, policy))""",
            """CREATE TABLE user_sums (
                user_id {text} NOT NULL, policy {text} NOT NULL, sums TEXT NOT NULL,
                PRIMARY KEY (user_id, policy))""",
            "DROP INDEX slates_answered",
        ),
    ),
    # The earlier states of items are not known: the history starts with their present state.
    Migration(
        5,
        (
            """CREATE TABLE item_changes (
                revision BIGINT NOT NULL, "row" INTEGER NOT NULL, id {text} NOT NULL,
                retired BOOLEAN NOT NULL, data TEXT, time {real} NOT NULL,
                PRIMARY KEY (revision, "row"))""",
            """INSERT INTO item_changes (revision, "row", id, retired, data, time)
                SELECT CAST(meta.value AS BIGINT), items."row", items.id, items.retired, items.data,
                0 FROM items JOIN meta ON meta."key" = 'items_revision'""",
            """INSERT INTO meta ("key", value)
                SELECT 'items_history', value FROM meta WHERE "key" = 'items_revision'
                AND EXISTS (SELECT 1 FROM items)""",
        ),
    ),
    Migration(
        6,
        (
            """CREATE TABLE replicas (
                id {text} NOT NULL PRIMARY KEY, host TEXT NOT NULL, pid BIGINT NOT NULL,
                configuration TEXT NOT NULL, seen {real} NOT NULL)""",
        ),
    ),
    Migration(7, ("ALTER TABLE slates RENAME COLUMN spread TO diversity",)),
    Migration(
        8,
        (
            "ALTER TABLE users ADD COLUMN consumed {bytes}",
            "ALTER TABLE events ADD COLUMN request {text}",
            """CREATE UNIQUE INDEX events_by_request ON events (user_id, request)
                WHERE request IS NOT NULL""",
        ),
    ),
    # The tables stay as they are, but processes of earlier versions must stop writing: they do not
    # increment a user's version with every change of a slate.
    Migration(9, ()),
    # Without checkpoints, which no store has at first, the tables are those of version 9;
    # `Batch.require_tables` comes before the first one.
    Migration(
        10,
        (
            """CREATE TABLE checkpoints (
                user_id {text} NOT NULL PRIMARY KEY, state {bytes}, sums TEXT NOT NULL)""",
        ),
        oldest=9,
    ),
)


def migrate(
    database: Database[Any], *, create: bool = True, steps: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring a database to the version of the last of `steps`, each in its own transaction.

    Tables are created in an empty database only if `create` is true. Raises StoreError for a
    database of a later version, and for one that holds something else.
    """
    with database.reading() as transaction:
        version, oldest = _version(database, transaction)
    if oldest > steps[-1].number:
        raise database.unusable(
            f"was written by a later version of variegate (tables {oldest}, this one knows "
            f"{steps[-1].number}): upgrade variegate"
        )
    if version == 0:
        if not create:
            raise database.unusable(NO_STORE)
        storage = SET_STORAGE if database.sql.has_parts else ()
        _apply(database, Migration(VERSION, CREATE_TABLES + storage))
        version = VERSION
    for step in steps:
        if step.number > version:
            _apply(database, step)


def _apply(database: Database[Any], step: Migration) -> None:
    with database.changing_tables() as transaction:
        # Another process may have done it meanwhile.
        if _version(database, transaction)[0] < step.number:
            for statement in step.statements:
                transaction.change(database.sql.format(statement))
            oldest = step.number if step.oldest is None else step.oldest
            transaction.change(database.sql.set_meta, SCHEMA, str(oldest))
            transaction.change(database.sql.set_meta, TABLES_VERSION, str(step.number))


def _version(database: Database[Any], transaction: Transaction) -> tuple[int, int]:
    """Return the version of the tables, and the oldest version of the code that can use them.

    Both are 0 for an empty database.
    """
    found = transaction.rows(database.sql.table_columns)
    if TABLES.isdisjoint(table for table, _column in found):
        return 0, 0
    if {column for table, column in found if table == "meta"} == {"key", "value"}:
        oldest, version = (
            int(value) if value is not None and value.isdigit() else 0
            for key in (SCHEMA, TABLES_VERSION)
            for (value,) in transaction.rows(database.sql.meta, key) or [(None,)]
        )
        if oldest:
            # Before version 10 there was one number for both.
            return max(version, oldest), oldest
    raise database.unusable("holds tables of another application: use a database of its own")
