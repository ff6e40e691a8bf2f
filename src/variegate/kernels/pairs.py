"""The distances of all pairs of a small catalogue, kept once enough lists were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from variegate.kernels.layout import Items

#: Bytes that the distances of a catalogue may take.
MOST_BYTES: Final = 64 * 2**20
#: Numbers that an item's distances are worked out from: of fewer, reading takes as long.
LEAST_WIDTH: Final = 32

#: While there are none.
NO_PAIRS: Final[NDArray[np.float32]] = np.empty((0, 0, 0, 0), dtype=np.float32)


class Pairs:
    """Works the distances out when as many were worked out one by one: nobody pays twice.

    Two threads may do so at once; both come to the same.
    """

    def __init__(self) -> None:
        self._picks = 0
        self._table = NO_PAIRS

    def for_list(self, items: Items, k: int) -> NDArray[np.float32]:
        """Return the distances, (L, blocks, m, BLOCK), or none; a list of `k` asks for them."""
        if len(self._table):
            return self._table
        self._picks += k
        if self._picks >= len(items.z_rows) and _pay(items):
            from variegate.kernels.loops.pairs import fill_pairs  # numba: not at import

            table = np.empty((len(items.z_rows), *items.sizes_blocks.shape), dtype=np.float32)
            fill_pairs(items, table)
            self._table = table
        return self._table


def _pay(items: Items) -> bool:
    numbers = len(items.z_rows) * items.sizes_blocks.size
    return items.h.shape[1] >= LEAST_WIDTH and 4 * numbers <= MOST_BYTES
