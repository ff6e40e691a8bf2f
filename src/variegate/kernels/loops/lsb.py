"""LSB's list in compiled loops: what a pick covers scales the weights for the next.

With u the share of each topic that is still uncovered, w . Delta + alpha sqrt(Delta' M^-1 Delta)
of Delta = coverage * u is the same sum over the coverage itself, with w * u and G diag(u) for
the belief (w, G, alpha), where G'G = M^-1 and G is lower triangular.

`items` are the blocks of the features and the rows of the coverage. The coverage is the features
clipped to [0, 1], unless it is `own`: then its rows are transposed into blocks on the way.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.selection import (
    TILE,
    add_products,
    add_squares,
    dot,
    highest_place,
    is_better,
    length_by,
    mask_bounds,
    next_place,
    padded,
)

FAST = {"contract", "reassoc", "arcp", "nsz"}
ZERO, ONE = np.float32(0.0), np.float32(1.0)


@njit(cache=True, nogil=True)
def fill_list(items, own, belief, free, slack, space, tops, chosen, scores, gains):
    """Fill `chosen`, `scores` (k,) and `gains` (k, D) with LSB's list; `free` is overwritten.

    `slack` is the largest rounding error of a score for a belief of size 1. Returns how many
    positions were filled: fewer than k if no candidate is left, or no score is a number.
    """
    rows, bounds = items[1], space[2]
    uncovered, delta = np.ones(rows.shape[1]), np.empty(rows.shape[1])
    for n in range(len(chosen)):
        size = scan(items, own, belief, uncovered, free, slack, space, tops)
        chosen[n] = highest_place(bounds, tops)
        if not free[chosen[n]]:
            return n
        scores[n] = exact_score(chosen[n], rows, belief, uncovered, gains[n])
        if not np.isfinite(scores[n]):  # every place would qualify, even those without an item
            return n
        item = next_place(bounds, tops, scores[n] / size, 0)
        while item >= 0:
            score = exact_score(item, rows, belief, uncovered, delta)
            if is_better(score, item, scores[n], chosen[n]):
                chosen[n], scores[n] = item, score
                gains[n] = delta
            item = next_place(bounds, tops, scores[n] / size, item + 1)
        free[chosen[n]] = False
        for i in range(len(uncovered)):
            uncovered[i] *= 1.0 - min(max(rows[chosen[n], i], 0.0), 1.0)
    return len(chosen)


@njit(cache=True, nogil=True)
def scan(items, own, belief, uncovered, free, slack, space, tops):
    """Bound the score of every item, given what is uncovered; return the scale of the bounds."""
    (z, rows), bounds, lanes = items, space[2], space.shape[2]
    single, size = scaled_belief(belief, uncovered)
    cover = np.zeros((len(uncovered), lanes), dtype=np.float32)
    work = np.empty((TILE + 1, lanes), dtype=np.float32)
    for b in range(len(tops)):
        if own:
            transpose_block(rows[b * lanes : (b + 1) * lanes], cover)
        else:
            clip_block(z[b], cover)
        block_bounds(cover, single, slack, work[:TILE], work[TILE], bounds[b])
        tops[b] = mask_bounds(bounds[b], free[b * lanes : (b + 1) * lanes])
    return size


@njit(cache=True, nogil=True)
def scaled_belief(belief, uncovered):
    """Return the belief times what is uncovered, in single precision, and its size.

    It is divided by that size: topics are covered fast, and small squares would underflow.
    """
    w, G, alpha = belief
    mean, root = w * uncovered, G * uncovered
    size = np.sqrt((mean**2).sum()) + alpha * np.sqrt((root**2).sum())
    size = size if size > 0.0 else 1.0
    g = padded(root / size, len(root), np.float32)
    return ((mean / size).astype(np.float32), g, np.float32(alpha)), size


@njit(cache=True, nogil=True, fastmath=FAST)
def clip_block(z, cover):
    """Fill `cover` (D, BLOCK) with a block of features clipped to [0, 1]."""
    for i in range(len(z)):
        for a in range(z.shape[1]):
            cover[i, a] = min(max(z[i, a], ZERO), ONE)


@njit(cache=True, nogil=True)
def transpose_block(rows, cover):
    """Fill `cover` (D, BLOCK) with the transpose of at most a block of rows."""
    for a in range(len(rows)):
        for i in range(len(cover)):
            cover[i, a] = rows[a, i]


@njit(cache=True, nogil=True, fastmath=FAST)
def block_bounds(cover, single, slack, work, square, bounds):
    """Bound a block's scores by its coverage and the scaled belief."""
    w, g, alpha = single
    square[:] = 0.0
    add_squares(cover, g, work, square)
    for a in range(len(bounds)):
        bounds[a] = slack + alpha * sqrt(square[a])
    add_products(cover, w, bounds)


@njit(cache=True, nogil=True)
def exact_score(item, rows, belief, uncovered, delta):
    """Return the score of one item, in double precision; fills the topics it adds, `delta`."""
    w, G, alpha = belief
    for i in range(len(w)):
        delta[i] = min(max(rows[item, i], 0.0), 1.0) * uncovered[i]
    return dot(w, delta) + alpha * length_by(G, delta)
