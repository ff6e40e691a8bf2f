"""Tables of older stores are brought up to date, step by step and by one process at a time."""

import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from tests.store.factories import add_users, event, item, slate, threads, user
from variegate.errors import StoreError
from variegate.store import ITEMS_HISTORY, PriorRow, Reader, Store
from variegate.store.migrations import MIGRATIONS, Migration, migrate
from variegate.store.rows import EventRow, ItemRow, KeyRow, ReplicaRow, SlateRow, UserRow
from variegate.store.schema import TABLES, VERSION
from variegate.store.store import open_database

#: The tables of version 1, which stores were created with
FIRST_TABLES = Migration(
    1,
    (
        """CREATE TABLE meta ("key" {text} NOT NULL PRIMARY KEY, value TEXT)""",
        """CREATE TABLE users (
            id {text} NOT NULL PRIMARY KEY, policy {text} NOT NULL, state {bytes},
            shown {bytes} NOT NULL, slates BIGINT NOT NULL, version BIGINT NOT NULL,
            created {real} NOT NULL, changed {real} NOT NULL)""",
        """CREATE TABLE slates (
            id {text} NOT NULL PRIMARY KEY, user_id {text} NOT NULL, policy {text} NOT NULL,
            created {real} NOT NULL, deadline {real}, closed BOOLEAN NOT NULL, k INTEGER NOT NULL,
            items TEXT NOT NULL, features {bytes} NOT NULL, propensities TEXT,
            spread TEXT NOT NULL, rewards TEXT NOT NULL, taught TEXT NOT NULL,
            reports TEXT NOT NULL, earned {real} NOT NULL, answered BOOLEAN NOT NULL)""",
        "CREATE INDEX slates_by_user ON slates (user_id, id)",
        """CREATE INDEX slates_open ON slates (deadline)
            WHERE closed IS {false} AND deadline IS NOT NULL""",
        """CREATE INDEX slates_answered ON slates (policy, user_id, answered)
            WHERE answered IS {true}""",
        """CREATE TABLE events (
            seq {sequence}, time {real} NOT NULL, user_id {text} NOT NULL, slate_id {text},
            kind {text} NOT NULL, body TEXT NOT NULL)""",
        "CREATE INDEX events_by_user ON events (user_id, seq)",
        """CREATE TABLE items (
            "row" INTEGER NOT NULL PRIMARY KEY, id {text} NOT NULL UNIQUE,
            retired BOOLEAN NOT NULL, data TEXT)""",
        """CREATE TABLE keys (
            id {text} NOT NULL PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL,
            hash TEXT NOT NULL, created {real} NOT NULL, revoked {real})""",
    ),
)
STORAGE = (
    "ALTER TABLE users ALTER COLUMN state SET STORAGE EXTERNAL",
    "ALTER TABLE slates ALTER COLUMN features SET STORAGE EXTERNAL",
)

#: What a database knows of its columns and of its indexes
DESCRIPTIONS = {
    "sqlite": (
        """SELECT found.name, one.cid, one.name, one.type, one."notnull", one.dflt_value, one.pk
            FROM sqlite_master AS found JOIN pragma_table_info(found.name) AS one
            WHERE found.type = 'table'""",
        """SELECT found.name, one.name, one."unique", one.origin, one.partial, part.seqno,
            part.name, substr(made.sql, instr(made.sql, ' WHERE '))
            FROM sqlite_master AS found JOIN pragma_index_list(found.name) AS one
            JOIN pragma_index_info(one.name) AS part
            LEFT JOIN sqlite_master AS made ON made.name = one.name AND one.partial
            WHERE found.type = 'table'""",
    ),
    "postgresql": (
        """SELECT found.relname, one.attnum, one.attname, format_type(one.atttypid, one.atttypmod),
            one.attnotnull, one.attcollation::int, one.attstorage::text,
            pg_get_expr(made.adbin, made.adrelid)
            FROM pg_class AS found JOIN pg_attribute AS one ON one.attrelid = found.oid
            LEFT JOIN pg_attrdef AS made ON made.adrelid = found.oid AND made.adnum = one.attnum
            WHERE found.relkind = 'r' AND one.attnum > 0
            AND found.relnamespace = 'public'::regnamespace""",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    ),
}


