"""Export a store's items, priors and users as lines of JSON: a backup for any other store."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

from variegate.engine.catalogue import CatalogueSnapshot, LiveCatalogue
from variegate.engine.codecs import SeenItems
from variegate.engine.export_schema import FORMAT
from variegate.engine.replay import iter_events, iter_slates
from variegate.errors import StateError
from variegate.policies import State
from variegate.store import (
    ITEMS_HISTORY,
    ITEMS_REVISION,
    EventRow,
    ItemChange,
    PriorRow,
    Reader,
    SlateRow,
    Store,
    UserRow,
)

#: The beginning of a user's first line
USER: Final = f'{{"variegate":{FORMAT},"kind":"user"'.encode()
#: Bytes after which a user's history continues in another line
_LINE_SIZE: Final = 500_000
#: Bytes of users read in one transaction and held in memory; a larger user is written to a file.
_CHUNK_SIZE: Final = 2_000_000
#: Users read at a time
_USER_PAGE: Final = 50


def export_lines(
    store: Store,
    live: LiveCatalogue,
    now: Callable[[Reader], float] = lambda reader: reader.head().now,
    *,
    keys: bool = False,
) -> Iterator[bytes]:
    """Yield the lines of an export: a header, items, priors, keys if asked, then users by id.

    Items, with all of their changes, and priors are read in one transaction, and so is each user.
    No transaction stays open while the caller pauses, and memory is bounded for any history.
    """
    with store.reading() as reader:
        history, changes, priors = item_history(reader), reader.item_changes(), reader.priors()
        time, rows = now(reader), reader.keys() if keys else []
    catalogue = live.base.fingerprint.to_json()
    yield _line(kind="export", time=time, catalogue=catalogue, items=history)
    for change in changes:
        yield _line(kind="item", **_change_fields(change))
    for prior in priors.values():
        if prior.data is not None:
            yield _prior_line(prior)
    for key in rows:
        yield _line(kind="key", **key._asdict())
    after: str | None = ""
    while after is not None:
        with SpooledTemporaryFile(max_size=_CHUNK_SIZE) as spool:
            with store.reading() as reader:
                after = _write_users(reader, live.as_of(reader), after, spool)
            spool.seek(0)
            yield from spool


def item_history(reader: Reader, revision: int | None = None) -> dict[str, Any]:
    """Return a description of all changes of items up to a revision, by default the last."""
    last = int(reader.meta(ITEMS_REVISION) or 0) if revision is None else revision
    changes = [one for one in reader.item_changes() if one.revision <= last]
    return {
        "revision": last,
        "first": int(reader.meta(ITEMS_HISTORY) or 0),
        "digest": digest_changes(changes),
    }


def digest_changes(changes: Iterable[ItemChange]) -> str:
    """Return a digest of changes of items."""
    text = "\n".join(_to_json(_change_fields(one)) for one in changes)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _change_fields(change: ItemChange) -> dict[str, Any]:
    row, item, retired, data = change.item
    return {
        "revision": change.revision,
        "row": row,
        "time": change.time,
        "id": item,
        "retired": retired,
        "data": data,
    }


def _write_users(
    reader: Reader, snapshot: CatalogueSnapshot, after: str, spool: IO[bytes]
) -> str | None:
    """Write the next users; return the id of the last, or None if there are no more."""
    last: str | None = None
    for user in reader.all_users(after or None, _USER_PAGE):
        spool.writelines(user_lines(reader, snapshot, user))
        last = user.id
        if spool.tell() > _CHUNK_SIZE:
            break
    return last


def user_lines(reader: Reader, snapshot: CatalogueSnapshot, user: UserRow) -> Iterator[bytes]:
    """Yield the lines of one user: state, shown items, lists and events."""
    ids = snapshot.catalogue.ids
    head = {
        "variegate": FORMAT,
        "kind": "user",
        "user": user.id,
        "policy": user.policy,
        "created": user.created,
        "changed": user.changed,
        "slates": user.slates,
        "state": _state_fields(user.state),
        "shown": [[ids[row], second] for row, second in SeenItems(user.shown).entries()],
        "consumed": [
            [ids[row], second] for row, second in SeenItems(user.consumed or b"").entries()
        ],
    }
    checkpoint = reader.checkpoint_state(user.id)
    if checkpoint is not None:
        head["checkpoint"] = _state_fields(checkpoint)
    parts: dict[str, list[str]] = {"lists": [], "events": []}
    size = 0
    for name, text in _history(reader, user.id):
        if size > _LINE_SIZE:
            yield _join_history(head, parts, more=True)
            head = {"variegate": FORMAT, "kind": "history", "user": user.id}
            parts, size = {"lists": [], "events": []}, 0
        parts[name].append(text)
        size += len(text)
    yield _join_history(head, parts, more=False)


def _history(reader: Reader, user: str) -> Iterator[tuple[str, str]]:
    for row in iter_slates(reader, user):
        yield "lists", _to_json(_slate_fields(row))
    for event in iter_events(reader, user):
        yield "events", _to_json(_event_fields(event))


def _join_history(head: dict[str, Any], parts: dict[str, list[str]], *, more: bool) -> bytes:
    # Each row is encoded once: the parts are joined as text.
    history = "".join(f',"{name}":[{",".join(rows)}]' for name, rows in parts.items())
    return f'{_to_json(head)[:-1]}{history},"more":{_to_json(more)}}}\n'.encode()


def _line(**content: Any) -> bytes:
    return _to_json({"variegate": FORMAT, **content}).encode() + b"\n"


def _to_json(content: Any) -> str:
    return json.dumps(content, allow_nan=False, separators=(",", ":"))


def _prior_line(row: PriorRow) -> bytes:
    data = b64encode(row.data or b"").decode()
    return _line(kind="prior", policy=row.policy, users=row.users, fitted=row.fitted, data=data)


def _state_fields(raw: bytes | None) -> dict[str, Any] | None:
    """Return a state; None also for one that cannot be read, so that it is relearnt."""
    if raw is None:
        return None
    try:
        state = State.from_bytes(raw)
    except StateError:
        return None
    arrays = {
        name: {"shape": array.shape, "data": b64encode(array.astype("<f8").tobytes()).decode()}
        for name, array in state.arrays.items()
    }
    return {"policy": state.policy, "version": state.version, "arrays": arrays}


def _slate_fields(row: SlateRow) -> dict[str, Any]:
    plain = row._asdict()
    del plain["user_id"]
    return {**plain, "features": b64encode(row.features).decode()}


def _event_fields(row: EventRow) -> dict[str, Any]:
    event = {"time": row.time, "slate": row.slate_id, "kind": row.kind, "body": row.body}
    return event if row.request is None else event | {"request": row.request}
