"""LSB's list in compiled loops: what a pick covers scales the weights of the next.

With u the share of each topic that is still uncovered, w . Delta + alpha sqrt(Delta' M^-1 Delta)
of Delta = coverage * u is the same sum over the coverage itself, with w * u and G diag(u) for
the belief (w, G, alpha), where G'G = M^-1 and G is lower triangular.

`items` are the blocks of the features and the rows of the coverage. The features, cut to [0, 1],
are the coverage, unless it is `own`: then blocks are made from its rows on the way.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.selection import (
    add_products,
    add_squares,
    dot,
    highest,
    length_by,
    next_near,
    shut,
    wins,
)

FAST = {"contract", "reassoc", "arcp", "nsz"}
NOUGHT, ONE = np.float32(0.0), np.float32(1.0)


@njit(cache=True, nogil=True)
def exact_score(item, rows, belief, uncovered, delta):
    """Return the score of one item, in double precision; fills the topics it adds, `delta`."""
    w, G, alpha = belief
    for i in range(len(w)):
        delta[i] = min(max(rows[item, i], 0.0), 1.0) * uncovered[i]
    return dot(w, delta) + alpha * length_by(G, delta)


@njit(cache=True, nogil=True, fastmath=FAST)
def block_cut(z, cover):
    """Fill `cover` (D, BLOCK) with a block of features cut to [0, 1]."""
    for i in range(len(z)):
        for a in range(z.shape[1]):
            cover[i, a] = min(max(z[i, a], NOUGHT), ONE)


@njit(cache=True, nogil=True)
def block_turned(rows, cover):
    """Fill `cover` (D, BLOCK) with at most a block of rows, a topic after another."""
    for a in range(len(rows)):
        for i in range(len(cover)):
            cover[i, a] = rows[a, i]


@njit(cache=True, nogil=True, fastmath=FAST)
def block_bounds(cover, single, slack, one, two, square, bounds):
    """Bound a block's scores by its coverage and the scaled belief."""
    w, G, alpha = single
    square[:] = 0.0
    add_squares(cover, G, one, two, square)
    for a in range(len(bounds)):
        bounds[a] = slack + alpha * sqrt(square[a])
    add_products(cover, w, bounds)


@njit(cache=True, nogil=True)
def scaled_belief(belief, uncovered):
    """Return the belief times what is uncovered, in single precision, and its size.

    It is divided by that size: topics fill up fast, and small squares would come to nothing.
    """
    w, G, alpha = belief
    mean, root = w * uncovered, G * uncovered
    size = np.sqrt((mean**2).sum()) + alpha * np.sqrt((root**2).sum())
    size = size if size > 0.0 else 1.0
    single = (mean / size).astype(np.float32), (root / size).astype(np.float32), np.float32(alpha)
    return single, size


@njit(cache=True, nogil=True)
def scan(items, own, belief, uncovered, free, slack, space, tops):
    """Bound the score of every item, given what is uncovered; return the unit of the bounds."""
    (z, rows), bounds, lanes = items, space[2], space.shape[2]
    single, size = scaled_belief(belief, uncovered)
    cover = np.zeros((len(uncovered), lanes), dtype=np.float32)
    room = np.empty((3, lanes), dtype=np.float32)
    for b in range(len(tops)):
        if own:
            block_turned(rows[b * lanes : (b + 1) * lanes], cover)
        else:
            block_cut(z[b], cover)
        block_bounds(cover, single, slack, room[0], room[1], room[2], bounds[b])
        tops[b] = shut(bounds[b], free[b * lanes : (b + 1) * lanes])
    return size


@njit(cache=True, nogil=True)
def fill_list(items, own, belief, free, slack, space, tops, chosen, scores, gains):
    """Fill `chosen`, `scores` (k,) and `gains` (k, D) with LSB's list; `free` is used up.

    `slack` is what a score may be off by for a belief of size 1. Returns how many were filled:
    fewer where no candidate is left, or no score is a number.
    """
    rows, bounds = items[1], space[2]
    uncovered, delta = np.ones(rows.shape[1]), np.empty(rows.shape[1])
    for n in range(len(chosen)):
        size = scan(items, own, belief, uncovered, free, slack, space, tops)
        chosen[n] = highest(bounds, tops)
        if not free[chosen[n]]:
            return n
        scores[n] = exact_score(chosen[n], rows, belief, uncovered, gains[n])
        if not np.isfinite(scores[n]):  # every place would be near enough, even those of no item
            return n
        item = next_near(bounds, tops, scores[n] / size, 0)
        while item >= 0:
            score = exact_score(item, rows, belief, uncovered, delta)
            if wins(score, item, scores[n], chosen[n]):
                chosen[n], scores[n] = item, score
                gains[n] = delta
            item = next_near(bounds, tops, scores[n] / size, item + 1)
        free[chosen[n]] = False
        for i in range(len(uncovered)):
            uncovered[i] *= 1.0 - min(max(rows[chosen[n], i], 0.0), 1.0)
    return len(chosen)
