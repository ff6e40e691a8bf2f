"""The distances of all pairs in compiled loops, in single precision."""

import numpy as np
from numba import njit

from variegate.kernels.loops.distances import add_block_distances


@njit(cache=True, nogil=True)
def fill_pairs(items, table):
    """Fill `table` (L, blocks, m, BLOCK) with h between each item and every other."""
    for last in range(len(table)):
        row = items.h_rows[last].astype(np.float32)
        for b in range(table.shape[1]):
            table[last, b] = 0.0
            add_distances(b, last, row, items, (items.h, items.sizes_blocks), table[last, b])


@njit(cache=True, nogil=True)
def add_distances(b, last, row, items, data, sums):
    """Add h between the items of block b and one row to `sums` (m, BLOCK).

    `data` are the blocks of h and of the sizes; `row` has the data of row `last`.
    """
    h, sizes = data
    work = np.empty(sums.shape[1], dtype=np.float32)
    for c in range(len(sums)):
        s, e = items.starts[c], items.starts[c] + items.widths[c]
        add_block_distances(
            h[b, s:e],
            sizes[b, c],
            row[s:e],
            np.float32(items.sizes[c, last]),
            items.kinds[c],
            items.scales[c],
            work,
            sums[c],
        )


@njit(cache=True, nogil=True)
def add_known(known, sums):
    """Add distances that are known (m, BLOCK) to `sums`."""
    for c in range(len(sums)):
        for a in range(sums.shape[1]):
            sums[c, a] += known[c, a]
