"""The tables as SQLAlchemy sees them; `migrations` makes them, and a test holds the two equal."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

TABLES = MetaData()

# PostgreSQL sorts text by the language of its database; ids must sort by their characters, as
# Python and SQLite do.
_text = Text().with_variant(Text(collation="C"), "postgresql")
# SQLite counts up only in a column that is called INTEGER.
_counted = BigInteger().with_variant(Integer(), "sqlite")

meta = Table("meta", TABLES, Column("key", _text, primary_key=True), Column("value", Text))

users = Table(
    "users",
    TABLES,
    Column("id", _text, primary_key=True),
    Column("policy", _text, nullable=False),
    Column("state", LargeBinary),
    Column("shown", LargeBinary, nullable=False),
    Column("slates", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("created", Double, nullable=False),
    Column("changed", Double, nullable=False),
)

Index("users_by_policy", users.c.policy)

slates = Table(
    "slates",
    TABLES,
    Column("id", _text, primary_key=True),
    Column("user_id", _text, nullable=False),
    Column("policy", _text, nullable=False),
    Column("created", Double, nullable=False),
    Column("deadline", Double),
    Column("closed", Boolean, nullable=False),
    Column("k", Integer, nullable=False),
    Column("items", Text, nullable=False),
    Column("features", LargeBinary, nullable=False),
    Column("propensities", Text),
    Column("spread", Text, nullable=False),
    Column("rewards", Text, nullable=False),
    Column("taught", Text, nullable=False),
    Column("reports", Text, nullable=False),
    Column("earned", Double, nullable=False),
    Column("answered", Boolean, nullable=False),
    Column("terms", Text, nullable=False, server_default="{}"),
    Column("due", Double),
    Column("request", _text),
)
Index("slates_by_user", slates.c.user_id, slates.c.id)

#: Which slates are open, which will close by themselves, and which have a name for their request:
#: SQLite takes a partial index only for a query that says the same
is_open = slates.c.closed.is_(False)
will_close = is_open & slates.c.due.is_not(None)
has_request = slates.c.request.is_not(None)
Index("slates_due", slates.c.due, sqlite_where=will_close, postgresql_where=will_close)
Index(
    "slates_by_request",
    slates.c.user_id,
    slates.c.request,
    unique=True,
    sqlite_where=has_request,
    postgresql_where=has_request,
)

# Sums over lists, kept as they change: a report never reads the lists themselves. See `sums`.
sums = Table(
    "sums",
    TABLES,
    Column("period", BigInteger, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("policy", _text, primary_key=True),
    Column("sums", Text, nullable=False),
)

user_sums = Table(
    "user_sums",
    TABLES,
    Column("user_id", _text, primary_key=True),
    Column("policy", _text, primary_key=True),
    Column("sums", Text, nullable=False),
)

events = Table(
    "events",
    TABLES,
    Column("seq", _counted, primary_key=True),
    Column("time", Double, nullable=False),
    Column("user_id", _text, nullable=False),
    Column("slate_id", _text),
    Column("kind", _text, nullable=False),
    Column("body", Text, nullable=False),
    sqlite_autoincrement=True,
)
Index("events_by_user", events.c.user_id, events.c.seq)

items = Table(
    "items",
    TABLES,
    Column("row", Integer, primary_key=True, autoincrement=False),
    Column("id", _text, nullable=False, unique=True),
    Column("retired", Boolean, nullable=False),
    Column("data", Text),
)

#: Every change of an item, so that the items of any revision can be had
item_changes = Table(
    "item_changes",
    TABLES,
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("row", Integer, primary_key=True, autoincrement=False),
    Column("id", _text, nullable=False),
    Column("retired", Boolean, nullable=False),
    Column("data", Text),
    Column("time", Double, nullable=False),
)

priors = Table(
    "priors",
    TABLES,
    Column("policy", _text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("data", LargeBinary),
    Column("users", BigInteger, nullable=False),
    Column("fitted", Double, nullable=False),
    Column("turn", Double, nullable=False),
)

replicas = Table(
    "replicas",
    TABLES,
    Column("id", _text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("configuration", Text, nullable=False),
    Column("seen", Double, nullable=False),
)

keys = Table(
    "keys",
    TABLES,
    Column("id", _text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("revoked", Double),
)
