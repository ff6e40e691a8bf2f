"""DC2B's list in compiled loops: a column of a Cholesky factor for each pick.

Each column is linear in the rows phi of the similarity's root: column = phi . g, where g is the
new direction that the picked item adds to those of the picks before it, normalised. So a pick
costs one product per item, however many came before it.

`items` are the features in blocks and in rows, `units` are `UnitFeatures`. `quality` is (theta,
intercept, sharpness, whether a sigmoid is applied), and `model` is (the norm of a unit row in
phi, the constant after it, jitter).
"""

from math import log, sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.selection import (
    add_products,
    block_log,
    block_sigmoid,
    dot,
    highest_place,
    is_better,
    mask_bounds,
    next_place,
    sigmoid,
)

FAST = {"contract", "reassoc", "arcp", "nsz"}
#: As in `variegate.policies.dpp`: a smaller residual means that the picks span the item.
RANK_TOLERANCE = 1e-10
FLOOR, SPENT = np.float32(RANK_TOLERANCE), np.float32(-1e6)


@njit(cache=True, nogil=True)
def fill_list(items, units, quality, model, free, slack, margin, space, tops, chosen, scores):
    """Fill `chosen` and `scores` (k,) with DC2B's list; `free` is overwritten.

    Returns how many positions were filled: fewer than k if no candidate is left, or a score is
    not a number.
    """
    lefts, bounds, lanes = space[1], space[2], space.shape[2]
    directions = np.zeros((len(chosen), items[0].shape[1] + 1))
    count, newest = 0, directions[0, :0]
    for n in range(len(chosen)):
        scan(n, newest, items, units, quality, model, free, slack, margin, space, tops)
        chosen[n], scores[n] = highest_place(bounds, tops), -np.inf
        if not free[chosen[n]]:
            return n
        item, start, taken = chosen[n], 0, 0.0
        while item >= 0:
            left = exact_left(item, count, units, model, directions)
            if left < RANK_TOLERANCE:
                # A residual never grows again: single precision need not estimate it any longer.
                lefts[item // lanes, item % lanes] = SPENT
            score = exact_score(item, left, items, quality)
            if not np.isfinite(score):  # places without an item would qualify, too
                return n
            if is_better(score, item, scores[n], chosen[n]):
                chosen[n], scores[n], taken = item, score, left
            item = next_place(bounds, tops, scores[n], start)
            start = item + 1
        free[chosen[n]] = False
        before, count = count, add_direction(chosen[n], taken, count, units, model, directions)
        newest = directions[before] if count > before else directions[0, :0]
    return len(chosen)


@njit(cache=True, nogil=True)
def scan(n, newest, items, units, quality, model, free, slack, margin, space, tops):
    """Bound the score of every item after n picks, the last of which added `newest`, if any."""
    doubled, left, bounds = space[0], space[1], space[2]
    blocks, _rows, s = units
    d, lanes, (size, constant, _jitter) = items[0].shape[1], bounds.shape[1], model
    theta, intercept, sharpness, squashed = quality
    single = theta.astype(np.float32), intercept, sharpness, squashed
    work = np.empty(lanes, dtype=np.float32)
    adds, start = len(newest) > 0, np.float32(0.0)
    direction = (size * newest[:d]).astype(np.float32)
    if adds:
        start = np.float32(constant * newest[d])
    for b in range(len(tops)):
        if n == 0:
            block_start(items[0][b], blocks[b, s : s + d], single, model, work, doubled[b], left[b])
        if adds:
            block_take(blocks[b, s : s + d], direction, start, work, left[b])
        block_bounds(doubled[b], left[b], np.float32(margin * (n + 1)), slack, work, bounds[b])
        tops[b] = mask_bounds(bounds[b], free[b * lanes : (b + 1) * lanes])


@njit(cache=True, nogil=True, fastmath=FAST)
def block_start(z, units, quality, model, work, doubled, left):
    """Fill a block's 2 ln q, and the residuals of its items before any pick."""
    theta, intercept, sharpness, squashed = quality
    size, constant, jitter = model
    doubled[:] = np.float32(intercept)
    add_products(z, theta, doubled)
    if squashed:
        block_sigmoid(doubled, work)
    left[:] = np.float32(constant * constant + jitter)
    square = np.float32(size * size)
    for i in range(len(units)):
        for a in range(len(left)):
            left[a] += square * units[i, a] * units[i, a]
    for a in range(len(left)):
        doubled[a] *= np.float32(2.0 * sharpness)


@njit(cache=True, nogil=True, fastmath=FAST)
def block_take(units, direction, start, work, left):
    """Subtract the square of a block's newest column from the residuals of its items."""
    work[:] = start
    add_products(units, direction, work)
    for a in range(len(left)):
        left[a] -= work[a] * work[a]


@njit(cache=True, nogil=True, fastmath=FAST)
def block_bounds(doubled, left, margin, slack, work, bounds):
    """Bound a block's scores; `margin` is the largest error of `left`, `slack` of the rest."""
    for a in range(len(bounds)):
        bounds[a] = max(left[a] + margin, FLOOR)
    block_log(bounds, work)
    for a in range(len(bounds)):
        bounds[a] += doubled[a] + slack


@njit(cache=True, nogil=True)
def exact_left(item, count, units, model, directions):
    """Return the residual of one item after the first `count` directions, in double precision."""
    _blocks, rows, s = units
    size, constant, jitter = model
    d = directions.shape[1] - 1
    unit = rows[item, s : s + d]
    left = size * size * dot(unit, unit) + constant * constant + jitter
    for j in range(count):
        left -= (size * dot(directions[j, :d], unit) + constant * directions[j, d]) ** 2
    return left


@njit(cache=True, nogil=True)
def exact_score(item, left, items, quality):
    """Return 2 ln q + ln left of one item, in double precision."""
    theta, intercept, sharpness, squashed = quality
    relevance = dot(theta, items[1][item]) + intercept
    relevance = sigmoid(relevance) if squashed else relevance
    return 2.0 * sharpness * relevance + log(max(left, RANK_TOLERANCE))


@njit(cache=True, nogil=True)
def add_direction(item, left, count, units, model, directions):
    """Add the direction of a pick; return the number of directions."""
    if left < RANK_TOLERANCE:
        return count
    (_blocks, rows, s), (size, constant, _jitter) = units, model
    d, new = directions.shape[1] - 1, directions[count]
    for i in range(d):
        new[i] = size * rows[item, s + i]
    new[d] = constant
    phi = new.copy()
    for j in range(count):
        column = dot(directions[j], phi)
        for i in range(d + 1):
            new[i] -= column * directions[j, i]
    for i in range(d + 1):
        new[i] /= sqrt(left)
    return count + 1
