"""The tables of a new store; `migrations` brings older stores to the same tables.

Statements are templates: `sql` has the words in which SQLite and PostgreSQL differ.
"""

from typing import Final

#: Version of these tables
VERSION: Final = 10

CREATE_TABLES: Final = (
    """CREATE TABLE meta ("key" {text} NOT NULL PRIMARY KEY, value TEXT)""",
    """CREATE TABLE users (
        id {text} NOT NULL PRIMARY KEY,
        policy {text} NOT NULL,
        state {bytes},
        shown {bytes} NOT NULL,
        slates BIGINT NOT NULL,
        version BIGINT NOT NULL,
        created {real} NOT NULL,
        changed {real} NOT NULL,
        consumed {bytes})""",
    "CREATE INDEX users_by_policy ON users (policy)",
    """CREATE TABLE slates (
        id {text} NOT NULL PRIMARY KEY,
        user_id {text} NOT NULL,
        policy {text} NOT NULL,
        created {real} NOT NULL,
        deadline {real},
        closed BOOLEAN NOT NULL,
        k INTEGER NOT NULL,
        items TEXT NOT NULL,
        features {bytes} NOT NULL,
        propensities TEXT,
        diversity TEXT NOT NULL,
        rewards TEXT NOT NULL,
        taught TEXT NOT NULL,
        reports TEXT NOT NULL,
        earned {real} NOT NULL,
        answered BOOLEAN NOT NULL,
        terms TEXT NOT NULL DEFAULT '{{}}',
        due {real},
        request {text})""",
    "CREATE INDEX slates_by_user ON slates (user_id, id)",
    # SQLite uses a partial index only for queries that repeat its condition.
    "CREATE INDEX slates_due ON slates (due) WHERE closed IS {false} AND due IS NOT NULL",
    """CREATE UNIQUE INDEX slates_by_request ON slates (user_id, request)
        WHERE request IS NOT NULL""",
    """CREATE TABLE events (
        seq {sequence},
        time {real} NOT NULL,
        user_id {text} NOT NULL,
        slate_id {text},
        kind {text} NOT NULL,
        body TEXT NOT NULL,
        request {text})""",
    "CREATE INDEX events_by_user ON events (user_id, seq)",
    """CREATE UNIQUE INDEX events_by_request ON events (user_id, request)
        WHERE request IS NOT NULL""",
    # What the removed part of a user's log taught, and what it adds to the running sums.
    """CREATE TABLE checkpoints (
        user_id {text} NOT NULL PRIMARY KEY,
        state {bytes},
        sums TEXT NOT NULL)""",
    # The running sums of `sums`, so that reports need not read the slates.
    """CREATE TABLE sums (
        period BIGINT NOT NULL,
        part INTEGER NOT NULL,
        policy {text} NOT NULL,
        sums TEXT NOT NULL,
        PRIMARY KEY (period, part, policy))""",
    """CREATE TABLE user_sums (
        user_id {text} NOT NULL,
        policy {text} NOT NULL,
        sums TEXT NOT NULL,
        PRIMARY KEY (user_id, policy))""",
    """CREATE TABLE items (
        "row" INTEGER NOT NULL PRIMARY KEY,
        id {text} NOT NULL UNIQUE,
        retired BOOLEAN NOT NULL,
        data TEXT)""",
    # Every change of an item, so that the items of any revision can be read.
    """CREATE TABLE item_changes (
        revision BIGINT NOT NULL,
        "row" INTEGER NOT NULL,
        id {text} NOT NULL,
        retired BOOLEAN NOT NULL,
        data TEXT,
        time {real} NOT NULL,
        PRIMARY KEY (revision, "row"))""",
    """CREATE TABLE priors (
        policy {text} NOT NULL PRIMARY KEY,
        version BIGINT NOT NULL,
        data {bytes},
        users BIGINT NOT NULL,
        fitted {real} NOT NULL,
        turn {real} NOT NULL)""",
    """CREATE TABLE replicas (
        id {text} NOT NULL PRIMARY KEY,
        host TEXT NOT NULL,
        pid BIGINT NOT NULL,
        configuration TEXT NOT NULL,
        seen {real} NOT NULL)""",
    """CREATE TABLE keys (
        id {text} NOT NULL PRIMARY KEY,
        name TEXT NOT NULL,
        role TEXT NOT NULL,
        hash TEXT NOT NULL,
        created {real} NOT NULL,
        revoked {real})""",
)

#: Turns compression off for bytes that do not get smaller; PostgreSQL only
SET_STORAGE: Final = (
    "ALTER TABLE users ALTER COLUMN state SET STORAGE EXTERNAL",
    "ALTER TABLE slates ALTER COLUMN features SET STORAGE EXTERNAL",
)

#: Every table, to distinguish tables of another application from an empty database
TABLES: Final = frozenset(
    statement.split()[2] for statement in CREATE_TABLES if statement.startswith("CREATE TABLE")
)
