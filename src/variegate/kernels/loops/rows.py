"""Items row by row: their share of a score, and their distances to one item."""

from math import asin, pi, sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.distances import ANGULAR, COSINE, HAMMING, JACCARD, LENGTH

FAST = {"contract", "reassoc", "arcp", "nsz"}


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_parts(z, eta, P, mean, variance, cross):
    """Fill theta . z and z'P_zz z (n,), and z'P_zx (n, m), for rows z (n, d)."""
    n, d = z.shape
    p = len(eta)
    moved = np.empty(p)
    for a in range(n):
        total = 0.0
        moved[:] = 0.0
        for i in range(d):
            total += eta[i] * z[a, i]
            for j in range(p):
                moved[j] += z[a, i] * P[i, j]
        mean[a] = total
        total = 0.0
        for i in range(d):
            total += moved[i] * z[a, i]
        variance[a] = total
        cross[a] = moved[d:]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_distances(rows, row, kind, scale, column, sums):
    """Add h between each of `rows` (n, w) and `row` (w,) to a column of `sums` (n, m)."""
    n, w = rows.shape
    zero, one = np.float32(0.0), np.float32(1.0)
    size = zero
    for i in range(w):
        size += abs(row[i])
    for a in range(n):
        dot, apart, own, h = zero, zero, zero, zero
        if kind in (LENGTH, ANGULAR):
            for i in range(w):
                apart += (rows[a, i] - row[i]) * (rows[a, i] - row[i])
        else:
            for i in range(w):
                dot += rows[a, i] * row[i]
        if kind in (JACCARD, ANGULAR):
            for i in range(w):
                own += abs(rows[a, i])
        if kind == COSINE:
            h = one - min(max(dot, -one), one)
        elif kind == LENGTH:
            h = np.float32(sqrt(apart))
        elif kind == HAMMING:
            h = one if rows[a, 0] != row[0] else zero
        elif kind == JACCARD:
            either = own + size - dot
            h = one - dot / either if either > zero else zero
        elif own > zero and size > zero:
            h = np.float32(2.0 / pi * asin(min(0.5 * sqrt(apart), 1.0)))
        else:
            h = np.float32(0.5)
        sums[a, column] += h / scale
