"""Scores of LMDH in compiled loops, and the choice of the best item (Algorithm 2, lines 5 to 14).

z does not change while a list is built, so its share of lines 9 and 10 is computed once per list;
each pick adds one row of distances. With Phi^-1 = G'G and G lower triangular the variance is a
sum of squares, |G zeta|^2, in which single precision cancels nothing. Single precision finds the
few items whose score may be the highest; double precision decides among those, so that the list
is the one that the NumPy reference finds.

A `belief` is (eta, G, alpha). A `table` has, in blocks, what z alone decides (theta . z, or -inf
for a place that cannot be picked; the squares of the first d rows of G zeta; what z adds to each of
the other rows), the sums of distances, the scores, and the highest score of each block. Its
numbers are of single or double precision.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.layout import BLOCK
from variegate.kernels.loops.distances import item_distance
from variegate.kernels.loops.selection import (
    TILE,
    add_products,
    add_squares,
    add_two_products,
    is_better,
    padded,
)

FAST = {"contract", "reassoc", "arcp", "nsz"}
#: Without nan, the maximum of two numbers is one instruction.
FAST_FINITE = FAST | {"nnan"}
#: Half the distance from 1 to the next number of single precision.
ROUNDING = 6e-8
#: Roots of squares that underflow in single precision are smaller than this.
TINY = 1e-18
#: Squares of larger numbers overflow single precision.
LARGEST = 1e15
#: Number of items whose exact values are kept: near the best score there are rarely more.
MAX_EXACT = 128
#: Scores that are compared at the same time; the lanes of a table are a multiple of it.
FOLD = 16
NEVER = np.float32(-np.inf)


@njit(cache=True, nogil=True)
def table_of(space, blocks, m, lanes=BLOCK):
    """Return a table in `space`, which has lanes * (3 + 2 m) + 1 numbers for each block."""
    n, end = blocks * lanes, (3 + m) * blocks * lanes
    single = space[: 3 * n].reshape((3, blocks, lanes))
    cross = space[3 * n : end].reshape((blocks, m, lanes))
    sums = space[end : end + m * n].reshape((blocks, m, lanes))
    tops = space[end + m * n : end + m * n + blocks]
    return single[0], single[1], cross, sums, single[2], tops


@njit(cache=True, nogil=True)
def fill_parts(z, table, belief):
    """Fill what z decides but for the squares, and set the sums to 0."""
    mean, cross, sums = table[0], table[2], table[3]
    d, (eta, G, _alpha) = z.shape[1], belief
    for b in range(len(z)):
        mean[b] = 0.0
        cross[b] = 0.0
        sums[b] = 0.0
        if cross.shape[1]:
            add_two_products(z[b], eta[:d], G[d, :d], mean[b], cross[b, 0])
        else:
            add_products(z[b], eta[:d], mean[b])
        for c in range(1, cross.shape[1]):
            add_products(z[b], G[d + c, :d], cross[b, c])


@njit(cache=True, nogil=True)
def fill_squares(z, table, belief):
    """Fill the squares of the first rows of G zeta; with 0 where no score depends on them."""
    square = table[1]
    if belief[2] == 0.0:
        square[:] = 0.0
        return
    g = padded(belief[1], z.shape[1], z.dtype)
    work = np.empty((TILE, z.shape[2]), z.dtype)
    for b in range(len(z)):
        square[b] = 0.0
        add_squares(z[b], g, work, square[b])


@njit(cache=True, nogil=True)
def close_places(free, mean):
    """Set `mean` (blocks, BLOCK) to -inf where no item is `free`."""
    flat = mean.reshape(mean.size)
    for row in range(len(free)):
        flat[row] = flat[row] if free[row] else NEVER
    flat[len(free) :] = NEVER


@njit(cache=True, nogil=True)
def fill_scores(table, belief, factor):
    """Fill the scores mu of a table, and the highest of each block."""
    mean, square, cross, sums, scores, tops = table
    eta, G, alpha = belief
    if sums.shape[1] == 1:
        zero = scores.dtype.type(0.0)
        line = zero, eta[-1] * factor, zero, G[-1, -1] * factor, zero, zero
        scores_of_one(mean, square, cross, sums, line, alpha, scores)
    else:
        work = np.empty((2, scores.shape[1]), scores.dtype)
        for b in range(len(mean)):
            if 2 <= sums.shape[1] <= 4 and scores.shape[1] == BLOCK:
                scores_of_few(mean[b], square[b], cross[b], sums[b], belief, factor, scores[b])
                continue
            scores_of_many(mean[b], square[b], cross[b], sums[b], belief, factor, work, scores[b])
    fill_tops(scores, tops)


@njit(cache=True, nogil=True, fastmath=FAST)
def scores_of_one(mean, square, cross, sums, line, alpha, scores):
    """Fill mu for one distance, or the highest mu of a range of gains.

    `line` has what is added to mu, and its slope over the sums; then the same of the middle of the
    part that is squared, and of how far it can be from there.
    """
    added, weight, start, g, most, spread = line
    for b in range(len(mean)):
        if alpha == 0.0:
            for a in range(scores.shape[1]):
                scores[b, a] = mean[b, a] + added + weight * sums[b, 0, a]
            continue
        for a in range(scores.shape[1]):
            total = sums[b, 0, a]
            part = abs(cross[b, 0, a] + start + g * total) + most + spread * total
            deviation = sqrt(square[b, a] + part * part)
            scores[b, a] = mean[b, a] + added + weight * total + alpha * deviation


@njit(cache=True, nogil=True, fastmath=FAST)
def scores_of_few(mean, square, cross, sums, belief, factor, scores):
    """Fill mu of one block's items for two to four distances, in one pass.

    What is missing to four has weight 0, and reads the rows of the last distance. Only for blocks
    of BLOCK items: with bounds that are not constant it is not vectorised.
    """
    eta, G, alpha = belief
    m = len(sums)
    d, y, z = len(eta) - m, min(2, m - 1), m - 1
    third, fourth = scores.dtype.type(m > 2), scores.dtype.type(m > 3)
    b0, b1 = factor * eta[d], factor * eta[d + 1]
    b2, b3 = third * factor * eta[d + y], fourth * factor * eta[d + z]
    g00, g10, g11 = factor * G[d, d], factor * G[d + 1, d], factor * G[d + 1, d + 1]
    g20, g21 = third * factor * G[d + y, d], third * factor * G[d + y, d + 1]
    g22, g30 = third * factor * G[d + y, d + y], fourth * factor * G[d + z, d]
    g31, g32 = fourth * factor * G[d + z, d + 1], fourth * factor * G[d + z, d + y]
    g33 = fourth * factor * G[d + z, d + z]
    for a in range(BLOCK):
        s0, s1, s2, s3 = sums[0, a], sums[1, a], sums[y, a], sums[z, a]
        p0 = cross[0, a] + g00 * s0
        p1 = cross[1, a] + g10 * s0 + g11 * s1
        p2 = third * cross[y, a] + g20 * s0 + g21 * s1 + g22 * s2
        p3 = fourth * cross[z, a] + g30 * s0 + g31 * s1 + g32 * s2 + g33 * s3
        variance = square[a] + p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3
        scores[a] = mean[a] + b0 * s0 + b1 * s1 + b2 * s2 + b3 * s3 + alpha * sqrt(variance)


@njit(cache=True, nogil=True, fastmath=FAST)
def scores_of_many(mean, square, cross, sums, belief, factor, work, scores):
    """Fill mu of one block's items for any number of distances."""
    (eta, G, alpha), m, part, variance = belief, len(sums), work[0], work[1]
    d = len(eta) - m
    scores[:] = mean
    add_products(sums, factor * eta[d:], scores)
    if alpha == 0.0:
        return
    variance[:] = square
    for c in range(m):
        part[:] = cross[c]
        add_products(sums, factor * G[d + c, d : d + c + 1], part)
        for a in range(len(scores)):
            variance[a] += part[a] * part[a]
    for a in range(len(scores)):
        scores[a] += alpha * sqrt(variance[a])


