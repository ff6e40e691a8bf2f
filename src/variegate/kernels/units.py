"""The items' features at length 1, which MMR and DC2B take cosines of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, unit_rows
from variegate.kernels.layout import Layout, blocked

if TYPE_CHECKING:
    from variegate.model.distances import Distance


class Units(NamedTuple):
    """Rows of length 1, or 0, as the compiled loops read them."""

    #: By blocks, (blocks, w, BLOCK), and in double precision, (L, w)
    blocks: NDArray[np.float32]
    rows: FloatArray
    #: The column that they start in: a layout has other data before and after them
    start: int


#: Those of the catalogues whose distances do not keep them.
_made: WeakKeyDictionary[Layout, Units] = WeakKeyDictionary()


def units_of(layout: Layout, distances: "Sequence[Distance]") -> Units:
    """Return the features at length 1: a distance's data, or made at the first call."""
    for h, start in zip(distances, layout.items.starts.tolist(), strict=True):
        if h.on_features and h.formula.name in ("cosine", "angular"):
            return Units(layout.items.h, layout.items.h_rows, start)
    made = _made.get(layout)
    if made is None:
        rows = unit_rows(layout.items.z_rows)
        made = _made[layout] = Units(blocked(rows), rows, 0)
    return made
