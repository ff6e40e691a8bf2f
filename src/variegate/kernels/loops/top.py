"""The k best items by scores that do not depend on the picks, in one pass over the catalogue."""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.selection import (
    TILE,
    add_products,
    add_squares,
    dot,
    length_by,
    mask_bounds,
    padded,
    sigmoid,
)

FAST = {"contract", "reassoc", "arcp", "nsz"}


@njit(cache=True, nogil=True)
def fill_linear(items, belief, squashed, free, slack, chosen, scores):
    """Fill `chosen` and `scores` (k,) with the best by theta . z + alpha |G z|.

    `items` are the features in blocks and in rows, `belief` is (theta, G, alpha). If scores are
    `squashed` by a sigmoid, which may round different numbers to the same one, the bounds are
    compared with the value of the last of the best before the sigmoid. Returns how many positions
    were filled: fewer than k if no candidate is left.
    """
    (z, rows), (theta, G, alpha), lanes = items, belief, items[0].shape[2]
    single = theta.astype(np.float32), padded(G, len(G), np.float32), np.float32(alpha)
    work = np.empty((TILE + 2, lanes), dtype=np.float32)
    bounds, count, lowest = work[TILE + 1], 0, -np.inf

    for b in range(len(z)):
        block_bounds(z[b], single, slack, work[:TILE], work[TILE], bounds)
        if mask_bounds(bounds, free[b * lanes : (b + 1) * lanes]) <= lowest:
            continue
        for a in range(lanes):
            item = b * lanes + a
            if bounds[a] > lowest:
                value = exact_value(rows[item], belief)
                score = sigmoid(value) if squashed else value
                if count < len(chosen) or score > scores[count - 1]:
                    count = insert(item, score, count, chosen, scores)
                    if count == len(chosen):
                        lowest = exact_value(rows[chosen[count - 1]], belief)
    return count


@njit(cache=True, nogil=True)
def fill_given(values, free, chosen, scores):
    """Fill `chosen` and `scores` (k,) with the best by `values` (L,); return how many."""
    count = 0
    for item in range(len(values)):
        if free[item] and (count < len(chosen) or values[item] > scores[count - 1]):
            count = insert(item, values[item], count, chosen, scores)
    return count


@njit(cache=True, nogil=True)
def insert(item, score, count, chosen, scores):
    """Insert an item among the best so far, after equal scores; return how many there are."""
    at = min(count, len(chosen) - 1)
    while at > 0 and scores[at - 1] < score:
        chosen[at], scores[at] = chosen[at - 1], scores[at - 1]
        at -= 1
    chosen[at], scores[at] = item, score
    return min(count + 1, len(chosen))


@njit(cache=True, nogil=True, fastmath=FAST)
def block_bounds(z, single, slack, work, square, bounds):
    """Bound theta . z + alpha |G z| of a block's items."""
    theta, g, alpha = single
    bounds[:] = slack
    if alpha > 0.0:
        square[:] = 0.0
        add_squares(z, g, work, square)
        for a in range(len(bounds)):
            bounds[a] += alpha * sqrt(square[a])
    add_products(z, theta, bounds)


@njit(cache=True, nogil=True)
def exact_value(z, belief):
    """Return theta . z + alpha |G z| in double precision."""
    theta, G, alpha = belief
    return dot(theta, z) + (alpha * length_by(G, z) if alpha > 0.0 else 0.0)
