"""Every statement of the store, written once and put into the words of one database at opening.

A batch is the hot path, and what SQLAlchemy does for each run of a statement (look it up, sort its
parameters, wrap its rows) costs more than SQLite's own work on a row. So the statements are
compiled here, and run as plain text with their parameters as tuples, in the order in which they
stand in the text: a table's columns in their order for what is written, then what is compared.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    JSON,
    ColumnElement,
    Double,
    Select,
    Table,
    Text,
    any_,
    bindparam,
    cast,
    column,
    delete,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import Executable
from sqlalchemy.sql.selectable import Subquery
from sqlalchemy.types import BigInteger, Integer, TypeEngine

from variegate.store import schema
from variegate.store.rows import to_json
from variegate.store.schema import (
    events,
    item_changes,
    items,
    keys,
    meta,
    priors,
    replicas,
    slates,
    sums,
    user_sums,
    users,
)

#: Names the locks of the parts that sums are kept in
_LOCKS: Final = 0x7661726
#: What a list adds to the sums, in the order in which `sums.kept_outcome` takes it
_outcome: Final = (
    slates.c.policy,
    slates.c.created,
    slates.c.answered,
    slates.c.earned,
    slates.c.rewards,
    slates.c.spread,
)


class Saving(NamedTuple):
    """A statement that writes rows, and their columns; see `running_sums.save_rows`."""

    text: str
    columns: tuple[str, ...]


class SumStatements:
    """The statements as text; each says in a comment what it is given.

    Parameters
    ----------
    text
        Puts a statement into the words of the database.
    insert_or
        Makes the statement that adds a row of a table, or does something else where it is there.
    among
        Tells whether a column is one of many, of a type.
    is_postgres
        Whether others may write at the same time.
    """

    def __init__(
        self,
        text: Callable[[Executable], str],
        insert_or: Callable[[Table], Any],
        among: Callable[..., ColumnElement[bool]],
        *,
        is_postgres: bool,
    ) -> None:
        self._text = text
        self.has_parts: Final = is_postgres
        self._for_sums(insert_or, among)
        self._for_users(insert_or, among)
        self._for_history()
        #: Only one at a time may change the sums of a part; given the part
        self.lock: Final = f"SELECT pg_advisory_xact_lock({_LOCKS}, %s)"
        #: Nobody changes anything that is counted; SQLite has one writer anyway
        self.lock_all: Final = (
            "SET LOCAL lock_timeout = '10min'",
            "LOCK TABLE users, slates, events, sums, user_sums IN SHARE ROW EXCLUSIVE MODE",
        )

    def _for_sums(
        self, insert_or: Callable[[Table], Any], among: Callable[..., ColumnElement[bool]]
    ) -> None:
        row = (sums.c.policy, sums.c.period, sums.c.sums)
        part = sums.c.part == bindparam("part", type_=Integer())
        self.of_part = self._text(
            select(*row).where(part, among(sums.c.period, BigInteger))
        )  # part, periods
        self.since = self._text(
            select(*row).where(sums.c.period >= bindparam("period", type_=BigInteger()))
        )  # period
        self.of_period = self._text(
            select(*row).where(sums.c.period == bindparam("period", type_=BigInteger()))
        )  # period
        self.save = self._saving(sums, insert_or)  # rows: period, part, policy, sums
        which = (sums.c.period, sums.c.part, sums.c.policy)
        # Whoever changes such a row waits for nobody, and nobody waits for them here.
        old = select(*which).where(
            sums.c.period >= literal_column("0"),
            sums.c.period < bindparam("period", type_=BigInteger()),
        )
        old = old.with_for_update(skip_locked=True)
        self.drop_before = self._text(delete(sums).where(tuple_(*which).in_(old)))  # period
        self.clear = (self._text(delete(sums)), self._text(delete(user_sums)))

    def _for_users(
        self, insert_or: Callable[[Table], Any], among: Callable[..., ColumnElement[bool]]
    ) -> None:
        row = (user_sums.c.user_id, user_sums.c.policy, user_sums.c.sums)
        self.of_users = self._text(select(*row).where(among(user_sums.c.user_id)))  # ids
        self.save_users = self._saving(user_sums, insert_or)  # rows: user, policy, sums
        mine = user_sums.c.user_id == bindparam("user")
        self.forget_user = self._text(delete(user_sums).where(mine))  # user
        self.users = self._text(select(func.count()).select_from(users))
        self.summed_users = self._text(select(func.count()).select_from(user_sums))

    def _saving(self, table: Table, insert_or: Callable[[Table], Any]) -> Saving:
        """Return what writes rows over those with their keys."""
        save = insert_or(table)
        if self.has_parts:
            # One statement for all rows: a server takes longer for each that it is sent. As JSON,
            # because the driver takes its time to write arrays of text with quotes in it.
            rows = func.json_to_recordset(cast(bindparam("rows", type_=Text()), JSON))
            given = rows.table_valued(*(column(c.name, c.type) for c in table.c), name="given")
            save = postgresql.insert(table).from_select(
                table.c.keys(), select(*given.render_derived(with_types=True).c)
            )
        text = self._text(
            save.on_conflict_do_update(
                index_elements=list(table.primary_key.columns),
                set_={"sums": save.excluded.sums},
            )
        )
        return Saving(text, tuple(table.c.keys()))

    def _for_history(self) -> None:
        limit = bindparam("limit", type_=BigInteger())
        self.lists_of_user = self._text(
            select(*_outcome).where(slates.c.user_id == bindparam("user"))
        )  # user
        order = (slates.c.user_id, slates.c.id)
        page = select(*order, *_outcome).where(
            tuple_(*order) > tuple_(bindparam("user"), bindparam("id"))
        )
        self.lists = self._text(
            page.order_by(*order).limit(limit).offset(_start)
        )  # user, id, limit
        happened = (events.c.seq, events.c.time, events.c.kind)
        self.events_of_user = self._text(
            select(*happened).where(events.c.user_id == bindparam("user"))
        )  # user
        log = select(*happened).where(events.c.seq > bindparam("seq", type_=BigInteger()))
        self.events = self._text(
            log.order_by(events.c.seq).limit(limit).offset(_start)
        )  # seq, limit
        latest = select(events.c.user_id).order_by(events.c.seq.desc())
        self.last_users = self._text(latest.limit(limit).offset(_start))  # limit


#: The columns that a fit changes
FITTING: Final = ("version", "data", "users", "fitted")


class PriorStatements:
    """The statements as text; each says in a comment what it is given.

    Parameters
    ----------
    text
        Puts a statement into the words of the database.
    insert_or
        Makes the statement that adds a row of a table, or does something else where it is there.
    """

    def __init__(
        self, text: Callable[[Executable], str], insert_or: Callable[[Table], Any]
    ) -> None:
        self.all: Final = text(select(priors).order_by(priors.c.policy))
        learnt = select(users.c.id, users.c.state).where(
            users.c.policy == bindparam("policy"),
            users.c.state.is_not(None),
            users.c.id > bindparam("id"),
        )
        limit = bindparam("limit", type_=BigInteger())
        self.states: Final = text(
            learnt.order_by(users.c.id).limit(limit).offset(_start)
        )  # policy, id, limit
        self.add: Final = text(insert_or(priors).on_conflict_do_nothing())  # a row
        known = priors.c.policy == bindparam("known")
        saved = update(priors).where(known, priors.c.version == bindparam("read"))
        self.save: Final = text(
            saved.values({name: bindparam(name) for name in FITTING})
        )  # FITTING, the policy, the version read
        turn = update(priors).where(known, priors.c.turn == bindparam("last"))
        self.take_turn: Final = text(turn.values(turn=bindparam("turn")))  # now, policy, last


#: The columns of a list that change after it was given
CHANGING: Final = ("closed", "rewards", "taught", "reports", "earned", "answered")
#: The columns of a list that another catalogue changes
REMADE: Final = ("closed", "features", "propensities")
#: The columns of a user that a list changes
SHOWING: Final = ("shown", "slates", "version", "changed")

_limit = bindparam("limit", type_=BigInteger())
# Said in the text itself: SQLite's LIMIT always has an OFFSET, which would be one more parameter.
_start: ColumnElement[int] = literal_column("0")


class Statements:
    """The statements of one database as text; each says in a comment what it is given."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._is_postgres = dialect.name == "postgresql"
        #: Puts ids into the one parameter that `_among` compares with
        self.listed: Callable[[Sequence[str | int]], object] = (
            list if self._is_postgres else to_json
        )
        self._for_reading()
        self._for_history()
        self._for_users()
        self._for_slates()
        self._for_the_rest()
        self.priors: Final = PriorStatements(self._text, self._insert_or)
        self.sums: Final = SumStatements(
            self._text, self._insert_or, self._among, is_postgres=self._is_postgres
        )
        #: The statements that give bytes
        users = (self.users, self.locked_users, self.first_users, self.next_users)
        lists = (self.slates, self.requested_slates, self.lists, self.history, self.older_history)
        self.with_bytes = frozenset((*users, *lists))

    def _for_reading(self) -> None:
        mine = select(users).where(self._among(users.c.id)).order_by(users.c.id)
        self.users = self._text(mine)  # ids
        self.locked_users = self._text(mine.with_for_update())  # ids
        self.known_users = self._text(select(users.c.id).where(self._among(users.c.id)))  # ids
        page = select(users).order_by(users.c.id).limit(_limit).offset(_start)
        self.first_users = self._text(page)  # limit
        self.next_users = self._text(page.where(users.c.id > bindparam("id")))  # id, limit
        self.items = self._text(select(items).order_by(items.c.row))
        latest = item_changes.alias()
        last = select(func.max(latest.c.revision)).where(
            latest.c.row == item_changes.c.row, latest.c.revision <= bindparam("revision")
        )
        changes = item_changes.c
        self.items_at = self._text(
            select(changes.row, changes.id, changes.retired, changes.data)
            .where(changes.revision == last.scalar_subquery())
            .order_by(changes.row)
        )  # revision
        self.item_changes = self._text(select(item_changes).order_by(changes.revision, changes.row))
        self.item_revisions = self._text(
            select(changes.revision).distinct().order_by(changes.revision)
        )
        self.keys = self._text(select(keys).order_by(keys.c.created, keys.c.id))
        value = select(meta.c.value)
        self.meta = self._text(value.where(meta.c.key == bindparam("key")))  # key
        clock = func.extract("epoch", func.clock_timestamp()) if self._is_postgres else null()
        named = (
            value.where(meta.c.key == bindparam(name)).scalar_subquery()
            for name in ("revision", "schema", "configuration")
        )
        self.head = self._text(select(*named, cast(clock, Double)))  # three keys
        self.replicas = self._text(select(replicas).order_by(replicas.c.id))

    def _for_history(self) -> None:
        mine = self._among(slates.c.id)
        self.slates = self._text(select(slates).where(mine))  # ids
        asked = self._among(slates.c.request, name="requests") & schema.has_request
        asked &= self._among(slates.c.user_id, name="users")
        self.requested_slates = self._text(
            union_all(select(slates).where(mine), select(slates).where(asked))
        )  # ids, requests, users
        self.owners = self._text(select(slates.c.id, slates.c.user_id).where(mine))  # ids
        history = (
            select(slates)
            .where(slates.c.user_id == bindparam("user"))
            .order_by(slates.c.id.desc())
            .limit(_limit)
            .offset(_start)
        )
        self.history = self._text(history)  # user, limit
        older = history.where(slates.c.id < bindparam("id"))
        self.older_history = self._text(older)  # user, id, limit
        later = select(slates).where(
            slates.c.user_id == bindparam("user"), slates.c.id > bindparam("id")
        )
        self.lists = self._text(
            later.order_by(slates.c.id).limit(_limit).offset(_start)
        )  # user, id, limit
        log = select(events).where(events.c.seq > bindparam("seq"))
        log = log.order_by(events.c.seq).limit(_limit).offset(_start)
        self.events = self._text(log)  # seq, limit
        mine = events.c.user_id == bindparam("user")
        self.user_events = self._text(log.where(mine))  # seq, user, limit
        due = select(slates.c.id, slates.c.user_id).where(
            schema.is_open, slates.c.due <= bindparam("now")
        )
        closing = select(slates.c.due).where(schema.will_close).limit(_limit).offset(_start)
        self.count_closing = self._text(_count(closing.subquery()))  # limit
        self.count_users = self._text(
            _count(users).where(users.c.policy == bindparam("policy"))
        )  # policy
        self.due = self._text(due.order_by(slates.c.due, slates.c.id).limit(_limit).offset(_start))

    def _for_users(self) -> None:
        # One order for all who insert several: two that wait for each other would stand still.
        self.add_user = self._text(self._insert_or(users).on_conflict_do_nothing())  # a row
        known = (users.c.id == bindparam("known"), users.c.version == bindparam("read"))
        saved = update(users).where(*known).values(_columns(users, but="id"))
        self.save_user = self._text(saved)  # a row without its id, the id, the version read
        shown = update(users).where(*known).values({name: bindparam(name) for name in SHOWING})
        self.save_shown = self._text(shown)  # SHOWING, the id, the version read
        self.forget_user = self._text(delete(users).where(users.c.id == bindparam("id")))  # id
        self.forget = tuple(
            self._text(delete(table).where(table.c.user_id == bindparam("id")))
            for table in (slates, events)
        )  # id

    def _for_slates(self) -> None:
        self.add_slate = self._text(insert(slates).values(_columns(slates)))
        changed = update(slates).where(slates.c.id == bindparam("known"))
        self.change_slate = self._text(
            changed.values({name: bindparam(name) for name in CHANGING})
        )  # CHANGING, id
        remade = update(slates).where(slates.c.id == bindparam("known"))
        self.remake_slate = self._text(
            remade.values({name: bindparam(name) for name in REMADE})
        )  # REMADE, id
        self.change_terms = self._text(changed.values(terms=bindparam("terms")))  # terms, id
        event = insert(events).inline().values(_columns(events, but="seq"))
        self.add_event = self._text(event)  # a row without its number

    def _for_the_rest(self) -> None:
        self.add_item = self._text(insert(items).values(_columns(items)))
        self.add_item_change = self._text(insert(item_changes).values(_columns(item_changes)))
        known = (items.c.row == bindparam("known_row"), items.c.id == bindparam("known"))
        changed = update(items).where(*known)
        self.change_item = self._text(
            changed.values(retired=bindparam("retired"), data=bindparam("data"))
        )  # retired, data, row, id
        self.delete_items = self._text(delete(items))
        self.delete_item_changes = self._text(delete(item_changes))
        replica = self._insert_or(replicas)
        seen = {name: replica.excluded[name] for name in ("configuration", "seen")}
        self.save_replica = self._text(
            replica.on_conflict_do_update(index_elements=[replicas.c.id], set_=seen)
        )  # a row
        gone = replicas.c.id == bindparam("id"), replicas.c.seen < bindparam("before")
        self.drop_replicas = self._text(delete(replicas).where(or_(*gone)))  # id, a time
        self.add_key = self._text(insert(keys).values(_columns(keys)))
        valid = (keys.c.id == bindparam("known"), keys.c.revoked.is_(None))
        revoked = update(keys).where(*valid).values(revoked=bindparam("revoked"))
        self.revoke_key = self._text(revoked)  # time, id
        value = self._insert_or(meta)
        self.set_meta = self._text(
            value.on_conflict_do_update(
                index_elements=[meta.c.key], set_={"value": value.excluded.value}
            )
        )  # key, value
        touched = self._insert_or(meta).values(value=null())
        self.touch_meta = self._text(
            touched.on_conflict_do_update(
                index_elements=[meta.c.key], set_={"key": touched.excluded.key}
            )
        )  # key
        one_more = cast(cast(meta.c.value, BigInteger) + literal_column("1"), Text)
        self.raise_meta = self._text(
            value.on_conflict_do_update(index_elements=[meta.c.key], set_={"value": one_more})
        )  # key, "1"

    def _text(self, statement: Executable) -> str:
        return str(statement.compile(dialect=self._dialect))  # type: ignore[attr-defined]

    def _insert_or(self, table: Table) -> Any:
        made = postgresql.insert if self._is_postgres else sqlite.insert
        return made(table).values(_columns(table))

    def _among(
        self, column: ColumnElement[Any], kind: type[TypeEngine[Any]] = Text, name: str = "ids"
    ) -> ColumnElement[bool]:
        """Tell whether a column's value is one of many, which come as one parameter."""
        if self._is_postgres:
            return column == any_(bindparam(name, type_=postgresql.ARRAY(kind)))
        values = func.json_each(bindparam(name, type_=Text())).table_valued("value")
        return column.in_(select(values.c.value))


def _columns(table: Table, *, but: str | None = None) -> dict[str, Any]:
    return {column.name: bindparam(column.name) for column in table.c if column.name != but}


def _count(table: Table | Subquery) -> Select[int]:
    return select(func.count()).select_from(table)


_compiled: dict[str, Statements] = {}


def statements_of(dialect: Dialect) -> Statements:
    """Return the statements of a kind of database, which each process compiles once."""
    if dialect.name not in _compiled:
        _compiled[dialect.name] = Statements(dialect)
    return _compiled[dialect.name]
