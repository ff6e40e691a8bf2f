"""LMDH's list from the vectors of one request, without the blocks of a catalogue's layout.

A request's candidates are used once. Long vectors are read as they came, and only those that
matter: an item's score is convex in its sum of distances, so the two ends of the range of that sum
bound it, and the sum is computed only if the bound reaches the best score. The sum of an item's
cosines with the items above is one product, with the sum of their unit vectors. Short vectors are
copied to blocks first, feature by item, and all are scored: that takes less time than bounds.

A `belief` is (eta, G, alpha) as in `kernels.loops.lmdh`, of d features and one distance. `vectors`
(n, w) may be of single or double precision; everything else is of double precision.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.distances import add_cosine_sums, scratch_of
from variegate.kernels.loops.lmdh import fill_tops, scores_of_one

FAST = {"contract", "reassoc", "arcp", "nsz"}
#: Squares of lengths outside of this range lose digits in single precision.
SMALLEST, LARGEST = 1e-30, 1e30
#: Vectors of up to this length are all scored.
SHORT = 64
#: Items per block.
LANES = 256
#: More than single precision can lose of a length of a few unit vectors.
SLACK = 1e-3


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(rows, row, others, other):
    """Return the product of a row of one array with a row of another, in their own precision.

    By number: a slice of an array costs as much as a quarter of the product.
    """
    total = rows[row, 0] * others[other, 0]
    for i in range(1, rows.shape[1]):
        total += rows[row, i] * others[other, i]
    return total


@njit(cache=True, nogil=True)
def inverse_length(vectors, row):
    """Return 1 / the length of a row, 0 for a row of zeros, and -1 for one that is out of range."""
    square = dot(vectors, row, vectors, row)
    if SMALLEST < square < LARGEST:
        return 1.0 / sqrt(square)
    return -1.0 if vectors[row].any() else 0.0  # nan is not zero


@njit(cache=True, nogil=True)
def fill_parts(z, belief, parts):
    """Add what z decides: theta . z, the squares of the first d rows of G z, and its last row."""
    eta, G, alpha = belief
    d = z.shape[1]
    if alpha == 0.0:
        for i in range(d):
            for row in range(len(z)):
                parts[0, row] += eta[i] * z[row, i]
        return
    for row in range(len(z)):
        for i in range(d):
            parts[0, row] += eta[i] * z[row, i]
            parts[2, row] += G[d, i] * z[row, i]
            part = 0.0
            for j in range(i + 1):
                part += G[i, j] * z[row, j]
            parts[1, row] += part * part


@njit(cache=True, nogil=True, inline="always")
def score(parts, row, x, belief):
    """Return mu of an item with diversity gain x."""
    eta, G, alpha = belief
    part = parts[2, row] + G[-1, -1] * x
    return parts[0, row] + eta[-1] * x + alpha * sqrt(parts[1, row] + part * part)


@njit(cache=True, nogil=True)
def fill_spread(sums, n, spread):
    """Fill a bound on the length of the sum of the unit vectors at positions c to n - 1, by c."""
    for c in range(n + 1):
        spread[c] = dot(sums, n, sums, c)
    own = spread[n]
    for c in range(n):
        square = own + dot(sums, c, sums, c) - 2.0 * spread[c]
        spread[c] = sqrt(max(square, 0.0)) + SLACK
    spread[n] = 0.0


@njit(cache=True, nogil=True)
def fill_static(parts, belief, static):
    """Fill an upper bound of mu at x = 0; return what it changes by, at most, per unit of x.

    The root of a sum of squares is at most the sum of their roots.
    """
    eta, G, alpha = belief
    for row in range(len(static)):
        static[row] = parts[0, row] + alpha * (sqrt(parts[1, row]) + abs(parts[2, row]))
    return eta[-1] + alpha * abs(G[-1, -1])


@njit(cache=True, nogil=True)
def best_row(n, slope, factor, spread, items, belief):
    """Return the highest mu at position n and its row: the first of equal ones, -1 for none.

    Also -1 if the vector of an item is out of range. The cosines that an item's sum lacks add up
    to at most the length of the sum of the unit vectors of those items: `spread`, by the number of
    items that its sum has.
    """
    order, static, parts, vectors, inverses, sums, known, counts = items
    best, place = -np.inf, -1
    farthest = max(slope * (n + spread[0]) * factor, 0.0)
    for row in order:
        if static[row] + farthest < best:
            break  # and so for all that follow
        seen = counts[row]
        if seen < 0:
            continue
        missing = n - seen
        if missing:
            low = (known[row] + max(missing - spread[seen], 0.0)) * factor
            high = (known[row] + missing + spread[seen]) * factor
            if static[row] + max(slope * low, slope * high) < best:
                continue
            if max(score(parts, row, low, belief), score(parts, row, high, belief)) < best:
                continue
            if not seen:
                inverses[row] = inverse_length(vectors, row)
                if inverses[row] < 0.0:
                    return best, -1
            known[row] = max(n - dot(vectors, row, sums, n) * inverses[row], 0.0)
            counts[row] = n
        mu = score(parts, row, known[row] * factor, belief)
        if mu > best or (mu == best and row < place):
            best, place = mu, row
    return best, place


@njit(cache=True, nogil=True)
def select_from_vectors(z, vectors, free, belief, factors, answer):
    """Fill `answer` (rows, scores, x) greedily from the `free` rows, with the cosine distance.

    Returns False if numbers are out of range. Of equal scores the first row is taken.
    """
    blocks = -(-len(z) // LANES)
    parts = np.zeros((3, blocks * LANES))
    fill_parts(z, belief, parts)
    if vectors.shape[1] > SHORT:
        return select_by_bounds(parts, vectors, free, belief, factors, answer)
    parts[0, len(z) :] = -np.inf
    for row in range(len(z)):
        parts[0, row] = parts[0, row] if free[row] else -np.inf
    return select_from_all(parts, vectors, belief, factors, answer)


@njit(cache=True, nogil=True)
def select_from_all(parts, vectors, belief, factors, answer):
    """Fill `answer` by the scores of all items at every position."""
    w, blocks, (chosen, values, x) = vectors.shape[1], parts.shape[1] // LANES, answer
    columns, sums = np.zeros((blocks, w, LANES), vectors.dtype), np.zeros((blocks, 1, LANES))
    if not fill_columns(vectors, columns):
        return False
    mean, square = parts[0].reshape((blocks, LANES)), parts[1].reshape((blocks, LANES))
    cross = parts[2].reshape((blocks, 1, LANES))
    scores, tops = np.empty((blocks, LANES)), np.empty(blocks)
    scratch, one = scratch_of(w, LANES, vectors.dtype), columns.dtype.type(1.0)
    eta, G, alpha = belief
    for n in range(len(factors)):
        if n:
            b, a = chosen[n - 1] // LANES, chosen[n - 1] % LANES
            add_cosine_sums(columns, 0, columns[b, :, a], one, sums, 0, scratch)
        line = 0.0, eta[-1] * factors[n], 0.0, G[-1, -1] * factors[n], 0.0, 0.0
        scores_of_one(mean, square, cross, sums, line, alpha, scores)
        fill_tops(scores, tops)
        b = np.argmax(tops)
        a = np.argmax(scores[b])
        if not (np.isfinite(tops[b]) and b * LANES + a < len(vectors)):
            return False
        chosen[n], values[n], x[n, 0] = b * LANES + a, tops[b], max(sums[b, 0, a], 0.0) * factors[n]
        mean[b, a] = -np.inf
    return True


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_columns(vectors, columns):
    """Copy vectors (n, w) to blocks (blocks, w, LANES), normalised to length 1 or 0.

    Returns False if a length is out of range.
    """
    n, w = vectors.shape
    inverses = np.zeros(LANES, vectors.dtype)
    for b in range(len(columns)):
        start, used = b * LANES, min(n - b * LANES, LANES)
        inverses[:] = 0.0
        for i in range(w):
            for a in range(used):
                columns[b, i, a] = vectors[start + a, i]
            for a in range(used):
                inverses[a] += columns[b, i, a] * columns[b, i, a]
        for a in range(used):
            if SMALLEST < inverses[a] < LARGEST:
                inverses[a] = 1.0 / sqrt(inverses[a])
            else:
                inverses[a] = inverse_length(vectors, start + a)
                if inverses[a] < 0.0:
                    return False
        for i in range(w):
            for a in range(used):
                columns[b, i, a] *= inverses[a]
    return True


@njit(cache=True, nogil=True)
def select_by_bounds(parts, vectors, free, belief, factors, answer):
    """Fill `answer` by the scores of the items whose bounds reach the best score."""
    n_items, k, (chosen, values, x) = len(vectors), len(factors), answer
    static, inverses = np.empty(n_items), np.zeros(n_items)
    slope = fill_static(parts, belief, static)
    # How many of the items above are in each sum; -1 for an item that cannot be picked.
    known, counts = np.zeros(n_items), np.where(free, 0, -1)
    order = np.argsort(-static)
    sums, spread = np.zeros((k, vectors.shape[1]), vectors.dtype), np.zeros(k)
    items = order, static, parts, vectors, inverses, sums, known, counts
    for n in range(k):
        fill_spread(sums, n, spread)
        best, place = best_row(n, slope, factors[n], spread, items, belief)
        if place < 0:
            return False
        chosen[n], values[n], x[n, 0] = place, best, known[place] * factors[n]
        counts[place] = -1
        if n + 1 < k:
            inverse = inverse_length(vectors, place)
            if inverse < 0.0:
                return False
            single = vectors.dtype.type(inverse)
            for i in range(vectors.shape[1]):
                sums[n + 1, i] = sums[n, i] + vectors[place, i] * single
    return True
