"""The catalogue as it is now: the file's items, and what was added, changed, retired since.

With it goes what policies begin with, where that was fitted to users: both are shared by all
processes, and one revision counts the changes of both.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

import numpy as np

from variegate.arrays import IndexArray, MaskArray
from variegate.engine.itemdata import columns_of
from variegate.engine.known_catalogue import (
    StoreCatalogue,
    check_not_relearning,
    noted_catalogue,
    tied,
)
from variegate.errors import NotFoundError, StoreError
from variegate.model.catalogue import Catalogue
from variegate.prior import Prior
from variegate.store import Batch, ItemRow, PriorRow, Reader

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
