"""The live catalogue: the items of the file, with those added, changed and retired since.

Priors that were fitted to users are part of it: all processes share both, and one revision counts
the changes of both. `StoreCatalogue` is the catalogue that a store was made for: what users learnt
has no meaning with another one.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import zip_longest
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np

from variegate.arrays import FloatArray, MaskArray
from variegate.engine.background import Pause, Throttle, in_background, no_pause
from variegate.errors import DataError, InputError, NotFoundError, StoreError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import Distance, distance_of_values
from variegate.model.fingerprint import Fingerprint
from variegate.prior import PriorFile
from variegate.store import (
    CATALOGUE,
    ITEMS_HISTORY,
    ITEMS_REVISION,
    RELEARNING,
    Batch,
    ItemRow,
    PriorRow,
    Reader,
    Store,
)

_OPTIONS: Final = (
    "What users learnt has no meaning with this one. Serve the catalogue that the store was made "
    "for (the bundled films: install the version of variegate that made the store); or build this "
    "one with the same features, by `variegate build items --like` that catalogue; or stop the "
    "service and relearn every user from the log, with `variegate rebuild --relearn` and this "
    "catalogue; or use a new store with --store."
)
_ACCEPT: Final = (
    "If the meaning of features and distances is unchanged, `variegate rebuild --accept` takes "
    "this catalogue as it is."
)

#: Seconds of work, and of the pause after it, while items are prepared.
_GENTLE: Final = (0.001, 0.003)
#: Items that are converted, or freed, while other threads wait.
_ROWS_AT_ONCE: Final = 200
#: The key that a transaction writes to before it changes items.
_ITEMS_LOCK: Final = "items_lock"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class CatalogueSnapshot:
    """The items at one revision; immutable. Items keep their rows in later snapshots."""

    catalogue: Catalogue
    #: Which items are not retired, (L,)
    active: MaskArray
    revision: str
    #: Priors that were fitted to users, by policy
    priors: Mapping[str, PriorFile] = field(default_factory=dict)
    #: The store's entry `ITEMS_HISTORY`: with another one, changes are not since this snapshot
    history: str | None = None

    def row_of(self, item: str) -> int | None:
        """Return the row of an item, retired or not, or None."""
        try:
            return int(self.catalogue.rows([item])[0])
        except NotFoundError:
            return None

    def with_changes(
        self, changes: Sequence[ItemRow], pause: Pause = no_pause
    ) -> "CatalogueSnapshot":
        """Return the items after changes, or raise InputError if they do not fit."""
        catalogue = _apply(self.catalogue, changes, pause)
        active = np.ones(len(catalogue), dtype=np.bool_)
        active[: len(self.active)] = self.active
        active[[row.row for row in changes]] = [not row.retired for row in changes]
        return replace(self, catalogue=catalogue, active=active)


class LiveCatalogue:
    """The live catalogue of one process, shared by its threads.

    Call `as_of` once per piece of work and use that snapshot throughout: another thread may load
    a change at any time.

    Parameters
    ----------
    base
        The catalogue of the file.
    """

    def __init__(self, base: Catalogue) -> None:
        #: The items of the file that are the first rows of the store
        self.base = base
        self._bound: StoreCatalogue | None = None
        self._snapshot = CatalogueSnapshot(base, np.ones(len(base), dtype=np.bool_), "0")
        self._building = Lock()
        #: Of a revision that is not visible yet
        self._prepared: CatalogueSnapshot | None = None
        self._preparing = Lock()
        self._priors: dict[str, tuple[PriorRow, PriorFile]] = {}

    @classmethod
    def open(cls, base: Catalogue, store: Store) -> "LiveCatalogue":
        """Return the live catalogue of a store, which is bound to it."""
        live = cls(base)
        with store.batch() as batch:
            live.bind(batch)
            live.as_of(batch)
        return live

    def bind(self, batch: Batch) -> None:
        """Bind a new store to this catalogue; raise DataError if it was made for another.

        A larger file than the store was made for is cut to the first items of the store; the
        others are in the store. See `bind_store`.
        """
        self._bound = bind_store(batch, self.base)
        self.base = self.base.first(self._bound.base.items)

    def as_of(self, reader: Reader, revision: str | None = None) -> CatalogueSnapshot:
        """Return the items that are visible, at a revision that the reader read before."""
        if revision is None:
            revision = reader.head().revision
        if revision == self._snapshot.revision:
            return self._snapshot
        with self._building:
            if revision == self._snapshot.revision:
                return self._snapshot
            snapshot = self._take_prepared(reader, revision) or self.build(reader, revision)
            # A reader may have begun before the last change; a batch sees the latest state.
            if isinstance(reader, Batch) or int(revision) > int(self._snapshot.revision):
                self._use(snapshot)
            return snapshot

    def prepare(
        self,
        store: Store,
        check: Callable[[CatalogueSnapshot], None],
        is_busy: Callable[[], bool] = lambda: False,
    ) -> str:
        """Build the latest items before they are visible; return their revision.

        Call this in a thread: lists are made of the visible items meanwhile, and of the prepared
        ones as soon as these are visible.

        Parameters
        ----------
        check
            Uses the snapshot for the first time, which computes what is computed once.
        is_busy
            Whether lists are being made just now, for which this waits.
        """
        with self._preparing, store.reading() as reader, in_background():
            revision = reader.meta(ITEMS_REVISION) or "0"
            if not self.has_prepared(revision):
                snapshot = self.build(reader, revision, pause=Throttle(*_GENTLE, is_busy))
                check(snapshot)
                self._prepared = snapshot
            return revision

    def has_prepared(self, revision: str) -> bool:
        """Return whether the items of a revision are built."""
        return revision in (self._snapshot.revision, self._prepared and self._prepared.revision)

    def _take_prepared(self, reader: Reader, revision: str) -> CatalogueSnapshot | None:
        found = self._prepared
        if found is None or found.revision != revision:
            return None
        return found if found.history == reader.meta(ITEMS_HISTORY) else None

    def install(self, snapshot: CatalogueSnapshot) -> None:
        """Use a snapshot that was built for a change, once the change is committed."""
        with self._building:
            self._use(snapshot)

    def _use(self, snapshot: CatalogueSnapshot) -> None:
        self._snapshot = snapshot
        prepared = self._prepared
        if prepared is not None and int(prepared.revision) <= int(snapshot.revision):
            self._prepared = None

    def build(
        self,
        reader: Reader,
        revision: str,
        changes: Sequence[ItemRow] | None = None,
        *,
        pause: Pause = no_pause,
    ) -> CatalogueSnapshot:
        """Return the file's items with changes applied, or raise InputError if they do not fit.

        `changes` are those of an earlier revision; by default, those of the store. `pause` lets
        other threads run.
        """
        self._check_catalogue(reader)
        before = CatalogueSnapshot(self.base, np.ones(len(self.base), dtype=np.bool_), "0")
        if changes is None:
            before, read = self._changes_since(reader, before, revision, pause)
            after = before.with_changes(read, pause)
            while read:  # in parts: freeing all at once would keep other threads waiting
                del read[-_ROWS_AT_ONCE:]
                pause()
        else:
            after = before.with_changes(changes)
        priors, history = self._load_priors(reader), reader.meta(ITEMS_HISTORY)
        return replace(after, revision=revision, priors=priors, history=history)

    def _changes_since(
        self,
        reader: Reader,
        base: CatalogueSnapshot,
        revision: str,
        pause: Pause,
    ) -> tuple[CatalogueSnapshot, list[ItemRow]]:
        """Return the latest snapshot that changes can be applied to, and the changes since."""
        history = reader.meta(ITEMS_HISTORY)
        # The latest first: what was prepared need not be read again.
        for known in (self._prepared, self._snapshot):
            if (
                known is not None
                and 0 < int(known.revision) <= int(revision)
                and known.history == history
            ):
                return known, reader.items_at(int(revision), int(known.revision), pause=pause)
        if revision == (reader.meta(ITEMS_REVISION) or "0"):
            return base, reader.items(pause=pause)
        return base, reader.items_at(int(revision), pause=pause)

    def _load_priors(self, reader: Reader) -> dict[str, PriorFile]:
        """Return the fitted priors; one that is unchanged is the same object, with its caches."""
        rows: list[PriorRow] = [row for row in reader.priors().values() if row.data is not None]
        found = {}
        for row in rows:
            cached = self._priors.get(row.policy)
            if cached is None or cached[0].data != row.data:
                where = f"the prior of {row.policy}"
                cached = row, PriorFile.from_bytes(row.data or b"", where=where)
            found[row.policy] = cached
        self._priors = found  # at once: another thread may be preparing a snapshot
        return {policy: prior for policy, (_row, prior) in found.items()}

    def _check_catalogue(self, reader: Reader) -> None:
        """Raise StoreError if the store moved to another catalogue since this process began."""
        check_not_relearning(reader, StoreError)
        if self._bound is None:
            return
        stored = StoreCatalogue.read(reader)
        if stored is None or stored.base != self._bound.base:
            raise StoreError(
                "the store has moved to another catalogue: restart this process with that one"
            )


def _apply(catalogue: Catalogue, changes: Sequence[ItemRow], pause: Pause) -> Catalogue:
    size = len(catalogue)
    old = [row for row in changes if row.row < size and row.data is not None]
    new = [row for row in changes if row.row >= size]
    if old:
        catalogue = catalogue.with_changes(*_columns(catalogue, old, pause, new_items=False))
    if new:
        catalogue = catalogue.with_items(*_columns(catalogue, new, pause, new_items=True))
    return catalogue


class StoreCatalogue(NamedTuple):
    """The catalogue of a store.

    Parameters
    ----------
    base
        Fingerprint of the items that the store was made for: its first rows.
    latest
        Fingerprint of the largest file that was served since, which begins with the same items.
        The others are in the store, in the rows that were free when they were added.
    """

    base: Fingerprint
    latest: Fingerprint

    def to_json(self) -> str:
        """Return the text that the store keeps."""
        return json.dumps({**self.base.to_json(), "latest": self.latest.to_json()})

    @classmethod
    def read(cls, reader: Reader) -> "StoreCatalogue | None":
        """Return the catalogue of a store; None if the store has no fingerprint yet."""
        note = json.loads(reader.meta(CATALOGUE) or "{}")
        if "version" not in note:
            return None
        return cls(Fingerprint.from_json(note), Fingerprint.from_json(note["latest"]))

    def fingerprints(self, catalogue: Catalogue) -> tuple[Fingerprint, Fingerprint]:
        """Return the fingerprint that a catalogue must match, and its own for the same items.

        A smaller file than the latest is fine: its items are the first of the store all the same.
        """
        before = self.latest if len(catalogue) >= self.latest.items else self.base
        return before, catalogue.fingerprint_of_first(min(before.items, len(catalogue)))


def lock_items(batch: Batch) -> None:
    """Let no other transaction change items until this one ends."""
    batch.set_meta(_ITEMS_LOCK, "")


def bind_store(batch: Batch, catalogue: Catalogue) -> StoreCatalogue:
    """Bind a new store to a catalogue, or check that it was made for this one; return which.

    Items that a larger file has after those of the store are added to the store. Raises DataError
    for any other catalogue, with the differences and the options.
    """
    check_not_relearning(batch, DataError)
    stored = StoreCatalogue.read(batch)
    if stored is not None and stored.latest == catalogue.fingerprint:
        return stored
    # From here on something may be written: two processes that start at once take turns.
    lock_items(batch)
    known = read_or_migrate(batch, catalogue)
    if known is None:
        known = StoreCatalogue(catalogue.fingerprint, catalogue.fingerprint)
    else:
        check_same(known, catalogue)
        add_file_items(batch, catalogue, known)
    if len(catalogue) >= known.latest.items:
        known = known._replace(latest=catalogue.fingerprint)
    if batch.meta(CATALOGUE) != known.to_json():
        batch.set_meta(CATALOGUE, known.to_json())
    return known


def read_or_migrate(reader: Reader, catalogue: Catalogue) -> StoreCatalogue | None:
    """Return the catalogue of a store; None for a store that is not bound yet.

    Stores from before there were fingerprints noted ids and names: if these match, the store was
    made for `catalogue`.
    """
    stored, note = StoreCatalogue.read(reader), reader.meta(CATALOGUE)
    if stored is not None or note is None:
        return stored
    before = json.loads(note)
    count = before["items"]
    names = {
        "items": count,
        "ids": sha256("\0".join(catalogue.ids[:count]).encode()).hexdigest(),
        "features": list(catalogue.feature_names),
        "distances": [h.name for h in catalogue.distances],
    }
    if count > len(catalogue) or names != before:
        raise DataError(
            f"the store was made for another catalogue ({count} items, distances: "
            f"{', '.join(before['distances'])}) than {catalogue}; it has no fingerprint that "
            f"shows the differences. {_OPTIONS}"
        )
    _log.info("the store gets a fingerprint of its catalogue")
    found = catalogue.fingerprint_of_first(count)
    return StoreCatalogue(found, found)


def add_file_items(batch: Batch, catalogue: Catalogue, known: StoreCatalogue) -> None:
    """Add the items that the file has and the store has not, in rows after all others."""
    size = known.base.items
    stored = batch.items()
    ids = {row.id for row in stored}
    new = [row for row in range(size, len(catalogue)) if catalogue.ids[row] not in ids]
    if not new:
        return
    free = max(size, *(row.row + 1 for row in stored)) if stored else size
    batch.add_items(
        [
            ItemRow(place, catalogue.ids[row], False, item_values(catalogue, row))
            for place, row in enumerate(new, start=free)
        ]
    )
    _log.info("added %d new items of the catalogue's file to the store", len(new))


def check_not_relearning(reader: Reader, kind: type[DataError | StoreError]) -> None:
    """Raise an error while users are being relearnt for another catalogue."""
    if reader.meta(RELEARNING):
        raise kind(
            "users are being relearnt for another catalogue: let `variegate rebuild --relearn` "
            "finish, or run it again if it was stopped; then start the service"
        )


def check_same(known: StoreCatalogue, catalogue: Catalogue) -> None:
    """Raise DataError, with the differences, if a store was made for another catalogue."""
    before, now = known.fingerprints(catalogue)
    found = before.differences(now)
    if found:
        accept = f" {_ACCEPT}" if before.means_the_same(now) else ""
        raise DataError(
            f"the store was made for another catalogue than {catalogue}: {'; '.join(found)}. "
            f"{_OPTIONS}{accept}"
        )


def item_values(catalogue: Catalogue, row: int) -> dict[str, Any]:
    """Return all data of an item as JSON can hold them, in the form of a request."""
    return {
        "title": catalogue.titles[row],
        "attributes": plain_attributes(catalogue, row),
        "features": catalogue.features[row].tolist(),
        "distances": {
            h.name: _distance_value(h, row) for h in catalogue.distances if not h.on_features
        },
    }


def plain_attributes(catalogue: Catalogue, row: int) -> dict[str, Any]:
    """Return an item's attributes as JSON can hold them."""
    return {name: _plain(column[row]) for name, column in catalogue.attributes.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def _distance_value(h: Distance, row: int) -> Any:
    data = h.rows[row]
    if h.formula.name == "jaccard":
        return [h.labels[i] for i in np.flatnonzero(data)]
    if h.formula.name == "hamming":
        return h.labels[int(data[0])]
    return float(data[0]) if h.formula.name == "difference" else data.tolist()


def item_distances(catalogue: Catalogue, data: Sequence[Mapping[str, Any]]) -> dict[str, Distance]:
    """Return the distances of items by their data, or raise InputError for a missing value."""
    found = {}
    for h in catalogue.distances:
        if h.on_features:
            continue
        values = [one.get("distances") or {} for one in data]
        if any(h.name not in one for one in values):
            raise InputError(f"`distances` must have a value for {h.name!r}")
        found[h.name] = distance_of_values(h, [one[h.name] for one in values])
    return found


def _columns(
    catalogue: Catalogue, rows: Sequence[ItemRow], pause: Pause, *, new_items: bool
) -> tuple[list[str], FloatArray, dict[str, Distance], list[str], dict[str, list[Any]]]:
    """Return ids, features, distances, titles and attributes as the catalogue takes them."""
    ids, data = [row.id for row in rows], [row.data or {} for row in rows]
    known = catalogue.attributes
    places = [None] * len(rows) if new_items else catalogue.rows(ids).tolist()
    attributes: dict[str, list[Any]] = {name: [] for name in known}
    titles: list[str] = []
    features: list[FloatArray] = []
    distances: list[dict[str, Distance]] = []
    # In parts: other threads would wait for one call that converts all of them.
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        for item, d, at in zip(ids[part], data[part], places[part], strict=True):
            titles.append(str(d.get("title") or item))
            given = d.get("attributes") or {}
            for name, column in attributes.items():
                column.append(given.get(name, None if at is None else known[name][at]))
        features.append(np.array([d["features"] for d in data[part]], dtype=np.float64))
        distances.append(item_distances(catalogue, data[part]))
        pause()
    joined = {name: _joined([one[name] for one in distances], pause) for name in distances[0]}
    return ids, np.vstack(features), joined, titles, attributes


def _joined(parts: list[Distance], pause: Pause) -> Distance:
    """Return the distance over the items of all parts, in their order."""
    while len(parts) > 1:  # in pairs: one after the other would copy the first ones many times
        pairs = zip_longest(parts[::2], parts[1::2])
        parts = [one if more is None else one.with_items(more) for one, more in pairs]
        pause()
    return parts[0]
