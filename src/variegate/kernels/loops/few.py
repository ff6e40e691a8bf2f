"""LMDH's list from a few items, in double precision."""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.distances import (
    ANGULAR,
    COSINE,
    JACCARD,
    add_distances,
    scratch_of,
)
from variegate.kernels.loops.lmdh import (
    FAST,
    FOLD,
    fill_parts,
    fill_scores,
    fill_squares,
    place_of,
    table_of,
)
from variegate.kernels.loops.selection import TILE


@njit(cache=True, nogil=True)
def select_exactly(first, rows, items, belief, factors, answer):
    """Fill `answer` from position `first` on, from some `rows`, in double precision."""
    (chosen, values, x), m = answer, len(items.kinds)
    lanes = -(-len(rows) // FOLD) * FOLD
    z, space = in_one_block(items.z_rows, rows, lanes), np.empty(lanes * (3 + 2 * m) + 1)
    h, sizes = distance_data(items, rows, lanes)
    table, scratch = table_of(space, 1, m, lanes), scratch_of(h.shape[1], lanes, np.float64)
    fill_parts(z, table, belief)
    table[0][0, len(rows) :] = -np.inf
    fill_squares(z, table, belief)
    for p in chosen[: max(first - 1, 0)]:
        add_distances(p, items, h, sizes, table[3], scratch)
    if m == 1 and items.kinds[0] == COSINE:
        return select_by_cosine(first, rows, items, h[0], table, belief, factors, answer)
    mean, sums, scores, tops = table[0][0], table[3], table[4][0], table[5]
    for n in range(first, len(factors)):
        if n:
            add_distances(chosen[n - 1], items, h, sizes, sums, scratch)
        fill_scores(table, belief, factors[n])
        top = tops[0]
        if not top > -np.inf:
            return False
        a = place_of(top, scores)
        chosen[n], values[n] = rows[a], top
        for c in range(m):
            x[n, c] = max(sums[0, c, a], 0.0) * factors[n]  # rounding can go below 0
        mean[a] = -np.inf
    return True


@njit(cache=True, nogil=True, fastmath=FAST)
def select_by_cosine(first, rows, items, h, table, belief, factors, answer):
    """Do the same for one distance, the cosine: without a call, a position takes half the time."""
    (chosen, values, x), inverse, (w, lanes) = answer, 1.0 / items.scales[0], h.shape
    last = w - 1
    mean, square, cross = table[0][0], table[1][0], table[2][0, 0]
    sums, scores, h_rows = table[3][0, 0], table[4][0], items.h_rows
    beta, g, alpha = belief[0][-1], belief[1][-1, -1], belief[2]
    for n in range(first, len(factors)):
        if n:
            row, one = h_rows[chosen[n - 1]], inverse
            for i in range(0, w, TILE):
                second, third, fourth = min(i + 1, last), min(i + 2, last), min(i + 3, last)
                p, q = inverse * row[i], inverse * row[second] * (i + 1 <= last)
                r, s = (
                    inverse * row[third] * (i + 2 <= last),
                    inverse * row[fourth] * (i + 3 <= last),
                )
                for a in range(lanes):
                    near = p * h[i, a] + q * h[second, a] + r * h[third, a] + s * h[fourth, a]
                    sums[a] += one - near
                one = 0.0
        slope, part = beta * factors[n], g * factors[n]
        for a in range(lanes):
            total = cross[a] + part * sums[a]
            scores[a] = mean[a] + slope * sums[a] + alpha * sqrt(square[a] + total * total)
        place, top = -1, -np.inf
        for a in range(len(rows)):
            if scores[a] > top:
                place, top = a, scores[a]
        if place < 0:
            return False
        chosen[n], values[n], x[n, 0] = rows[place], top, max(sums[place], 0.0) * factors[n]
        mean[place] = -np.inf
    return True


@njit(cache=True, nogil=True)
def distance_data(items, rows, lanes):
    """Return the data of the distances of some rows, and their sizes where a distance needs them.

    They are far apart in memory, so what is not needed is not read.
    """
    kinds, own = items.kinds, rows[:0]
    for c in range(len(kinds)):
        if kinds[c] == ANGULAR or kinds[c] == JACCARD:
            own = rows
    return in_one_block(items.h_rows, rows, lanes), in_one_block(items.sizes.T, own, lanes)


@njit(cache=True, nogil=True)
def in_one_block(table, rows, lanes):
    """Return some rows of a table (L, w) as (1, w, lanes), padded with zeros."""
    copy = np.zeros((1, table.shape[1], lanes))
    for a in range(len(rows)):
        for i in range(table.shape[1]):
            copy[0, i, a] = table[rows[a], i]
    return copy