@njit(cache=True, nogil=True, fastmath=FAST_FINITE)
def fill_tops(scores, tops):
    """Fill the highest score of each block, which has a multiple of `FOLD` scores.

    The compiler does not vectorise the maximum of a plain loop.
    """
    folded = np.empty(FOLD, scores.dtype)
    for b in range(len(scores)):
        for a in range(FOLD):
            folded[a] = scores[b, a]
        for start in range(FOLD, scores.shape[1], FOLD):
            for a in range(FOLD):
                one = scores[b, start + a]
                folded[a] = one if one > folded[a] else folded[a]
        top = folded[0]
        for a in range(1, FOLD):
            top = folded[a] if folded[a] > top else top
        tops[b] = top


@njit(cache=True, nogil=True)
def place_of(top, scores):
    """Return the first place in a block with this score."""
    for a in range(len(scores)):
        if scores[a] == top:
            return a
    return 0


@njit(cache=True, nogil=True, inline="always")
def pick(n, slack, items, table, belief, factor, memo, answer):
    """Put into position n the item with the highest exact score.

    The table is of all items, and no exact score exceeds that of the table by more than `slack`.
    Returns whether there is such an item: no candidate may be left, or no score may be a number.
    """
    (mean, _square, _cross, _sums, scores, tops), (chosen, values, _x) = table, answer
    chosen[n], values[n] = -1, -np.inf
    first = np.argmax(tops)
    if not tops[first] > -np.inf:
        return False
    # The score of the first excludes most of the others.
    compare(
        first * BLOCK + place_of(tops[first], scores[first]), n, items, belief, factor, memo, answer
    )
    for b in range(len(tops)):
        if tops[b] >= values[n] - slack:
            for a in range(BLOCK):
                if scores[b, a] >= values[n] - slack:
                    compare(b * BLOCK + a, n, items, belief, factor, memo, answer)
    if chosen[n] < 0:
        return False
    mean[chosen[n] // BLOCK, chosen[n] % BLOCK] = NEVER
    return True


@njit(cache=True, nogil=True, inline="always")
def compare(row, n, items, belief, factor, memo, answer):
    """Put an item into position n if its exact score is better than that of the one there."""
    chosen, values, x = answer
    own, m = exact_values(row, chosen[:n], items, belief, memo), x.shape[1]
    score = exact_score(own, belief, factor, m)
    if is_better(score, row, values[n], chosen[n]) and score > -np.inf:
        chosen[n], values[n] = row, score
        for c in range(m):
            x[n, c] = own[2 + m + c] * factor


@njit(cache=True, nogil=True)
def new_memo(m):
    """Return space for exact values: rows, the number of picks in the sums, values."""
    owners = np.full(MAX_EXACT, -1, dtype=np.int64)
    return owners, np.empty(MAX_EXACT, dtype=np.int64), np.empty((MAX_EXACT, 2 + 2 * m))


@njit(cache=True, nogil=True)
def exact_values(item, above, items, belief, memo):
    """Return the values of one item below the items `above`, in double precision.

    They are theta . z, the squares of the first d rows of G zeta, what z adds to each of the other
    rows, and the sums of distances. Similar items have scores that single precision cannot tell
    apart at any position, so values are kept: for each place `memo` holds its row (-1 at the start
    of a list), how many of `above` are in its sums, and its values.
    """
    owners, counts, numbers = memo
    rows, kinds, starts = items.h_rows, items.kinds, items.starts
    widths, scales, sizes = items.widths, items.scales, items.sizes
    place, m = item % len(owners), len(kinds)
    own = numbers[place]
    if owners[place] != item:
        owners[place], counts[place] = item, 0
        fill_relevance(items.z_rows[item], belief, m, own)
    for p in above[counts[place] :]:
        for c in range(m):
            own[2 + m + c] += item_distance(c, item, p, rows, kinds, starts, widths, scales, sizes)
    counts[place] = len(above)
    return own


@njit(cache=True, nogil=True, inline="always")
def exact_score(own, belief, factor, m):
    """Return mu by exact values."""
    eta, G, alpha = belief
    d, mean, variance = len(eta) - m, own[0], own[1]
    for c in range(m):
        mean += eta[d + c] * (own[2 + m + c] * factor)
    for c in range(m):
        part = own[2 + c]
        for e in range(c + 1):
            part += G[d + c, d + e] * (own[2 + m + e] * factor)
        variance += part * part
    return mean + alpha * sqrt(variance)


@njit(cache=True, nogil=True, inline="always")
def fill_relevance(z, belief, m, own):
    """Fill what z decides, and set the sums of distances to 0."""
    eta, G, _alpha = belief
    d = len(z)
    mean, square = 0.0, 0.0
    for i in range(d):
        mean += eta[i] * z[i]
        part = 0.0
        for j in range(i + 1):
            part += G[i, j] * z[j]
        square += part * part
    own[0], own[1] = mean, square
    for c in range(m):
        part = 0.0
        for j in range(d):
            part += G[d + c, j] * z[j]
        own[2 + c], own[2 + m + c] = part, 0.0


@njit(cache=True, nogil=True)
def slack_of(belief, factors, limits, width):
    """Return the largest rounding error of a score in single precision; nan if numbers do not fit.

    It is nan as well where all scores are 0: as all items would be near the best one, each would be
    scored in double precision at each position.

    `limits` are the length of the longest feature vector and the largest value of each distance,
    `width` is the number of columns of distance data.
    """
    eta, G, alpha = belief
    longest, largest = limits
    above = 0.0
    for n in range(len(factors)):
        above = max(above, n * factors[n])
    length, weights, spread = longest**2, 0.0, 0.0
    for c in range(len(largest)):
        length += (above * largest[c]) ** 2
    for i in range(len(eta)):
        weights += eta[i] ** 2
        for j in range(i + 1):
            spread += G[i, j] ** 2
    terms = len(eta) + width + len(factors) + 8
    length, weights, spread = sqrt(length), sqrt(weights), sqrt(spread)
    size = weights + alpha * spread
    fits = alpha >= 0.0 and size > 0.0  # nan is not less than anything, so it does not fit
    for number in (size * length, length, weights, spread, alpha):
        fits = fits and number < LARGEST
    return np.float32(4.0 * terms * ROUNDING * size * length + TINY) if fits else np.float32(np.nan)


@njit(cache=True, nogil=True)
def to_single(belief):
    """Return the belief in single precision."""
    eta, G, alpha = belief
    return eta.astype(np.float32), G.astype(np.float32), np.float32(alpha)
