"""Every statement of the store, in the words of SQLite and of PostgreSQL.

The drivers run them as they are, with the parameters as tuples (decision 37).
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from variegate.store.binary import array_of_keys
from variegate.store.rows import (
    EventRow,
    ItemRow,
    KeyRow,
    PriorRow,
    ReplicaRow,
    SlateRow,
    UserRow,
    to_json,
)


class Statements:
    """The statements of one database.

    Those that write several columns name the function of `rows` that packs their parameters.

    Parameters
    ----------
    words
        What differs between databases, by its name in the templates.
    array
        Packs ids into the one parameter of `{among}`.
    has_parts
        Whether several processes can write at once, so that the running sums have parts.
    of_arrays
        The columns of the statements that take all rows at once, one array per column, by name.
    """

    users = "SELECT {user} FROM users WHERE id {among} ORDER BY id"
    locked_users = "SELECT {stateless_user} FROM users WHERE id {among} ORDER BY id {for_update}"
    states = "SELECT id, state FROM users WHERE id {among}"
    existing_users = "SELECT id FROM users WHERE id {among}"
    first_users = "SELECT {user} FROM users ORDER BY id LIMIT ?"
    next_users = "SELECT {user} FROM users WHERE id > ? ORDER BY id LIMIT ?"
    user_states = """SELECT id, state FROM users
        WHERE policy = ? AND state IS NOT NULL AND id > ? ORDER BY id LIMIT ?"""
    count_users = "SELECT count(*) FROM users WHERE policy = ?"
    count_all_users = "SELECT count(*) FROM users"
    add_user = "INSERT INTO users {new_user} ON CONFLICT DO NOTHING"
    save_user = "UPDATE users {target} SET {save_user}"  # user_update
    save_seen_items = "UPDATE users {target} SET {save_seen_items}"  # seen_items_update
    delete_user = "DELETE FROM users WHERE id = ?"

    slates = "SELECT {slate} FROM slates WHERE id {among}"
    requested_slates = """SELECT {slate} FROM slates WHERE id {among}
        UNION ALL SELECT {slate} FROM slates
        WHERE request {among} AND request IS NOT NULL AND user_id {among}"""
    slate_owners = "SELECT id, user_id FROM slates WHERE id {among}"
    newest_slates = "SELECT {slate} FROM slates WHERE user_id = ? ORDER BY id DESC LIMIT ?"
    older_slates = """SELECT {slate} FROM slates WHERE user_id = ? AND id < ?
        ORDER BY id DESC LIMIT ?"""
    later_slates = "SELECT {slate} FROM slates WHERE user_id = ? AND id > ? ORDER BY id LIMIT ?"
    due_slates = """SELECT id, user_id FROM slates WHERE closed IS {false} AND due <= ?
        ORDER BY due, id LIMIT ?"""
    # Locks the users, as everything does that changes their slates, and only those that are free.
    claim_due_slates = """SELECT slates.id, user_id FROM slates JOIN users ON users.id = user_id
        WHERE closed IS {false} AND due <= ? ORDER BY due, slates.id LIMIT ? {skip_locked_users}"""
    count_closing = """SELECT count(*) FROM (
        SELECT due FROM slates WHERE closed IS {false} AND due IS NOT NULL LIMIT ?) AS closing"""
    add_slate = "INSERT INTO slates {new_slate}"  # pack_slate
    update_slate = "UPDATE slates {target} SET {update_slate}"  # feedback_update
    # features_update
    update_features = "UPDATE slates SET closed = ?, features = ?, propensities = ? WHERE id = ?"
    update_terms = "UPDATE slates SET terms = ? WHERE id = ?"
    delete_user_slates = "DELETE FROM slates WHERE user_id = ?"
    delete_slates = "DELETE FROM slates WHERE id {among}"
    next_user_ids = "SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?"
    users_with_old = """SELECT user_id, count(*) FROM (
        SELECT user_id FROM slates WHERE user_id {among} AND created < ?
        UNION ALL SELECT user_id FROM events WHERE user_id {among} AND time < ?) AS old
        GROUP BY user_id ORDER BY user_id"""
    slates_of_users = "SELECT {slate} FROM slates WHERE user_id {among} ORDER BY id"
    events_of_users = "SELECT {event} FROM events WHERE user_id {among} ORDER BY seq"
    checkpoints = "SELECT user_id, state, sums FROM checkpoints WHERE user_id {among}"

    events = "SELECT {event} FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
    user_events = "SELECT {event} FROM events WHERE seq > ? AND user_id = ? ORDER BY seq LIMIT ?"
    requested_events = """SELECT {event} FROM events
        WHERE user_id = ? AND request {among} AND request IS NOT NULL"""
    recent_users = "SELECT user_id FROM events ORDER BY seq DESC LIMIT ?"
    add_event = "INSERT INTO events {new_event}"  # pack_event
    update_event = "UPDATE events SET body = ? WHERE seq = ?"  # body_update
    delete_user_events = "DELETE FROM events WHERE user_id = ?"
    delete_events = "DELETE FROM events WHERE seq {among_numbers}"

    checkpoint_state = "SELECT state FROM checkpoints WHERE user_id = ?"
    checkpoint_sums = "SELECT sums FROM checkpoints WHERE user_id = ?"
    next_checkpoint_sums = """SELECT user_id, sums FROM checkpoints WHERE user_id > ?
        ORDER BY user_id LIMIT ?"""
    save_checkpoint = """INSERT INTO checkpoints (user_id, state, sums) VALUES (?, ?, ?)
        ON CONFLICT (user_id) DO UPDATE SET state = excluded.state, sums = excluded.sums"""
    clear_checkpoint_state = "UPDATE checkpoints SET state = NULL WHERE user_id = ?"
    delete_checkpoint = "DELETE FROM checkpoints WHERE user_id = ?"

    items = 'SELECT {item} FROM items ORDER BY "row"'
    items_by_id = "SELECT {item} FROM items WHERE id {among}"
    last_item_row = 'SELECT max("row") FROM items'
    items_at = """SELECT {item} FROM item_changes JOIN (
        SELECT "row" AS changed, max(revision) AS latest FROM item_changes
        WHERE revision > ? AND revision <= ? GROUP BY "row") AS last
        ON "row" = changed AND revision = latest
        ORDER BY "row" """
    item_changes = 'SELECT revision, {item}, time FROM item_changes ORDER BY revision, "row"'
    item_revisions = "SELECT DISTINCT revision FROM item_changes ORDER BY revision"
    add_item = "INSERT INTO items {new_item}"  # pack_item
    add_item_change = "INSERT INTO item_changes {new_item_change}"
    update_item = 'UPDATE items SET retired = ?, data = ? WHERE "row" = ? AND id = ?'  # item_update
    delete_items = "DELETE FROM items"
    delete_item_changes = "DELETE FROM item_changes"

    priors = "SELECT {prior} FROM priors ORDER BY policy"
    add_prior = "INSERT INTO priors {new_prior} ON CONFLICT DO NOTHING"
    save_prior = """UPDATE priors SET version = ?, data = ?, users = ?, fitted = ?
        WHERE policy = ? AND version = ?"""
    claim_fit = "UPDATE priors SET turn = ? WHERE policy = ? AND turn = ?"

    keys = "SELECT {key} FROM keys ORDER BY created, id"
    add_key = "INSERT INTO keys {new_key}"
    revoke_key = "UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL"

    replicas = "SELECT {replica} FROM replicas ORDER BY id"
    save_replica = """INSERT INTO replicas {new_replica} ON CONFLICT (id)
        DO UPDATE SET configuration = excluded.configuration, seen = excluded.seen"""
    delete_replicas = "DELETE FROM replicas WHERE id = ? OR seen < ?"

    meta = 'SELECT value FROM meta WHERE "key" = ?'
    head = f"SELECT ({meta}), ({meta}), ({meta}), ({meta}), {{clock}}"
    set_meta = """INSERT INTO meta ("key", value) VALUES (?, ?)
        ON CONFLICT ("key") DO UPDATE SET value = excluded.value"""
    lock_meta = """INSERT INTO meta ("key", value) VALUES (?, NULL)
        ON CONFLICT ("key") DO UPDATE SET "key" = excluded."key" """
    increment_meta = """INSERT INTO meta ("key", value) VALUES (?, '1')
        ON CONFLICT ("key") DO UPDATE SET value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT)"""
    #: Every table of the database, of whatever application, with each of its columns
    table_columns = "{table_columns}"

    sums_of_part = """SELECT policy, period, sums FROM sums
        WHERE part = ? AND period {among_numbers}"""
    sums_of_period = "SELECT policy, period, sums FROM sums WHERE period = ?"
    sums_since = "SELECT policy, period, sums FROM sums WHERE period >= ?"
    save_sums = """INSERT INTO sums {new_sums}
        ON CONFLICT (period, part, policy) DO UPDATE SET sums = excluded.sums"""
    # A row that another transaction is changing is left for the next time, so nobody waits.
    delete_old_sums = """DELETE FROM sums WHERE (period, part, policy) IN (
        SELECT period, part, policy FROM sums WHERE period >= 0 AND period < ? {skip_locked})"""
    delete_sums = "DELETE FROM sums"
    user_sums = "SELECT user_id, policy, sums FROM user_sums WHERE user_id {among}"
    count_user_sums = "SELECT count(*) FROM user_sums"
    save_user_sums = """INSERT INTO user_sums {new_user_sums}
        ON CONFLICT (user_id, policy) DO UPDATE SET sums = excluded.sums"""
    delete_user_sums = "DELETE FROM user_sums WHERE user_id = ?"
    delete_all_user_sums = "DELETE FROM user_sums"
    #: Lets one transaction at a time change the sums of a part; PostgreSQL only
    lock_sums = "SELECT pg_advisory_xact_lock(124131110, ?)"
    #: Let nobody else change what the sums are computed from; PostgreSQL only
    wait_for_tables = "SET LOCAL lock_timeout = '10min'"
    lock_tables = "LOCK TABLE users, slates, events, sums, user_sums IN SHARE ROW EXCLUSIVE MODE"

    # stored_contribution of `sums`, after the user and the slate
    summed_slates = """SELECT user_id, id, {summed} FROM slates
        WHERE (user_id, id) > (?, ?) ORDER BY user_id, id LIMIT ?"""
    summed_slates_of_user = "SELECT {summed} FROM slates WHERE user_id = ?"
    summed_events = "SELECT seq, time, kind FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
    summed_events_of_user = "SELECT time, kind FROM events WHERE user_id = ?"

    def __init__(
        self,
        words: Mapping[str, str],
        array: Callable[[Sequence[str | int]], object],
        *,
        has_parts: bool,
        of_arrays: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self._words = {**_COLUMNS, **words}
        self.array: Final = array
        self.has_parts: Final = has_parts
        for name, template in vars(Statements).items():
            if isinstance(template, str) and not name.startswith("__"):
                setattr(self, name, self.format(template))
        #: The types of the columns, by statement
        self.of_arrays: Final = {
            getattr(self, name): [_ARRAY_TYPES.get(column, "TEXT") for column in columns]
            for name, columns in of_arrays.items()
        }

    def format(self, template: str) -> str:
        """Return a statement in the words of this database."""
        return template.format_map(self._words).replace("?", self._words["parameter"])


def _columns(names: Sequence[str]) -> str:
    # Some columns have the names of keywords.
    return ", ".join(f'"{name}"' if name in ("key", "row") else name for name in names)


def _new(names: Sequence[str]) -> str:
    return f"({_columns(names)}) VALUES ({', '.join('?' * len(names))})"


def _update(columns: Sequence[str], keys: Sequence[str]) -> str:
    values, wanted = ([f"{name} = ?" for name in names] for names in (columns, keys))
    return f"{', '.join(values)} WHERE {' AND '.join(wanted)}"


#: Of columns in `of_arrays`; the others have text
_ARRAY_TYPES: Final = {
    **dict.fromkeys(("state", "shown", "consumed", "features"), "BYTEA"),
    **dict.fromkeys(("slates", "version", "k", "period", "part"), "BIGINT"),
    **dict.fromkeys(("closed", "answered"), "BOOLEAN"),
    **dict.fromkeys(
        ("created", "changed", "deadline", "due", "earned", "time"), "DOUBLE PRECISION"
    ),
}


def _arrays(names: Sequence[str]) -> str:
    return ", ".join(f"%b::{_ARRAY_TYPES.get(name, 'TEXT')}[]" for name in names)


def _new_from_arrays(names: Sequence[str]) -> str:
    return f"({_columns(names)}) SELECT * FROM unnest({_arrays(names)})"  # noqa: S608 - names of ours


def _update_from_arrays(columns: Sequence[str], keys: Sequence[str]) -> str:
    values = ", ".join(f"{name} = given.{name}" for name in columns)
    wanted = " AND ".join(f"target.{name} = given.old_{name}" for name in keys)
    given = ", ".join([*columns, *(f"old_{name}" for name in keys)])
    return f"{values} FROM unnest({_arrays([*columns, *keys])}) AS given ({given}) WHERE {wanted}"


_ROWS: Final[Mapping[str, Sequence[str]]] = {
    "user": UserRow._fields,
    "slate": SlateRow._fields,
    "event": EventRow._fields,
    "item": ItemRow._fields,
    "prior": PriorRow._fields,
    "key": KeyRow._fields,
    "replica": ReplicaRow._fields,
}
_SUMS: Final = ("period", "part", "policy", "sums")
_USER_SUMS: Final = ("user_id", "policy", "sums")
#: The columns that an update changes, and those that its rows are found by
_UPDATES: Final[Mapping[str, tuple[Sequence[str], Sequence[str]]]] = {
    "save_user": (UserRow._fields[1:], ("id", "version")),
    "save_seen_items": (("shown", "slates", "version", "changed"), ("id", "version")),
    "update_slate": (("closed", "rewards", "taught", "reports", "earned", "answered"), ("id",)),
}
_COLUMNS: Final = {
    **{name: _columns(fields) for name, fields in _ROWS.items()},
    "stateless_user": _columns(UserRow._fields).replace("state", "NULL"),
    **{f"new_{name}": _new(fields) for name, fields in _ROWS.items()},
    "new_event": _new(EventRow._fields[1:]),
    "new_sums": _new(_SUMS),
    "new_user_sums": _new(_USER_SUMS),
    "new_item_change": _new(("revision", *ItemRow._fields, "time")),
    **{name: _update(*columns) for name, columns in _UPDATES.items()},
    "summed": "policy, created, answered, earned, rewards, diversity",
}

SQLITE: Final = Statements(
    {
        "parameter": "?",
        "target": "",
        "text": "TEXT",
        "bytes": "BLOB",
        "real": "DOUBLE",
        "sequence": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "false": "0",
        "true": "1",
        "among": "IN (SELECT value FROM json_each(?))",
        "among_numbers": "IN (SELECT value FROM json_each(?))",
        "for_update": "",
        "skip_locked": "",
        "skip_locked_users": "",
        "clock": "NULL",
        "table_columns": """SELECT found.name, one.name FROM sqlite_master AS found
            JOIN pragma_table_info(found.name) AS one WHERE found.type = 'table'""",
    },
    to_json,
    has_parts=False,
)

POSTGRES: Final = Statements(
    {
        "parameter": "%s",
        "target": "AS target",
        # PostgreSQL sorts text by the language of its database. Ids must sort by character, as in
        # Python and SQLite.
        "text": 'TEXT COLLATE "C"',
        "bytes": "BYTEA",
        "real": "DOUBLE PRECISION",
        "sequence": "BIGSERIAL NOT NULL PRIMARY KEY",
        "false": "FALSE",
        "true": "TRUE",
        "among": "= ANY (%b::TEXT[])",
        "among_numbers": "= ANY (%b::BIGINT[])",
        "for_update": "FOR UPDATE",
        "skip_locked": "FOR UPDATE SKIP LOCKED",
        "skip_locked_users": "FOR UPDATE OF users SKIP LOCKED",
        "clock": "EXTRACT(epoch FROM clock_timestamp())::DOUBLE PRECISION",
        # One statement for all rows, because each costs the server and the driver time.
        "new_user": _new_from_arrays(UserRow._fields),
        "new_slate": _new_from_arrays(SlateRow._fields),
        "new_event": _new_from_arrays(EventRow._fields[1:]),
        **{name: _update_from_arrays(*columns) for name, columns in _UPDATES.items()},
        "new_sums": _new_from_arrays(_SUMS),
        "new_user_sums": _new_from_arrays(_USER_SUMS),
        "table_columns": """SELECT found.relname::TEXT, one.attname::TEXT FROM pg_class AS found
            JOIN pg_attribute AS one ON one.attrelid = found.oid
            WHERE found.relkind IN ('r', 'p') AND one.attnum > 0 AND NOT one.attisdropped
            AND found.relnamespace = (
                SELECT oid FROM pg_namespace WHERE nspname = current_schema())""",
    },
    array_of_keys,
    has_parts=True,
    of_arrays={
        "add_user": UserRow._fields,
        "add_slate": SlateRow._fields,
        "add_event": EventRow._fields[1:],
        "save_sums": _SUMS,
        "save_user_sums": _USER_SUMS,
        **{name: (*columns, *keys) for name, (columns, keys) in _UPDATES.items()},
    },
)
