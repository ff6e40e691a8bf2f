"""The statements about what policies begin with, and about the states that it is fitted to."""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import ColumnElement, Table, bindparam, literal_column, select, update
from sqlalchemy.sql import Executable
from sqlalchemy.types import BigInteger

from variegate.store.schema import priors, users

#: The columns that a fit changes
FITTING: Final = ("version", "data", "users", "fitted")
# Said in the text itself: SQLite's LIMIT always has an OFFSET, which would be one more parameter.
_start: ColumnElement[int] = literal_column("0")


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
