"""Tables come step by step, each whole, and no two processes take one at once."""

import subprocess
import sys
from functools import partial

import pytest
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.engine.interfaces import ReflectedIndex

from tests.store.making import add_users, event, item, slate, threads, user
from variegate.errors import StoreError
from variegate.store import ITEMS_HISTORY, PriorRow, Reader, Store
from variegate.store.engine import open_database
from variegate.store.migrations import MIGRATIONS, Migration, migrate
from variegate.store.schema import TABLES


@pytest.fixture(params=["sqlite_url", "new_postgres_url"], ids=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of a database without any table."""
    address: str = request.getfixturevalue(request.param)
    return address


def plain_engine(url: str) -> Engine:
    plain = url.partition("?durability")[0]
    return create_engine(plain.replace("postgresql:", "postgresql+psycopg:"))


def described(url: str) -> dict[str, object]:
    """Return all that a database tells of its tables."""
    engine = plain_engine(url)
    found = inspect(engine)
    tables: dict[str, object] = {
        name: (
            [(c["name"], repr(c["type"]), c["nullable"]) for c in found.get_columns(name)],
            found.get_pk_constraint(name)["constrained_columns"],
            sorted(map(told, found.get_indexes(name))),
            [constraint["column_names"] for constraint in found.get_unique_constraints(name)],
        )
        for name in found.get_table_names()
    }
    engine.dispose()
    return tables


def told(index: ReflectedIndex) -> tuple[str, ...]:
    only_where = [f"{name} {value}" for name, value in index["dialect_options"].items()]
    return (str(index["name"]), str(index["column_names"]), *only_where)


def add_country(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE users ADD COLUMN country TEXT")
    connection.exec_driver_sql("UPDATE users SET country = 'of ' || id")


def fail(connection: Connection) -> None:
    connection.exec_driver_sql("CREATE TABLE half (id INTEGER)")
    connection.exec_driver_sql("DROP TABLE users")
    connection.exec_driver_sql("SELECT * FROM nowhere")


LAST = MIGRATIONS[-1].number
#: The step that adds the history of items
ITEM_HISTORY = 5
LATER = (*MIGRATIONS, Migration(LAST + 1, add_country))


def version(url: str) -> str | None:
    database = open_database(url, create=False)
    with database.reading() as transaction:
        found = transaction.rows(database.statements.meta, "schema")[0][0]
    database.close()
    return str(found)


def test_steps_lead_to_the_tables_of_the_schema(url: str) -> None:
    Store.open(url).close()
    stepped = described(url)
    engine = plain_engine(url)
    with engine.begin() as connection:
        TABLES.drop_all(connection)
        TABLES.create_all(connection)
    engine.dispose()

    assert stepped == described(url)
    assert stepped.keys() == TABLES.tables.keys()


def test_step_keeps_what_is_there(url: str) -> None:
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
    assert version(url) == str(LAST + 1)


def test_store_from_before_priors_opens_and_takes_one(url: str) -> None:
    database = open_database(url, create=True)
    migrate(database, steps=MIGRATIONS[:1])
    database.close()
    assert version(url) == "1"

    with Store.open(url) as store:
        add_users(store, "ada")
        with store.batch() as batch:
            batch.save_prior(PriorRow("lmdp", data=b"one", users=120, fitted=5.0))
        with store.reading() as reader:
            assert reader.users(["ada"]) == {"ada": user("ada")}
            assert reader.priors() == {"lmdp": PriorRow("lmdp", 1, b"one", 120, 5.0)}

    assert version(url) == str(LAST)


BEFORE_TERMS = """
    INSERT INTO slates (id, user_id, policy, created, deadline, closed, k, items, features, spread,
    rewards, taught, reports, earned, answered) VALUES
    (:id, 'ada', 'lmdh', 5.0, 9.0, :closed, 2, '[]', '', '{}', :rewards, :taught, '{}', 0.5, :said)
"""


def test_store_from_before_terms_keeps_what_was_acknowledged(url: str) -> None:
    database = open_database(url, create=True)
    migrate(database, steps=MIGRATIONS[:2])
    with database.changing_tables() as connection:
        for name, closed, rewards, taught, said in [
            ("summed", False, "[0.5,null]", "[false,false]", True),
            ("partly", False, "[1.0,0.25]", "[true,false]", True),
            ("first", False, "[0.5,null]", "[true,false]", True),
            ("silent", False, "[null,null]", "[false,false]", False),
            ("closed", True, "[0.5,null]", "[false,false]", True),
        ]:
            row = {"id": name, "closed": closed, "rewards": rewards, "taught": taught, "said": said}
            connection.execute(text(BEFORE_TERMS), row)
    database.close()

    with Store.open(url) as store, store.reading() as reader:
        rows = reader.slates(["summed", "partly", "first", "silent", "closed"])
        due = reader.due(9.0, 9)
    new = {name: (row.terms, row.due, row.request) for name, row in rows.items()}
    blank = {name for name, columns in new.items() if columns == ({}, None, None)}
    assert blank == {"first", "silent", "closed"}
    assert rows["summed"].terms == rows["partly"].terms == {"aggregation": "sum"}
    assert due == [("partly", "ada"), ("summed", "ada")]


ITEM_BEFORE_HISTORY = "INSERT INTO items VALUES (:row, :id, :retired, :data)"


def test_history_of_items_begins_with_what_they_are(url: str) -> None:
    database = open_database(url, create=True)
    migrate(database, steps=[step for step in MIGRATIONS if step.number < ITEM_HISTORY])
    with database.changing_tables() as connection:
        for name, retired in [("m1", True), ("m2", False)]:
            row = {"row": int(name[1]), "id": name, "retired": retired, "data": None}
            connection.execute(text(ITEM_BEFORE_HISTORY), row)
        connection.execute(text("INSERT INTO meta VALUES ('items_revision', '7')"))
    database.close()

    with Store.open(url) as store, store.reading() as reader:
        assert reader.meta(ITEMS_HISTORY) == "7"
        assert reader.items_at(6) == []
        assert reader.items_at(7) == reader.items() == [item(1, "m1", retired=True), item(2, "m2")]


def test_history_of_a_store_without_changes_is_whole(url: str) -> None:
    with Store.open(url) as store, store.reading() as reader:
        assert reader.meta(ITEMS_HISTORY) is None


def test_store_of_a_later_version_is_refused(url: str) -> None:
    with Store.open(url) as store:
        add_users(store, "ada")
    database = open_database(url, create=False)
    migrate(database, steps=LATER)
    database.close()

    told = rf"a later version .* \(tables {LAST + 1}, .* {LAST}\): upgrade"
    with pytest.raises(StoreError, match=told):
        Store.open(url)

    assert version(url) == str(LAST + 1)


def test_step_that_fails_changes_nothing(url: str) -> None:
    with Store.open(url) as store:
        add_users(store, "ada")
    before = described(url)

    database = open_database(url, create=False)
    with pytest.raises(StoreError, match="nowhere"):
        migrate(database, steps=(*MIGRATIONS, Migration(LAST + 1, fail)))
    database.close()

    assert described(url) == before
    with Store.open(url) as store, store.reading() as reader:
        assert reader.users(["ada"]) == {"ada": user("ada")}


def test_opening_again_changes_nothing(url: str) -> None:
    with Store.open(url) as store:
        add_users(store, "ada")

    with Store.open(url, create=False) as store, store.reading() as reader:
        assert reader.counts()["users"] == 1


def test_many_threads_open_one_new_store(url: str) -> None:
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
import variegate.store.engine, variegate.store.migrations, psycopg
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
    told = [process.communicate("go\n", timeout=60)[1] for process in processes]

    assert ready == ["ready\n"] * 2
    assert told == [""] * 2
    with Store.open(url, create=False) as store, store.reading() as reader:
        assert [reader.meta(name) for name in names] == ["here"] * 2
