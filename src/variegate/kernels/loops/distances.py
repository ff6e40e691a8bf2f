"""Distances in compiled loops: between two items in double precision, over a block in single.

Also the gains of a finished list (Eq. 7).
"""

from math import atan2, pi, sqrt

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "arcp", "nsz"}
COSINE, ANGULAR, LENGTH, HAMMING, JACCARD = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True, inline="always")
def item_distance(c, item, other, rows, kinds, starts, widths, scales, sizes):
    """Return distance c between two items; for the arrays see `Items`.

    To take an array from a tuple costs as much as a distance, so callers do it once.
    """
    s, kind, scale = starts[c], kinds[c], scales[c]
    e = s + widths[c]
    if kind == HAMMING:
        return (1.0 if rows[item, s] != rows[other, s] else 0.0) / scale
    dot, apart, together = 0.0, 0.0, 0.0
    if kind == ANGULAR or kind == LENGTH:  # noqa: SIM109 - numba compiles `in` to a slow loop
        for i in range(s, e):
            apart += (rows[item, i] - rows[other, i]) ** 2
            together += (rows[item, i] + rows[other, i]) ** 2
    else:
        for i in range(s, e):
            dot += rows[item, i] * rows[other, i]
    if kind == COSINE:
        return (1.0 - min(max(dot, -1.0), 1.0)) / scale
    if kind == LENGTH:
        return sqrt(apart) / scale
    size, other_size = sizes[c, item], sizes[c, other]
    if kind == ANGULAR:
        if size > 0.0 or other_size > 0.0:
            return 0.5 / scale
        return 2.0 * atan2(sqrt(apart), sqrt(together)) / pi / scale
    either = size + other_size - dot
    return (1.0 - dot / either if either > 0.0 else 0.0) / scale


@njit(cache=True, nogil=True)
def fill_gains(items, chosen, factors, x):
    """Fill `x` (k, m) with the scaled sums of each item's distances to those above it (Eq. 7).

    Returns whether all of `chosen` are items.
    """
    rows, kinds, starts = items.h_rows, items.kinds, items.starts
    widths, scales, sizes = items.widths, items.scales, items.sizes
    for n in range(len(chosen)):
        row = chosen[n]
        if row < 0 or row >= len(rows):
            return False
        for c in range(x.shape[1]):
            total = 0.0
            for p in chosen[:n]:
                total += item_distance(c, row, p, rows, kinds, starts, widths, scales, sizes)
            x[n, c] = total * factors[n]
    return True


@njit(cache=True, nogil=True)
def scratch_of(width, lanes, dtype):
    """Return what `add_distances` overwrites: (2, lanes) numbers, weights and their columns."""
    return np.empty((2, lanes), dtype), np.empty(width + 8, dtype), np.empty(width + 8, np.intp)


@njit(cache=True, nogil=True)
def add_distances(pick, items, h, sizes, sums, scratch):
    """Add every distance to the row `pick` to the sums of some blocks.

    `h` (blocks, w, lanes) and `sizes` (blocks, m, lanes) are the data of the blocks' items, and
    `sums` (blocks, m, lanes) are theirs, in one precision; `scratch` is that of `scratch_of`.
    """
    work = scratch[0]
    for c in range(sums.shape[1]):
        s, e, scale = items.starts[c], items.starts[c] + items.widths[c], items.scales[c]
        row = items.h_rows[pick, s:e]
        if items.kinds[c] == COSINE:
            add_cosine_sums(h, s, row, work.dtype.type(1.0 / scale), sums, c, scratch)
            continue
        size, kind = work.dtype.type(items.sizes[c, pick]), items.kinds[c]
        add_other_sums(h, s, row, sizes, size, kind, scale, work, sums, c)


@njit(cache=True, nogil=True, fastmath=FAST)
def add_cosine_sums(h, s, row, inverse, sums, c, scratch):
    """Add 1 minus the product with `row`, times `inverse`, to column c of some blocks' sums."""
    (_work, weights, columns), size = scratch, 0
    for i in range(len(row)):
        if row[i] != 0:  # labels are mostly zeros
            weights[size], columns[size] = row[i] * inverse, s + i
            size += 1
    for n in range(size, size + 8):
        weights[n], columns[n] = 0, 0
    for b in range(len(sums)):
        n, added = 0, inverse
        while n + 4 < size:  # each sum is read and written once for eight numbers
            p, q, r, t = weights[n], weights[n + 1], weights[n + 2], weights[n + 3]
            i, j, k, m = columns[n], columns[n + 1], columns[n + 2], columns[n + 3]
            e, f, g, o = weights[n + 4], weights[n + 5], weights[n + 6], weights[n + 7]
            u, v, x, y = columns[n + 4], columns[n + 5], columns[n + 6], columns[n + 7]
            for a in range(sums.shape[2]):
                near = p * h[b, i, a] + q * h[b, j, a] + r * h[b, k, a] + t * h[b, m, a]
                far = e * h[b, u, a] + f * h[b, v, a] + g * h[b, x, a] + o * h[b, y, a]
                sums[b, c, a] += added - (near + far)
            n, added = n + 8, inverse - inverse
        if n < max(size, 1):
            p, q, r, t = weights[n], weights[n + 1], weights[n + 2], weights[n + 3]
            i, j, k, m = columns[n], columns[n + 1], columns[n + 2], columns[n + 3]
            for a in range(sums.shape[2]):
                near = p * h[b, i, a] + q * h[b, j, a] + r * h[b, k, a] + t * h[b, m, a]
                sums[b, c, a] += added - near


@njit(
    cache=True,
    nogil=True,
    error_model="numpy",  # a division that may raise is not vectorised
    fastmath=FAST,
)
def add_other_sums(h, s, row, sizes, size, kind, scale, work, sums, c):
    """Add h between the items of some blocks and one row (w,) to column c of their sums.

    Any kind but cosines.
    """
    lanes, one, inverse = len(work[0]), work.dtype.type(1.0), work.dtype.type(1.0 / scale)
    turn = work.dtype.type(2.0 / pi) * inverse
    is_apart = kind == LENGTH or kind == ANGULAR  # numba compiles `in` to a slow loop
    label = work.dtype.type(row[0] if kind == HAMMING else 0.0)
    for b in range(len(sums)):
        if kind == HAMMING:
            for a in range(lanes):
                sums[b, c, a] += inverse if h[b, s, a] != label else 0 * one
            continue
        work[0] = 0.0
        work[1] = 0.0
        for i in range(len(row)):
            share = work.dtype.type(row[i])
            if is_apart:
                for a in range(lanes):
                    work[0, a] += (h[b, s + i, a] - share) * (h[b, s + i, a] - share)
            elif share != 0.0:
                for a in range(lanes):
                    work[0, a] += share * h[b, s + i, a]
            if kind == ANGULAR:
                for a in range(lanes):
                    work[1, a] += (h[b, s + i, a] + share) * (h[b, s + i, a] + share)
        if kind == LENGTH:
            for a in range(lanes):
                sums[b, c, a] += sqrt(work[0, a]) * inverse
        elif kind == JACCARD:
            for a in range(lanes):
                either = sizes[b, c, a] + size - work[0, a]
                sums[b, c, a] += (one - work[0, a] / either) * inverse if either > 0 else 0 * one
        else:
            for a in range(lanes):
                is_zero = sizes[b, c, a] > 0 or size > 0
                angle = work.dtype.type(atan2(sqrt(work[0, a]), sqrt(work[1, a]))) * turn
                sums[b, c, a] += work.dtype.type(0.5) * inverse if is_zero else angle
