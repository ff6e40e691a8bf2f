"""Distances in compiled loops: one pair in double precision, or a block of items in single."""

from math import atan2, pi, sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.choosing import add_products

COSINE, ANGULAR, LENGTH, HAMMING, JACCARD = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True)
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


@njit(
    cache=True,
    nogil=True,
    error_model="numpy",  # a division that may raise is not worked out for eight at a time
    fastmath={"contract", "reassoc", "arcp", "nsz"},
)
def add_block_distances(block, sizes, row, size, kind, scale, work, sums):
    """Add h between each item of a block (w, BLOCK) and one row (w,) to `sums` (BLOCK,)."""
    lanes = len(sums)
    one, inverse = np.float32(1.0), np.float32(1.0 / scale)
    work[:] = 0.0
    if kind in (LENGTH, ANGULAR):
        for i in range(len(row)):
            for a in range(lanes):
                work[a] += (block[i, a] - row[i]) * (block[i, a] - row[i])
    else:
        add_products(block, row, work)
    if kind == COSINE:
        for a in range(lanes):
            sums[a] += (one - min(max(work[a], -one), one)) * inverse
    elif kind == LENGTH:
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
            blind = sizes[a] > 0 or size > 0
            sums[a] += (np.float32(0.5) if blind else turn) * inverse
