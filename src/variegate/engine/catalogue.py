"""The catalogue as it is now: the file's items, and what was added, changed, retired since.

With it goes what policies begin with, where that was fitted to users: both are shared by all
processes, and one revision counts the changes of both.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import DataError, InputError, NotFoundError, StoreError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import Distance, distance_of_values
from variegate.model.fingerprint import Fingerprint
from variegate.prior import Prior
from variegate.store import CATALOGUE, RELEARNING, Batch, ItemRow, PriorRow, Reader


def item_values(catalogue: Catalogue, row: int) -> dict[str, Any]:
    """Return all that is known of an item, as `item_data` would take it."""
    return {
        "title": catalogue.titles[row],
        "attributes": plain_attributes(catalogue, row),
        "features": catalogue.features[row].tolist(),
        "distances": {h.name: _value(h, row) for h in catalogue.distances if not h.on_features},
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


def _value(h: Distance, row: int) -> Any:
    data = h.rows[row]
    if h.formula.name == "jaccard":
        return [h.labels[i] for i in np.flatnonzero(data)]
    if h.formula.name == "hamming":
        return h.labels[int(data[0])]
    return float(data[0]) if h.formula.name == "difference" else data.tolist()


def columns_of(
    catalogue: Catalogue, rows: Sequence[ItemRow], *, new_items: bool
) -> tuple[list[str], FloatArray, dict[str, Distance], list[str], dict[str, list[Any]]]:
    """Return ids, features, distances, titles and attributes as the catalogue takes them."""
    data = [row.data or {} for row in rows]
    titles = [str(d.get("title") or row.id) for d, row in zip(data, rows, strict=True)]
    known = catalogue.attributes
    places = [None] * len(rows) if new_items else catalogue.rows([row.id for row in rows]).tolist()
    attributes = {
        name: [
            (d.get("attributes") or {}).get(name, None if at is None else known[name][at])
            for d, at in zip(data, places, strict=True)
        ]
        for name in known
    }
    features = np.array([d["features"] for d in data], dtype=np.float64)
    return [row.id for row in rows], features, distances_of(catalogue, rows), titles, attributes


def distances_of(catalogue: Catalogue, rows: Sequence[ItemRow]) -> dict[str, Distance]:
    """Return the distances of items with the data of rows, or raise InputError."""
    found = {}
    for h in catalogue.distances:
        if h.on_features:
            continue
        given = [(row.data or {}).get("distances") or {} for row in rows]
        for values in given:
            if h.name not in values:
                raise InputError(f"`distances` must have a value for {h.name!r}")
        found[h.name] = distance_of_values(h, [values[h.name] for values in given])
    return found


#: Whoever changes items writes here first, and so waits for whoever did before.
TURN: Final = "items_turn"


_log = logging.getLogger(__name__)


class StoreCatalogue(NamedTuple):
    """The catalogue of a store.

    Parameters
    ----------
    base
        Of the items that the store was made for: theirs are the first rows.
    latest
        Of the largest file that was served since, which begins with the same items. The others
        are kept in the store, in the rows that were free when they came.
    """

    base: Fingerprint
    latest: Fingerprint

    def to_json(self) -> str:
        """Return the note that the store keeps."""
        return json.dumps({**self.base.to_json(), "latest": self.latest.to_json()})

    @classmethod
    def from_json(cls, note: Mapping[str, Any]) -> "StoreCatalogue":
        """Return what `to_json` noted."""
        return cls(Fingerprint.from_json(note), Fingerprint.from_json(note["latest"]))


def noted_catalogue(reader: Reader) -> StoreCatalogue | None:
    """Return the catalogue that a store is of; None where it has no fingerprint of one yet."""
    note = json.loads(reader.meta(CATALOGUE) or "{}")
    return StoreCatalogue.from_json(note) if "version" in note else None


def known_catalogue(reader: Reader, catalogue: Catalogue) -> StoreCatalogue | None:
    """Return the catalogue that a store is of; None for a store that is of none yet.

    A store that was made before there were fingerprints is of `catalogue` if ids and names agree.
    """
    noted, note = noted_catalogue(reader), reader.meta(CATALOGUE)
    if noted is not None or note is None:
        return noted
    before = json.loads(note)
    count = before["items"]
    if count > len(catalogue) or _names_of(catalogue, count) != before:
        raise DataError(
            f"the store was made for another catalogue ({count} items, distances: "
            f"{', '.join(before['distances'])}) than {catalogue}, and keeps too little of it to "
            f"say what differs. {_WAYS}"
        )
    found = catalogue.fingerprint_of_first(count)
    return StoreCatalogue(found, found)


def tied(batch: Batch, catalogue: Catalogue) -> StoreCatalogue:
    """Tie a new store to a catalogue, or check that it is of this one; return which it is of.

    Items that a larger file has after those of the store are added to the store. Raises DataError,
    with what differs and what can be done, for any other catalogue.
    """
    check_not_relearning(batch, DataError)
    noted = noted_catalogue(batch)
    if noted is not None and noted.latest == catalogue.fingerprint:
        return noted
    # From here on something may be written: two that start at once do so one after the other.
    batch.set_meta(TURN, "")
    known = known_catalogue(batch, catalogue)
    if known is None:
        known = StoreCatalogue(catalogue.fingerprint, catalogue.fingerprint)
    else:
        if noted_catalogue(batch) is None:
            _log.info("the store has a fingerprint of its catalogue from now on")
        _check_same(known, catalogue)
        join_new_items(batch, catalogue, known)
    if len(catalogue) >= known.latest.items:
        known = known._replace(latest=catalogue.fingerprint)
    if batch.meta(CATALOGUE) != known.to_json():
        batch.set_meta(CATALOGUE, known.to_json())
    return known


def join_new_items(batch: Batch, catalogue: Catalogue, known: StoreCatalogue) -> None:
    """Add the items that the file has and the store has not, in rows after all others."""
    size = known.base.items
    kept = batch.items()
    seen = {row.id for row in kept}
    new = [row for row in range(size, len(catalogue)) if catalogue.ids[row] not in seen]
    if not new:
        return
    free = max(size, *(row.row + 1 for row in kept)) if kept else size
    batch.add_items(
        [
            ItemRow(place, catalogue.ids[row], False, item_values(catalogue, row))
            for place, row in enumerate(new, start=free)
        ]
    )
    _log.info("%d items that are new in the catalogue's file were added to the store", len(new))


def check_not_relearning(reader: Reader, kind: type[DataError | StoreError]) -> None:
    """Raise an error while users are being learnt again for another catalogue."""
    if reader.meta(RELEARNING):
        raise kind(
            "users are being learnt again for another catalogue: let `variegate rebuild --relearn` "
            "finish, or start it again if it was stopped; then start the service"
        )


def _check_same(known: StoreCatalogue, catalogue: Catalogue) -> None:
    # An older file than the latest is fine: its items are the first of the store all the same.
    before = known.latest if len(catalogue) >= known.latest.items else known.base
    now = catalogue.fingerprint_of_first(min(before.items, len(catalogue)))
    found = before.differences(now)
    if found:
        accept = f" {_ACCEPT}" if before.means_the_same(now) else ""
        raise DataError(
            f"the store was made for another catalogue than {catalogue}: {'; '.join(found)}. "
            f"{_WAYS}{accept}"
        )


_WAYS: Final = (
    "What users have learnt has no meaning with this one. Serve the catalogue that the store was "
    "made for (the bundled films: install the version of variegate that made the store); or stop "
    "the service and learn every user again from the log, with `variegate rebuild --relearn` and "
    "this catalogue; or give a new store with --store."
)


_ACCEPT: Final = (
    "If the features and distances mean what they did before, `variegate rebuild --accept` takes "
    "this catalogue as it is."
)


def _names_of(catalogue: Catalogue, items: int) -> dict[str, Any]:
    """Return what stores noted of a catalogue before there were fingerprints."""
    return {
        "items": items,
        "ids": sha256("\0".join(catalogue.ids[:items]).encode()).hexdigest(),
        "features": list(catalogue.feature_names),
        "distances": [h.name for h in catalogue.distances],
    }


REVISION: Final = "items_revision"


@dataclass(frozen=True, eq=False)
class CatalogueSnapshot:
    """The items as of one revision; it never changes. Rows keep their numbers in later ones."""

    catalogue: Catalogue
    #: Which items are not retired, (L,)
    open: MaskArray
    revision: str
    #: What was fitted to users, by policy
    priors: Mapping[str, Prior] = field(default_factory=dict)

    def row_of(self, item: str) -> int | None:
        """Return the row of an item, retired or not, or None."""
        try:
            return int(self.catalogue.rows([item])[0])
        except NotFoundError:
            return None

    def rows(self, name: str, ids: Iterable[str]) -> IndexArray:
        """Return the rows of ids in a request, or raise NotFoundError for one that is not known."""
        try:
            return self.catalogue.rows(ids)
        except NotFoundError as error:
            raise NotFoundError(f"`{name}`: {error}") from None


class LiveCatalogue:
    """The live catalogue of one process, for all of its threads.

    Whoever works with it asks once, by `as_of`, and keeps to the answer: another thread may
    take in a change at any moment.

    Parameters
    ----------
    base
        The catalogue of the file.
    """

    def __init__(self, base: Catalogue) -> None:
        #: The items of the file that are the first rows of the store
        self.base = base
        self._known: StoreCatalogue | None = None
        self._snapshot = CatalogueSnapshot(base, np.ones(len(base), dtype=np.bool_), "0")
        self._building = Lock()

    def as_of(self, reader: Reader, revision: str | None = None) -> CatalogueSnapshot:
        """Return the items as the reader's transaction has them, at a revision it read before."""
        if revision is None:
            revision = reader.meta(REVISION) or "0"
        if revision == self._snapshot.revision:
            return self._snapshot
        with self._building:
            if revision == self._snapshot.revision:
                return self._snapshot
            snapshot = self.built(reader, revision)
            # A reader may have begun before the last change; a batch sees what there is.
            if isinstance(reader, Batch) or int(revision) > int(self._snapshot.revision):
                self._snapshot = snapshot
            return snapshot

    def install(self, snapshot: CatalogueSnapshot) -> None:
        """Take a stock that was built for a change; call this once the change is committed."""
        with self._building:
            self._snapshot = snapshot

    def tie(self, batch: Batch) -> None:
        """Tie a new store to this catalogue; raise DataError if it is of another.

        A larger file than the store was made for is cut to the items that the store has as its
        first; the others are in the store. See `tied`.
        """
        self._known = tied(batch, self.base)
        self.base = self.base.first(self._known.base.items)

    def built(
        self, reader: Reader, revision: str, changes: Sequence[ItemRow] | None = None
    ) -> CatalogueSnapshot:
        """Return the file's items with the changes, or raise InputError where they do not fit.

        `changes` are those of an earlier revision; what the store has, if not given.
        """
        self._check_catalogue(reader)
        changes = reader.items() if changes is None else changes
        catalogue = self._changed(changes)
        is_open = np.ones(len(catalogue), dtype=np.bool_)
        is_open[[row.row for row in changes if row.retired]] = False
        return CatalogueSnapshot(catalogue, is_open, revision, _fitted(reader.priors().values()))

    def _check_catalogue(self, reader: Reader) -> None:
        """Raise StoreError where the store is of another catalogue since this process began."""
        check_not_relearning(reader, StoreError)
        if self._known is None:
            return
        noted = noted_catalogue(reader)
        if noted is None or noted.base != self._known.base:
            raise StoreError(
                "the store is of another catalogue by now: start this process again with that one"
            )

    def _changed(self, changes: Sequence[ItemRow]) -> Catalogue:
        size = len(self.base)
        old = [row for row in changes if row.row < size and row.data is not None]
        new = [row for row in changes if row.row >= size]
        catalogue = self.base
        if old:
            catalogue = catalogue.changed(*columns_of(catalogue, old, new_items=False))
        if new:
            catalogue = catalogue.extended(*columns_of(catalogue, new, new_items=True))
        return catalogue


def _fitted(rows: Iterable[PriorRow]) -> dict[str, Prior]:
    return {
        row.policy: Prior.from_bytes(row.data, where=f"the prior of {row.policy}")
        for row in rows
        if row.data is not None
    }
