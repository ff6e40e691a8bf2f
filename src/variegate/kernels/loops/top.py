"""The k best items by scores that no pick changes, in one pass over the catalogue."""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.selection import (
    add_products,
    add_squares,
    dot,
    length_by,
    shut,
    sigmoid,
)

FAST = {"contract", "reassoc", "arcp", "nsz"}


@njit(cache=True, nogil=True)
def insert(item, score, count, chosen, scores):
    """Put an item among the best so far, after its equals; return how many there are then."""
    at = min(count, len(chosen) - 1)
    while at > 0 and scores[at - 1] < score:
        chosen[at], scores[at] = chosen[at - 1], scores[at - 1]
        at -= 1
    chosen[at], scores[at] = item, score
    return min(count + 1, len(chosen))


@njit(cache=True, nogil=True, fastmath=FAST)
def block_bounds(z, single, slack, one, two, square, bounds):
    """Bound theta . z + alpha |G z| of a block's items."""
    theta, G, alpha = single
    bounds[:] = slack
    if alpha > 0.0:
        square[:] = 0.0
        add_squares(z, G, one, two, square)
        for a in range(len(bounds)):
            bounds[a] += alpha * sqrt(square[a])
    add_products(z, theta, bounds)


@njit(cache=True, nogil=True)
def fill_linear(items, belief, squashed, free, slack, chosen, scores):
    """Fill `chosen` and `scores` (k,) with the best by theta . z + alpha |G z|.

    `items` are the features by blocks and by rows, `belief` is (theta, G, alpha). Where scores
    are `squashed` by a sigmoid, which rises but may round unlike numbers to the same, the bounds
    are held against what the last of the best was before. Returns how many were filled: fewer
    where no candidate is left.
    """
    (z, rows), (theta, G, alpha), lanes = items, belief, items[0].shape[2]
    single = theta.astype(np.float32), G.astype(np.float32), np.float32(alpha)
    room = np.empty((4, lanes), dtype=np.float32)
    bounds, count, least = room[3], 0, -np.inf
    for b in range(len(z)):
        block_bounds(z[b], single, slack, room[0], room[1], room[2], bounds)
        if shut(bounds, free[b * lanes : (b + 1) * lanes]) <= least:
            continue
        for a in range(lanes):
            item = b * lanes + a
            if bounds[a] > least:
                value = exact_value(rows[item], belief)
                score = sigmoid(value) if squashed else value
                if count < len(chosen) or score > scores[count - 1]:
                    count = insert(item, score, count, chosen, scores)
                    if count == len(chosen):
                        least = exact_value(rows[chosen[count - 1]], belief)
    return count


@njit(cache=True, nogil=True)
def exact_value(z, belief):
    """Return theta . z + alpha |G z| in double precision."""
    theta, G, alpha = belief
    return dot(theta, z) + (alpha * length_by(G, z) if alpha > 0.0 else 0.0)


@njit(cache=True, nogil=True)
def fill_given(values, free, chosen, scores):
    """Fill `chosen` and `scores` (k,) with the best by `values` (L,); return how many."""
    count = 0
    for item in range(len(values)):
        if free[item] and (count < len(chosen) or values[item] > scores[count - 1]):
            count = insert(item, values[item], count, chosen, scores)
    return count
