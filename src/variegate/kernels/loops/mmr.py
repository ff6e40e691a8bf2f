"""MMR's list in compiled loops: a row of cosines for each pick.

`items` are the features in blocks and in rows, `units` are `UnitFeatures`, and `model` is (mean
user, weight of relevance, weight of similarity, whether the maximum similarity counts rather than
the mean).
"""

import numpy as np
from numba import njit

from variegate.kernels.loops.selection import (
    add_products,
    block_sigmoid,
    dot,
    highest_place,
    is_better,
    mask_bounds,
    next_place,
    sigmoid,
)

FAST = {"contract", "reassoc", "arcp", "nsz"}


@njit(cache=True, nogil=True)
def fill_list(items, units, model, free, slack, space, tops, chosen, scores):
    """Fill `chosen` and `scores` (k,) with MMR's list; `free` is overwritten.

    Returns how many positions were filled: fewer than k if no candidate is left, or no score is
    a number.
    """
    bounds = space[2]
    for n in range(len(chosen)):
        scan(n, chosen[n - 1] if n else 0, items, units, model, free, slack, space, tops)
        chosen[n] = highest_place(bounds, tops)
        if not free[chosen[n]]:
            return n
        scores[n] = exact_score(chosen[n], chosen, n, items, units, model)
        if not np.isfinite(scores[n]):  # every place would qualify, even those without an item
            return n
        item = next_place(bounds, tops, scores[n], 0)
        while item >= 0:
            score = exact_score(item, chosen, n, items, units, model)
            if is_better(score, item, scores[n], chosen[n]):
                chosen[n], scores[n] = item, score
            item = next_place(bounds, tops, scores[n], item + 1)
        free[chosen[n]] = False
    return len(chosen)


@njit(cache=True, nogil=True)
def scan(n, last, items, units, model, free, slack, space, tops):
    """Bound the score of every item after n picks, the last of which was `last`."""
    relevance, similarity, bounds = space[0], space[1], space[2]
    user, share, weight, by_max = model
    blocks, rows, s = units
    e, lanes = s + len(user), bounds.shape[1]
    user32, row32 = user.astype(np.float32), rows[last, s:e].astype(np.float32)
    work = np.empty(lanes, dtype=np.float32)
    for b in range(len(tops)):
        if n == 0:
            relevance[b] = 0.0
            add_products(items[0][b], user32, relevance[b])
            block_sigmoid(relevance[b], work)
            relevance[b] *= np.float32(share)
            bounds[b] = relevance[b] + slack
        else:
            work[:] = 0.0
            add_products(blocks[b, s:e], row32, work)
            weight32 = np.float32(weight)
            block_bounds(n, relevance[b], similarity[b], work, weight32, by_max, slack, bounds[b])
        tops[b] = mask_bounds(bounds[b], free[b * lanes : (b + 1) * lanes])


@njit(cache=True, nogil=True, fastmath=FAST)
def block_bounds(n, relevance, similarity, cosines, weight, by_max, slack, bounds):
    """Update a block's similarity with its cosines to the nth item, and bound its scores."""
    for a in range(len(bounds)):
        if n == 1:
            similarity[a] = cosines[a]
        elif by_max:
            similarity[a] = max(similarity[a], cosines[a])
        else:
            similarity[a] += cosines[a]
    share = weight if by_max else weight / np.float32(n)
    for a in range(len(bounds)):
        bounds[a] = relevance[a] - share * similarity[a] + slack


@njit(cache=True, nogil=True)
def exact_score(item, above, n, items, units, model):
    """Return the score of one item after the first n of `above`, in double precision."""
    user, share, weight, by_max = model
    _blocks, rows, s = units
    e = s + len(user)
    relevance = share * sigmoid(dot(items[1][item], user))
    if n == 0:
        return relevance
    total, highest = 0.0, -np.inf
    for p in above[:n]:
        cosine = dot(rows[item, s:e], rows[p, s:e])
        total += cosine
        highest = max(highest, cosine)
    return relevance - weight * (highest if by_max else total / n)
