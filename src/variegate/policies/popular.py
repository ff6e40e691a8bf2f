"""Popular: the most popular items."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_numbers
from variegate.errors import InputError
from variegate.kernels.baselines import top_of
from variegate.kernels.layout import Layout
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.search import FixedScores, Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation, Policy

#: The attribute of each catalogue as numbers, shared by the policies of all users.
_columns: WeakKeyDictionary[Catalogue, FloatArray] = WeakKeyDictionary()


class Popular(Policy):
    """Rank by popularity, the same for every user.

    Parameters
    ----------
    popularity
        One number per item, (L,); by default the catalogue's attribute ``popularity``.
        Without either, items are in the catalogue's order.
    """

    name = "popular"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        popularity: ArrayLike | None = None,
        normaliser: Normaliser = "growing",
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        self._popularity = None
        if popularity is not None:
            self._popularity = check_numbers("popularity", popularity, ndim=1)
            if len(self._popularity) != len(catalogue):
                raise InputError(
                    f"`popularity` must have {len(catalogue)} numbers, got {len(self._popularity)}"
                )

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate | None:
        column = self._column()
        if column is None:
            return None
        items, scores = top_of(column, free, k)
        return self._slate_by_loops(layout, items, scores)

    def _column(self) -> FloatArray | None:
        """Return the popularity of every item, (L,); None if some are not numbers."""
        if self._popularity is not None:
            return self._popularity
        column = _columns.get(self.catalogue)
        if column is None:
            try:
                column = self._scores(np.arange(len(self.catalogue)))
            except InputError:  # raised only if such an item is a candidate
                return None
            _columns[self.catalogue] = column
        return column

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        return FixedScores(self._scores(rows))

    def _explain(self, slate: Slate) -> Explanation:
        k = len(slate)
        return Explanation(self._scores(slate.items), np.zeros((k, 0)), np.zeros(k), ())

    def _scores(self, rows: IndexArray) -> FloatArray:
        if self._popularity is not None:
            return self._popularity[rows]
        known = self.catalogue.attributes.get("popularity")
        if known is None:
            return np.zeros(len(rows))
        # An item that was added later has no number yet.
        column = [0.0 if known[row] is None else known[row] for row in rows]
        return check_numbers("attributes['popularity']", column, ndim=1)
