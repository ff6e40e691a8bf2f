"""The catalogue as it is now: the file's items, and what was added, changed, retired since."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import numpy as np

from variegate.arrays import IndexArray, MaskArray
from variegate.catalogue import Catalogue
from variegate.errors import DataError, NotFoundError
from variegate.service.desk.itemdata import columns_of
from variegate.store import Batch, ItemRow, Reader

REVISION: Final = "items_revision"
_IDENTITY: Final = "catalogue"


class Shelf:
    """The live catalogue of one process. Rows keep their numbers whatever happens to items.

    Parameters
    ----------
    base
        The catalogue of the file.
    """

    def __init__(self, base: Catalogue) -> None:
        self.base: Final = base
        self.catalogue = base
        self.open: MaskArray = np.ones(len(base), dtype=np.bool_)
        self.revision = "0"

    def refresh(self, reader: Reader) -> None:
        """Take in what any process changed since the last time."""
        revision = reader.meta(REVISION) or "0"
        if revision != self.revision:
            self._take(reader.items())
            self.revision = revision

    def check_identity(self, batch: Batch) -> None:
        """Tie a new store to this catalogue; raise DataError if it is tied to another."""
        mine, known = identity_of(self.base), batch.meta(_IDENTITY)
        if known is None:
            batch.set_meta(_IDENTITY, json.dumps(mine))
        elif json.loads(known) != mine:
            raise DataError(
                f"the store was made for another catalogue ({_described(json.loads(known))}) than "
                f"{self.base}: serve that one, or give a new store with --store"
            )

    def row_of(self, item: str) -> int:
        """Return the row of an item, retired or not."""
        return int(self.catalogue.rows([item])[0])

    def open_rows(self, name: str, ids: Iterable[str]) -> IndexArray:
        """Return the rows of ids in a request, or raise NotFoundError for one that is not known."""
        try:
            return self.catalogue.rows(ids)
        except NotFoundError as error:
            raise NotFoundError(f"`{name}`: {error}") from None

    def _take(self, changes: Sequence[ItemRow]) -> None:
        """Build the catalogue anew from the file's and the changes."""
        size = len(self.base)
        old = [row for row in changes if row.row < size and row.data is not None]
        new = [row for row in changes if row.row >= size]
        catalogue = self.base
        if old:
            catalogue = catalogue.changed(*columns_of(catalogue, old, new_items=False))
        if new:
            catalogue = catalogue.extended(*columns_of(catalogue, new, new_items=True))
        is_open = np.ones(len(catalogue), dtype=np.bool_)
        is_open[[row.row for row in changes if row.retired]] = False
        self.catalogue, self.open = catalogue, is_open


def identity_of(catalogue: Catalogue) -> dict[str, Any]:
    """Return what makes two catalogues one and the same for what users have learnt."""
    ids = sha256("\0".join(catalogue.ids).encode()).hexdigest()
    return {
        "items": len(catalogue),
        "ids": ids,
        "features": list(catalogue.feature_names),
        "distances": [h.name for h in catalogue.distances],
    }


def _described(identity: Mapping[str, Any]) -> str:
    return f"{identity['items']} items, distances: {', '.join(identity['distances'])}"
