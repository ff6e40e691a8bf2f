"""What every list by upper bounds does: bounds in single precision, the choice in double.

A bound is a score in single precision plus what that may be off by. Only an item whose bound
reaches the best exact score so far can be better, so few are worked out exactly, and the list
is the one that the NumPy reference finds.
"""

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "arcp", "nsz"}
NEVER, ALWAYS = np.float32(-np.inf), np.float32(np.inf)
LOWEST = np.finfo(np.float32).min


@njit(cache=True, nogil=True, fastmath=FAST)
def add_products(block, weights, sums):
    """Add weights . (features of each item of a block) to `sums` (BLOCK,)."""
    w, lanes = len(weights), len(sums)
    whole = w // 4 * 4
    for i in range(0, whole, 4):  # four at a time: each sum is then read and written less often
        p, q, r, s = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for a in range(lanes):
            sums[a] += (
                p * block[i, a] + q * block[i + 1, a] + r * block[i + 2, a] + s * block[i + 3, a]
            )
    for i in range(whole, w):
        for a in range(lanes):
            sums[a] += weights[i] * block[i, a]


@njit(cache=True, nogil=True)
def dot(row, other):
    """Return the product of two rows in double precision."""
    total = 0.0
    for i in range(len(row)):
        total += row[i] * other[i]
    return total


@njit(cache=True, nogil=True)
def length_by(G, row):
    """Return |G row| for a lower triangular G, in double precision."""
    total = 0.0
    for i in range(len(row)):
        part = 0.0
        for j in range(i + 1):
            part += G[i, j] * row[j]
        total += part * part
    return np.sqrt(total)


@njit(cache=True, nogil=True)
def shut(bounds, free):
    """Close a block's bounds (BLOCK,) to what is not free; return the highest that is left.

    Where single precision ran over, which leaves no number, an item may always be the best.
    """
    for a in range(len(bounds)):
        bound = bounds[a] if bounds[a] < ALWAYS else ALWAYS
        bound = bound if bound > LOWEST else LOWEST
        bounds[a] = bound if free[a] else NEVER
    return _highest_of(bounds)


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _highest_of(bounds):
    top = NEVER
    for a in range(len(bounds)):
        top = bounds[a] if bounds[a] > top else top
    return top


@njit(cache=True, nogil=True)
def highest(bounds, tops):
    """Return the item with the highest bound."""
    b = np.argmax(tops)
    return b * bounds.shape[1] + np.argmax(bounds[b])


@njit(cache=True, nogil=True)
def next_near(bounds, tops, least, start):
    """Return the first item, from `start` on, whose bound reaches `least`; -1 if there is none."""
    lanes = bounds.shape[1]
    for b in range(start // lanes, len(tops)):
        if tops[b] >= least:
            for a in range(max(start - b * lanes, 0), lanes):
                if bounds[b, a] >= least:
                    return b * lanes + a
    return -1


@njit(cache=True, nogil=True)
def wins(score, item, best, chosen):
    """Return whether an item is better than the one chosen so far; ties go to the lower row."""
    return score > best or (score == best and item < chosen)
