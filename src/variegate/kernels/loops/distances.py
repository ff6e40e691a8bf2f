"""Distances in compiled loops: between two items in double precision, over a block in single.

Also the gains of a finished list (Eq. 7).
"""

from math import atan2, pi, sqrt

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "arcp", "nsz"}
COSINE, ANGULAR, LENGTH, HAMMING, JACCARD = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True, inline="always")
def pair_distance(row, other, kind, size, other_size, scale):
    """Return h between two rows of data."""
    if kind == HAMMING:
        return (1.0 if row[0] != other[0] else 0.0) / scale
    dot, apart, together = 0.0, 0.0, 0.0
    if kind in (ANGULAR, LENGTH):
        for i in range(len(row)):
            apart += (row[i] - other[i]) ** 2
            together += (row[i] + other[i]) ** 2
    else:
        for i in range(len(row)):
            dot += row[i] * other[i]
    if kind == COSINE:
        return (1.0 - min(max(dot, -1.0), 1.0)) / scale
    if kind == ANGULAR:
        if size > 0.0 or other_size > 0.0:
            return 0.5 / scale
        return 2.0 * atan2(sqrt(apart), sqrt(together)) / pi / scale
    if kind == LENGTH:
        return sqrt(apart) / scale
    either = size + other_size - dot
    return (1.0 - dot / either if either > 0.0 else 0.0) / scale


@njit(cache=True, nogil=True, inline="always")
def item_distance(c, item, other, items):
    """Return distance c between two items."""
    s, e = items.starts[c], items.starts[c] + items.widths[c]
    return pair_distance(
        items.h_rows[item, s:e],
        items.h_rows[other, s:e],
        items.kinds[c],
        items.sizes[c, item],
        items.sizes[c, other],
        items.scales[c],
    )


@njit(cache=True, nogil=True)
def fill_gains(items, chosen, factors, x):
    """Fill `x` (k, m) with the scaled sums of each item's distances to those above it (Eq. 7).

    Returns whether all of `chosen` are items.
    """
    for n in range(len(chosen)):
        row = chosen[n]
        if row < 0 or row >= len(items.h_rows):
            return False
        for c in range(x.shape[1]):
            total = 0.0
            for p in chosen[:n]:
                total += item_distance(c, row, p, items)
            x[n, c] = total * factors[n]
    return True


@njit(cache=True, nogil=True)
def add_distances(pick, items, h, sizes, sums, work):
    """Add every distance to the row `pick` to the sums of some blocks.

    `h` (blocks, w, BLOCK) and `sizes` (blocks, m, BLOCK) are the data of the blocks' items, and
    `sums` (blocks, m, BLOCK) are theirs; `work` has space for a block.
    """
    for c in range(sums.shape[1]):
        s, e, scale = items.starts[c], items.starts[c] + items.widths[c], items.scales[c]
        row, size = items.h_rows[pick, s:e].astype(np.float32), np.float32(items.sizes[c, pick])
        if items.kinds[c] == COSINE:
            add_cosine_sums(h, s, row, np.float32(1.0 / scale), work, sums, c)
            continue
        for b in range(len(sums)):
            add_block_distances(
                h[b, s:e], sizes[b, c], row, size, items.kinds[c], scale, work, sums[b, c]
            )


@njit(cache=True, nogil=True, fastmath=FAST)
def add_cosine_sums(h, s, row, inverse, work, sums, c):
    """Add 1 minus the product with `row` to column c of the sums of some blocks."""
    lanes, size = len(work), 0
    weights, columns = np.zeros(len(row) + 3, row.dtype), np.zeros(len(row) + 3, np.intp)
    for i in range(len(row)):
        if row[i] != 0:  # labels are mostly zeros
            weights[size], columns[size] = row[i], s + i
            size += 1
    for b in range(len(sums)):
        work[:] = 1.0
        for n in range(0, size, 4):
            p, q, r, t = weights[n], weights[n + 1], weights[n + 2], weights[n + 3]
            i, j, k, m = columns[n], columns[n + 1], columns[n + 2], columns[n + 3]
            for a in range(lanes):
                work[a] -= p * h[b, i, a] + q * h[b, j, a] + r * h[b, k, a] + t * h[b, m, a]
        for a in range(lanes):
            sums[b, c, a] += work[a] * inverse


@njit(
    cache=True,
    nogil=True,
    error_model="numpy",  # a division that may raise is not vectorised
    fastmath=FAST,
)
def add_block_distances(block, sizes, row, size, kind, scale, work, sums):
    """Add h between each item of a block (w, BLOCK) and one row (w,) to `sums` (BLOCK,).

    Any kind but cosines.
    """
    lanes = len(sums)
    one, inverse = np.float32(1.0), np.float32(1.0 / scale)
    work[:] = 0.0
    if kind in (LENGTH, ANGULAR):
        for i in range(len(row)):
            for a in range(lanes):
                work[a] += (block[i, a] - row[i]) * (block[i, a] - row[i])
    else:
        for i in range(len(row)):
            share = row[i]
            if share != 0.0:
                for a in range(lanes):
                    work[a] += share * block[i, a]
    if kind == LENGTH:
        for a in range(lanes):
            sums[a] += sqrt(work[a]) * inverse
    elif kind == HAMMING:
        for a in range(lanes):
            sums[a] += inverse if block[0, a] != row[0] else np.float32(0.0)
    elif kind == JACCARD:
        for a in range(lanes):
            either = sizes[a] + size - work[a]
            sums[a] += (one - work[a] / either) * inverse if either > 0 else np.float32(0.0)
    else:
        for a in range(lanes):
            half = min(sqrt(work[a]) * np.float32(0.5), one)
            turn = np.float32(2.0 / pi) * np.arcsin(half)
            is_zero = sizes[a] > 0 or size > 0
            sums[a] += (np.float32(0.5) if is_zero else turn) * inverse
