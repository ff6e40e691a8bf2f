"""Which catalogue a store is of, and what may be served in its place."""

import json
import logging
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from variegate.engine.itemdata import item_values
from variegate.errors import DataError, StoreError
from variegate.model.catalogue import Catalogue
from variegate.model.fingerprint import Fingerprint
from variegate.store import CATALOGUE, RELEARNING, Batch, ItemRow, Reader

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
