"""LMDH's list in compiled loops (Algorithm 2, lines 5 to 14).

z does not change while a list is built, so its share of lines 9 and 10 is computed once per list;
each pick adds one row of distances. With Phi^-1 = G'G and G lower triangular the variance is a
sum of squares, |G zeta|^2, in which single precision cancels nothing. Single precision finds the
few items whose score may be the highest; double precision decides among those, so that the list
is the one that the NumPy reference finds.

A `belief` is (eta, G, alpha). A `table` holds items in blocks: z, the data of the distances, the
sizes, the row of each place, then what z alone decides (theta . z, or -inf for a place that cannot
be picked; the squares of the first d rows of G zeta; what z adds to each of the other rows), the
sums of distances, the scores, and the highest score of each block.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.distances import add_distances, item_distance
from variegate.kernels.loops.selection import add_products, add_squares, is_better

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
MAX_EXACT = 512
NEVER = np.float32(-np.inf)


@njit(cache=True, nogil=True)
def fill_list(items, table, belief, single, factors, slack, answer):
    """Fill `answer` (rows, scores, x) from a table of all items, without bounds.

    Returns whether every position was filled.
    """
    chosen, m, blocks = answer[0], answer[2].shape[1], len(table[4])
    memo, centre = new_memo(m), np.zeros(m, dtype=np.float32)
    for n in range(len(factors)):
        if n:
            add_distances(chosen[n - 1 : n], items, table[1], table[2], table[7], 0, blocks)
        fill_scores(table, single, np.float32(factors[n]), centre, 0, blocks)
        best = best_score(table, 0, blocks)
        if not pick(n, best - slack, blocks, items, table, belief, factors[n], memo, answer):
            return False
    return True


@njit(cache=True, nogil=True)
def fill_scores(table, single, factor, centre, first, stop):
    """Fill mu of the items of some blocks; `centre` (m,) is added to every item's sums."""
    (eta, G, alpha), (mean, square, cross, sums, scores) = single, table[4:9]
    if len(centre) == 1:
        weight, g, added = eta[-1] * factor, G[-1, -1] * factor, centre[0]
        scores_of_one(mean, square, cross, sums, added, weight, g, alpha, scores, first, stop)
    else:
        for b in range(first, stop):
            scores_of_many(mean[b], square[b], cross[b], sums[b], centre, single, factor, scores[b])


@njit(cache=True, nogil=True)
def best_score(table, first, stop):
    """Fill the tops of the blocks from `first` up to `stop`, and return the highest."""
    fill_tops(table[8], table[9], first, stop)
    best = NEVER
    for b in range(first, stop):
        best = max(best, table[9][b])
    return best


