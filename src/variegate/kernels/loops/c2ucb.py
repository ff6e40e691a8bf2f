"""C2UCB's list in compiled loops: each pick subtracts a square from each item's spread.

`items` are the features in blocks and in rows, `belief` is (theta, G, alpha) with G'G = V^-1 and
G lower triangular, and `model` is (Q before any pick, weight, constant) of the entropy, whose
Q and spread x'Qx are those of `variegate.policies.c2ucb.EntropyGains`.
"""

from math import log1p, sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.selection import (
    TILE,
    add_products,
    add_squares,
    block_log,
    dot,
    highest_place,
    is_better,
    length_by,
    mask_bounds,
    next_place,
    padded,
)

FAST = {"contract", "reassoc", "arcp", "nsz"}
ZERO, HALF, ONE, TWO = (np.float32(number) for number in (0.0, 0.5, 1.0, 2.0))


@njit(cache=True, nogil=True)
def fill_list(items, belief, model, free, slack, space, tops, chosen, scores):
    """Fill `chosen` and `scores` (k,) with C2UCB's list; `free` is overwritten.

    Returns how many positions were filled: fewer than k if no candidate is left, or no score is
    a number.
    """
    bounds, Q = space[2], model[0].copy()
    directions = np.zeros((len(chosen), len(Q)))
    for n in range(len(chosen)):
        scan(n, items, belief, model, directions, free, slack, space, tops)
        chosen[n] = highest_place(bounds, tops)
        if not free[chosen[n]]:
            return n
        scores[n] = exact_score(chosen[n], n, items, belief, model, directions)
        if not np.isfinite(scores[n]):  # every place would qualify, even those without an item
            return n
        item = next_place(bounds, tops, scores[n], 0)
        while item >= 0:
            score = exact_score(item, n, items, belief, model, directions)
            if is_better(score, item, scores[n], chosen[n]):
                chosen[n], scores[n] = item, score
            item = next_place(bounds, tops, scores[n], item + 1)
        free[chosen[n]] = False
        take(items[1][chosen[n]], Q, directions[n])
    return len(chosen)


@njit(cache=True, nogil=True)
def scan(n, items, belief, model, directions, free, slack, space, tops):
    """Bound the score of every item after n picks."""
    base, spread, bounds = space[0], space[1], space[2]
    z, lanes = items[0], bounds.shape[1]
    Q, weight, constant = model
    work = np.empty((TILE, lanes), dtype=np.float32)
    theta, G, alpha = belief
    single = theta.astype(np.float32), padded(G, len(G), np.float32), np.float32(alpha)
    Q32, direction = Q.astype(np.float32), directions[max(n - 1, 0)].astype(np.float32)
    added = np.float32(weight * constant) + slack
    for b in range(len(tops)):
        if n == 0:
            block_start(z[b], single, Q32, work, base[b], spread[b])
        else:
            take_square(z[b], direction, work[0], spread[b])
        block_bounds(base[b], spread[b], np.float32(weight), added, work[0], bounds[b])
        tops[b] = mask_bounds(bounds[b], free[b * lanes : (b + 1) * lanes])


@njit(cache=True, nogil=True, fastmath=FAST)
def block_start(z, single, Q, work, base, spread):
    """Fill a block's upper bounds on theta . z, and its spread before any pick."""
    (theta, g, alpha), part = single, work[0]
    base[:] = 0.0
    spread[:] = 0.0
    add_squares(z, g, work, spread)
    for a in range(len(base)):
        base[a] = alpha * sqrt(spread[a])
    add_products(z, theta, base)
    spread[:] = 0.0
    for i in range(len(z)):
        # Q is symmetric, so half of it is enough; without a history it is diagonal.
        j = 0
        while j < i and Q[i, j] == 0.0:
            j += 1
        part[:] = 0.0
        add_products(z[j:i], TWO * Q[i, j:i], part)
        q = Q[i, i]
        for a in range(len(part)):
            spread[a] += z[i, a] * (part[a] + q * z[i, a])


@njit(cache=True, nogil=True, fastmath=FAST)
def block_bounds(base, spread, weight, constant, work, bounds):
    """Bound a block's scores by its base and its spread."""
    for a in range(len(bounds)):
        bounds[a] = ONE + max(spread[a], ZERO)
    block_log(bounds, work)
    for a in range(len(bounds)):
        bounds[a] = base[a] + constant + weight * HALF * bounds[a]


@njit(cache=True, nogil=True, fastmath=FAST)
def take_square(z, direction, work, spread):
    """Subtract (direction . z)^2 from a block's spread."""
    work[:] = 0.0
    add_products(z, direction, work)
    for a in range(len(work)):
        spread[a] -= work[a] * work[a]


@njit(cache=True, nogil=True)
def exact_score(item, n, items, belief, model, directions):
    """Return the score of one item after n picks, in double precision.

    `directions` (k, d) are those that the picks removed from Q: Q p over the root of 1 + p'Q p.
    """
    z, (theta, G, alpha), (Q, weight, constant) = items[1][item], belief, model
    spread = 0.0
    for i in range(len(z)):
        spread += z[i] * dot(Q[i], z)
    for j in range(n):
        spread -= dot(directions[j], z) ** 2
    entropy = constant + 0.5 * log1p(max(spread, 0.0))
    return dot(theta, z) + alpha * length_by(G, z) + weight * entropy


@njit(cache=True, nogil=True)
def take(z, Q, direction):
    """Remove one item from Q, and fill the direction that it removed."""
    for i in range(len(z)):
        direction[i] = dot(Q[i], z)
    direction /= sqrt(1.0 + max(dot(direction, z), 0.0))  # rounding can go below 0
    for i in range(len(z)):
        for j in range(len(z)):
            Q[i, j] -= direction[i] * direction[j]
