"""The statements about running sums, and about the history that they are counted from."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    JSON,
    ColumnElement,
    Table,
    Text,
    bindparam,
    cast,
    column,
    delete,
    func,
    literal_column,
    select,
    tuple_,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql import Executable
from sqlalchemy.types import BigInteger, Integer

from variegate.store.schema import events, slates, sums, user_sums, users

#: Names the locks of the parts that sums are kept in
_LOCKS: Final = 0x7661726
# Said in the text itself: SQLite's LIMIT always has an OFFSET, which would be one more parameter.
_start: ColumnElement[int] = literal_column("0")
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