@njit(cache=True, nogil=True)
def pick(n, lowest, blocks, items, table, belief, factor, memo, answer):
    """Put into position n the item with the highest exact score of those from `lowest` up.

    It is one of the first `blocks`. Returns whether there is such an item: no candidate may be
    left, or no score may be a number.
    """
    rows, mean, scores, tops = table[3], table[4], table[8], table[9]
    chosen, values, x = answer
    if not lowest > -np.inf:  # every place would reach it, even those without an item
        return False
    lanes, gains, place = scores.shape[1], np.empty(x.shape[1]), -1
    values[n] = -np.inf
    for b in range(blocks):
        if tops[b] < lowest:
            continue
        for a in range(lanes):
            if scores[b, a] >= lowest:
                row = rows[b * lanes + a]
                score = exact_score(row, chosen, n, items, belief, factor, memo, gains)
                if is_better(score, row, values[n], chosen[n]) and score > -np.inf:
                    place, chosen[n], values[n] = b * lanes + a, row, score
                    x[n] = gains
    if place < 0:
        return False
    mean[place // lanes, place % lanes] = -np.inf
    return True


@njit(cache=True, nogil=True)
def new_memo(m):
    """Return room for exact values: rows, the number of picks in the sums, values."""
    owners = np.full(MAX_EXACT, -1, dtype=np.int64)
    return owners, np.zeros(MAX_EXACT, dtype=np.int64), np.empty((MAX_EXACT, 2 + 2 * m))


@njit(cache=True, nogil=True)
def exact_score(item, above, n, items, belief, factor, memo, x):
    """Return mu of one item after the first n of `above`, in double precision; fill x (m,).

    Similar items have scores that single precision cannot tell apart at any position, so their
    exact values are kept. For each place `memo` holds its row (-1 at the start of a list), how
    many of `above` are in its sums, and its values: theta . z, the squares of the first d rows
    of G zeta, what z adds to each of the other rows, and the sums of distances.
    """
    owners, counts, numbers = memo
    place, m = item % len(owners), len(x)
    own = numbers[place]
    if owners[place] != item:
        owners[place], counts[place] = item, 0
        fill_relevance(items.z_rows[item], belief, m, own)
    for p in above[counts[place] : n]:
        for c in range(m):
            own[2 + m + c] += item_distance(c, item, p, items)
    counts[place] = n
    eta, G, alpha = belief
    d, mean, variance = len(eta) - m, own[0], own[1]
    for c in range(m):
        x[c] = own[2 + m + c] * factor
        mean += eta[d + c] * x[c]
    for c in range(m):
        part = own[2 + c]
        for e in range(c + 1):
            part += G[d + c, d + e] * x[e]
        variance += part * part
    return mean + alpha * sqrt(variance)


@njit(cache=True, nogil=True)
def fill_relevance(z, belief, m, own):
    """Fill what z decides, and set the sums of distances to 0."""
    eta, G, _alpha = belief
    d = len(z)
    own[:] = 0.0
    for i in range(d):
        own[0] += eta[i] * z[i]
        part = 0.0
        for j in range(i + 1):
            part += G[i, j] * z[j]
        own[1] += part * part
    for c in range(m):
        for j in range(d):
            own[2 + c] += G[d + c, j] * z[j]


@njit(cache=True, nogil=True)
def fill_parts(table, single, first, stop):
    """Fill what z decides of the blocks from `first` up to `stop`, and set their sums to 0."""
    z, sums, (mean, square, cross) = table[0], table[7], table[4:7]
    work = np.empty((2, z.shape[2]), dtype=np.float32)
    for b in range(first, stop):
        fill_linear_parts(z[b], single, mean[b], cross[b])
        square[b] = 0.0
        add_squares(z[b], single[1], work[0], work[1], square[b])
        sums[b] = 0.0


@njit(cache=True, nogil=True)
def fill_linear_parts(z, single, mean, cross):
    """Fill theta . z of one block, and what z adds to the rows of the distances."""
    d, (eta, G, _alpha) = len(z), single
    mean[:] = 0.0
    add_products(z, eta[:d], mean)
    for c in range(len(cross)):
        cross[c, :] = 0.0
        add_products(z, G[d + c, :d], cross[c])


@njit(cache=True, nogil=True)
def close_places(free, mean, b):
    """Set `mean` (lanes,) of block b to -inf where no item is `free`."""
    start = b * len(mean)
    here = free[start : start + len(mean)]
    for a in range(len(here)):
        mean[a] = mean[a] if here[a] else NEVER
    mean[len(here) :] = NEVER


@njit(cache=True, nogil=True, fastmath=FAST)
def scores_of_one(mean, square, cross, sums, centre, weight, g, alpha, scores, first, stop):
    """Fill mu of the items of some blocks, for one distance."""
    for b in range(first, stop):
        if alpha == 0.0:
            for a in range(mean.shape[1]):
                scores[b, a] = mean[b, a] + weight * (sums[b, 0, a] + centre)
            continue
        for a in range(mean.shape[1]):
            total = sums[b, 0, a] + centre
            part = cross[b, 0, a] + g * total
            scores[b, a] = mean[b, a] + weight * total + alpha * sqrt(square[b, a] + part * part)


@njit(cache=True, nogil=True, fastmath=FAST)
def scores_of_many(mean, square, cross, sums, centre, single, factor, scores):
    """Fill mu of one block's items for any number of distances."""
    m, lanes = sums.shape
    eta, G, alpha = single
    d, part, variance = len(eta) - m, np.empty(lanes, np.float32), np.empty(lanes, np.float32)
    for a in range(lanes):
        scores[a] = mean[a]
        variance[a] = square[a]
    for c in range(m):
        weight, start = eta[d + c] * factor, np.float32(0.0)
        for e in range(c + 1):
            start += G[d + c, d + e] * factor * centre[e]
        added = weight * centre[c]
        for a in range(lanes):
            scores[a] += weight * sums[c, a] + added
            part[a] = cross[c, a] + start
        add_products(sums, factor * G[d + c, d : d + c + 1], part)
        for a in range(lanes):
            variance[a] += part[a] * part[a]
    for a in range(lanes):
        scores[a] += alpha * sqrt(variance[a])


@njit(cache=True, nogil=True, fastmath=FAST_FINITE)
def fill_tops(scores, tops, first, stop):
    """Fill the highest score of some blocks.

    Blocks are folded in halves: the compiler does not vectorise the maximum of a plain loop.
    """
    work = np.empty(scores.shape[1], scores.dtype)
    for b in range(first, stop):
        half = len(work) // 2
        for a in range(half):
            one, two = scores[b, a], scores[b, a + half]
            work[a] = one if one > two else two
        while half > 1:
            half //= 2
            for a in range(half):
                work[a] = work[a] if work[a] > work[a + half] else work[a + half]
        tops[b] = work[0]


@njit(cache=True, nogil=True)
def slack_of(belief, factors, limits, width):
    """Return the largest rounding error of a score in single precision; nan if numbers do not fit.

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
    fits = alpha >= 0.0  # nan is not less than anything, so it does not fit
    for number in (size * length, length, weights, spread, alpha):
        fits = fits and number < LARGEST
    return np.float32(4.0 * terms * ROUNDING * size * length + TINY) if fits else np.float32(np.nan)


@njit(cache=True, nogil=True)
def to_single(belief):
    """Return the belief in single precision."""
    eta, G, alpha = belief
    return eta.astype(np.float32), G.astype(np.float32), np.float32(alpha)