@pytest.fixture(params=["sqlite_url", "new_postgres_url"], ids=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of a database without any table."""
    address: str = request.getfixturevalue(request.param)
    return address


def run(url: str, *statements: str) -> list[list[tuple[Any, ...]]]:
    """Run statements, and return the rows of each."""
    database = open_database(url, create=True)
    with database.writing() as transaction:
        found = []
        for statement in statements:
            transaction.change(statement)
            rows = transaction._cursor.description and transaction._cursor.fetchall()
            found.append([tuple(row) for row in rows or ()])
    database.close()
    return found


def described(url: str) -> list[list[tuple[Any, ...]]]:
    """Return the description of all tables of a database."""
    return [sorted(rows, key=repr) for rows in run(url, *DESCRIPTIONS[url.partition(":")[0]])]


def create_old_store(url: str, version: int) -> None:
    """Create the store that the code of an earlier version created."""
    database = open_database(url, create=True)
    with database.writing() as transaction:
        storage = STORAGE if url.startswith("postgresql") else ()
        for statement in (*FIRST_TABLES.statements, *storage):
            transaction.change(database.sql.format(statement))
        transaction.change(database.sql.set_meta, "schema", "1")
    migrate(database, steps=[FIRST_TABLES, *MIGRATIONS][:version])
    database.close()
    assert version_of(url) == version


def version_of(url: str) -> int:
    (found,) = run(url, "SELECT value FROM meta WHERE key IN ('schema', 'tables')")
    return max(int(value) for (value,) in found)


#: A step of a later version
LATER = (
    *MIGRATIONS,
    Migration(
        VERSION + 1,
        ("ALTER TABLE users ADD COLUMN country TEXT", "UPDATE users SET country = 'of ' || id"),
    ),
)
FAILING = Migration(
    VERSION + 1,
    ("CREATE TABLE half (id INTEGER)", "DROP TABLE users", "SELECT * FROM nowhere"),
)


def migrate_to(url: str, *steps: Migration) -> None:
    database = open_database(url, create=False)
    try:
        migrate(database, steps=steps)
    finally:
        database.close()


def test_steps_lead_to_the_tables_of_a_new_store(
    url: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    create_old_store(url, 1)
    Store.open(url).close()
    if url.startswith("sqlite"):
        new = f"sqlite:///{tmp_path_factory.mktemp('new') / 'store.db'}"
        Store.open(new).close()
    else:
        new = request.getfixturevalue("postgres_url")

    assert described(url) == described(new)
    assert version_of(url) == version_of(new) == VERSION == MIGRATIONS[-1].number


def test_rows_have_the_columns_of_their_table(empty_store: Store) -> None:
    rows: dict[str, Any] = {
        "users": UserRow,
        "slates": SlateRow,
        "events": EventRow,
        "items": ItemRow,
        "keys": KeyRow,
        "priors": PriorRow,
        "replicas": ReplicaRow,
    }
    with empty_store._database.reading() as transaction:
        found = transaction.rows(transaction.sql.table_columns)

    assert {name for name, _column in found} >= TABLES
    for table, row in rows.items():
        assert {column for name, column in found if name == table} == {*row._fields}


def test_step_keeps_the_contents(url: str) -> None:
    with Store.open(url) as store:
        add_users(store, "ada", "bob")
        with store.batch() as batch:
            batch.add_slates([slate()])
            batch.add_events([event()])

    database = open_database(url, create=False)
    migrate(database, steps=LATER)
    with database.reading() as transaction:
        rows = transaction.rows("SELECT id, country FROM users ORDER BY id")
        counted = Reader(transaction).counts()
    database.close()

    assert [tuple(row) for row in rows] == [("ada", "of ada"), ("bob", "of bob")]
    assert counted == {"users": 2, "slates": 1, "answered": 0, "events": 1}
    assert version_of(url) == VERSION + 1


def test_store_without_priors_opens_and_takes_one(url: str) -> None:
    create_old_store(url, 1)

    with Store.open(url) as store:
        add_users(store, "ada")
        with store.batch() as batch:
            batch.save_prior(PriorRow("lmdp", data=b"one", users=120, fitted=5.0))
        with store.reading() as reader:
            assert reader.users(["ada"]) == {"ada": user("ada")}
            assert reader.priors() == {"lmdp": PriorRow("lmdp", 1, b"one", 120, 5.0)}

    assert version_of(url) == VERSION


BEFORE_TERMS = """
    INSERT INTO slates (id, user_id, policy, created, deadline, closed, k, items, features, spread,
    rewards, taught, reports, earned, answered) VALUES
    ('{}', 'ada', 'lmdh', 5.0, 9.0, {}, 2, '[]', '', '{{"x":0.5}}', '{}', '{}', '{{}}', 0.5, {})
"""


def test_store_without_terms_keeps_acknowledged_feedback(url: str) -> None:
    create_old_store(url, 2)
    rows = [
        ("summed", False, "[0.5,null]", "[false,false]", True),
        ("partly", False, "[1.0,0.25]", "[true,false]", True),
        ("first", False, "[0.5,null]", "[true,false]", True),
        ("silent", False, "[null,null]", "[false,false]", False),
        ("closed", True, "[0.5,null]", "[false,false]", True),
    ]
    run(url, *(BEFORE_TERMS.format(*row) for row in rows))

    with Store.open(url) as store, store.reading() as reader:
        found = reader.slates([row[0] for row in rows])
        due = reader.due_slates(9.0, 9)
    new = {name: (row.terms, row.due, row.request) for name, row in found.items()}
    blank = {name for name, columns in new.items() if columns == ({}, None, None)}
    assert blank == {"first", "silent", "closed"}
    assert found["summed"].terms == found["partly"].terms == {"aggregation": "sum"}
    assert due == [("partly", "ada"), ("summed", "ada")]
    assert {tuple(row.diversity.items()) for row in found.values()} == {(("x", 0.5),)}


def test_history_of_items_starts_with_their_present_state(url: str) -> None:
    create_old_store(url, 4)
    run(
        url,
        "INSERT INTO items VALUES (1, 'm1', TRUE, NULL), (2, 'm2', FALSE, NULL)",
        "INSERT INTO meta VALUES ('items_revision', '7')",
    )

    with Store.open(url) as store, store.reading() as reader:
        assert reader.meta(ITEMS_HISTORY) == "7"
        assert reader.items_at(6) == []
        assert reader.items_at(7) == reader.items() == [item(1, "m1", retired=True), item(2, "m2")]


def test_history_of_a_store_without_changes_is_complete(empty_store: Store) -> None:
    with empty_store.reading() as reader:
        assert reader.meta(ITEMS_HISTORY) is None


def test_store_of_a_later_version_is_refused(url: str) -> None:
    with Store.open(url) as store:
        add_users(store, "ada")
    migrate_to(url, *LATER)

    words = rf"a later version .* \(tables {VERSION + 1}, .* {VERSION}\): upgrade"
    with pytest.raises(StoreError, match=words):
        Store.open(url)

    assert version_of(url) == VERSION + 1


def test_code_of_the_version_before_a_step_goes_on_and_starts_again(url: str) -> None:
    with Store.open(url) as before:
        *known, later = LATER
        migrate_to(url, *known, later._replace(oldest=VERSION))
        add_users(before, "ada")
        before.ping()
        with Store.open(url) as again, again.reading() as reader:
            assert set(reader.users(["ada"])) == {"ada"}

    assert version_of(url) == VERSION + 1


def test_every_step_since_version_10_leaves_the_version_before_it_at_work() -> None:
    later = [step for step in MIGRATIONS if step.number >= 10]
    assert all(step.oldest == step.number - 1 for step in later)


def test_step_that_fails_changes_nothing(url: str) -> None:
    with Store.open(url) as store:
        add_users(store, "ada")
    before = described(url)

    with pytest.raises(StoreError, match="nowhere"):
        migrate_to(url, *MIGRATIONS, FAILING)

    assert described(url) == before
    with Store.open(url) as store, store.reading() as reader:
        assert reader.users(["ada"]) == {"ada": user("ada")}


def test_opening_again_changes_nothing(url: str) -> None:
    with Store.open(url) as store:
        add_users(store, "ada")

    with Store.open(url, create=False) as store, store.reading() as reader:
        assert reader.counts()["users"] == 1


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "old"])
def test_many_threads_open_one_store(url: str, is_new: bool) -> None:
    if not is_new:
        create_old_store(url, 1)

    def open_and_add(number: int) -> None:
        with Store.open(url) as store:
            add_users(store, f"user {number}")

    with threads(6) as start:
        opened = [start(partial(open_and_add, number)) for number in range(6)]

    assert [thread.result() for thread in opened] == [None] * 6
    with Store.open(url) as store, store.reading() as reader:
        assert reader.counts()["users"] == 6


OPENING = """
import sys
from variegate.store import Store
import psycopg, variegate.store.postgres
print("ready", flush=True)
sys.stdin.readline()
with Store.open(sys.argv[1]) as store, store.batch() as batch:
    batch.set_meta(sys.argv[2], "here")
"""


def test_processes_that_open_at_once_do_not_clash(url: str) -> None:
    names = ["first", "second"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPENING, url, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    ready = [process.stdout.readline() for process in processes if process.stdout]
    errors = [process.communicate("go\n", timeout=60)[1] for process in processes]

    assert ready == ["ready\n"] * 2
    assert errors == [""] * 2
    with Store.open(url, create=False) as store, store.reading() as reader:
        assert [reader.meta(name) for name in names] == ["here"] * 2
