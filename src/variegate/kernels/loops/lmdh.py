"""LMDH's list in compiled loops (Algorithm 2, lines 5 to 14).

z does not change while a list is built, so its share of lines 9 and 10 is computed once per list;
each pick adds one row of distances. With Phi^-1 = G'G and G lower triangular the variance is a
sum of squares, |G zeta|^2, in which single precision cancels nothing. Single precision finds the
few items whose score may be the highest; double precision decides among those, so that the list
is the one that the NumPy reference finds.

A `belief` is (eta, G, alpha). `parts` are what z alone decides, in blocks: theta . z, the squares
of the first d rows of G zeta, and what z adds to each of the other rows. `closed` is 0 for a
candidate and -inf for every other place of the blocks. `work` is as in `kernels.buffers`.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.distances import add_block_sums, add_known, item_distance
from variegate.kernels.loops.pruning import copy_places, fill_bounds, fill_places
from variegate.kernels.loops.selection import add_products, add_squares

FAST = {"contract", "reassoc", "arcp", "nsz"}
#: Without nan, the maximum of two numbers is one instruction.
FAST_FINITE = FAST | {"nnan"}
#: Half the distance from 1 to the next number of single precision.
ROUNDING = 6e-8
#: Roots of squares that underflow in single precision are smaller than this.
TINY = 1e-18
#: Squares of larger numbers overflow single precision.
LARGEST = 1e15


@njit(cache=True, nogil=True)
def select_list(
    items, pairs, rows, free, belief, factors, limits, closed, parts, work, subset, answer
):
    """Fill `answer` from the `free` items: only from those that can be picked, if these are few.

    Returns False if single precision cannot hold the numbers, or if a position has no item.

    `pairs` are all pairwise distances, or empty; `limits` are those of `prepare`; `subset` are
    arrays for the few.
    """
    reach, slack, fits = prepare(free, closed, belief, factors, limits, items.h.shape[1])
    if not fits:
        return False
    single, data = to_single(belief), (items.h, items.sizes_blocks, pairs)
    fill_parts(items.z, single, parts, 0, len(items.z))
    few, count = subset[0], work[1].size + 1  # all of them
    if not len(pairs):  # reading distances takes less time than finding the items to leave out
        count = fill_reachable(parts, closed, single, reach, slack, len(factors), work[1], few)
    if count > len(few):
        return fill_list(items, data, rows, closed, belief, factors, slack, parts, work, answer)
    return select_from_subset(
        items, count, data, closed, belief, factors, slack, parts, subset, answer
    )


@njit(cache=True, nogil=True)
def select_from_subset(items, count, data, closed, belief, factors, slack, parts, subset, answer):
    """Fill `answer` from the first `count` places of `subset`, copied side by side.

    Returns whether every position was filled.
    """
    places, (h, sizes), (mean, square, cross), (sums, scores, tops, memo), open_few = subset
    used = -(-count // mean.shape[1])
    parts_of_few = mean[:used], square[:used], cross[:used]
    work = sums[:used], scores[:used], tops[:used], memo
    copy_places(places, count, data[:2], parts, closed, (h, sizes), parts_of_few, open_few)
    few = h[:used], sizes[:used], data[2][:0]  # the table of pairs is indexed by all items
    return fill_list(
        items, few, places, open_few, belief, factors, slack, parts_of_few, work, answer
    )


@njit(cache=True, nogil=True)
def fill_reachable(parts, closed, single, reach, slack, k, high, places):
    """Write the places that can get into a list of k, as many as fit; return their number.

    `high` (blocks, BLOCK) is a work array.
    """
    blocks, lowest = len(parts[0]), np.empty(k, dtype=np.float32)
    fill_bounds(parts, closed, single, reach, high, lowest, 0, blocks)
    threshold = lowest.min() - np.float32(2.0) * slack
    if not np.isfinite(threshold):
        return high.size + 1  # no bound: more than fit
    return fill_places(high, threshold, places, 0, blocks)


@njit(cache=True, nogil=True)
def fill_list(items, data, rows, closed, belief, factors, slack, parts, work, answer):
    """Fill `answer` (rows, scores, x) position by position; return whether all were filled."""
    chosen = answer[0]
    single = to_single(belief)
    for n in range(len(chosen)):
        last = chosen[n - 1] if n else -1
        factor = np.float32(factors[n])
        best = scan(last, items, data, closed, single, factor, parts, work, 0, len(parts[0]))
        if not pick(n, best - slack, items, rows, closed, belief, factors[n], work, answer):
            return False
    return True


@njit(cache=True, nogil=True)
def scan(last, items, data, closed, belief, factor, parts, work, first, stop):
    """Score the blocks from `first` up to `stop`; return the highest score of a candidate.

    `last` is the row picked last, -1 at the start of a list. `data` are the blocks of h and of
    the sizes, and the table of pairwise distances, which may be empty.
    """
    (h, sizes, pairs), (mean, square, cross), (sums, scores, tops, _memo) = data, parts, work
    m, lanes = len(items.kinds), mean.shape[1]
    one, two = np.empty(lanes, dtype=np.float32), np.empty(lanes, dtype=np.float32)
    eta, G, alpha = belief
    row = items.h_rows[max(last, 0)].astype(np.float32)
    best = np.float32(-np.inf)
    for b in range(first, stop):
        if last < 0:
            sums[b] = 0.0
        elif len(pairs):
            add_known(pairs[last, b], sums[b])
        else:
            add_block_sums(b, last, row, items, (h, sizes), sums[b])
        if m == 1:
            weight, g = eta[-1] * factor, G[-1, -1] * factor
            fill_scores_of_one(
                mean[b], square[b], cross[b, 0], sums[b, 0], weight, g, alpha, scores[b]
            )
        else:
            fill_scores_of_many(
                mean[b], square[b], cross[b], sums[b], belief, factor, one, two, scores[b]
            )
        tops[b] = block_top(scores[b], closed[b * lanes : (b + 1) * lanes], one)
        best = max(best, tops[b])
    return best


@njit(cache=True, nogil=True)
def pick(n, lowest, items, rows, closed, belief, factor, work, answer):
    """Put into position n the item with the highest exact score of those from `lowest` up.

    `rows` gives the row of each place in the blocks. Returns whether there is such an item: no
    candidate may be left, or no score may be a number.
    """
    (_sums, scores, tops, memo), (chosen, values, x) = work, answer
    if not lowest > -np.inf:  # every place would reach it, even those without an item
        return False
    if n == 0:
        memo[0][:] = -1
    lanes, gains, place = scores.shape[1], np.empty(x.shape[1]), -1
    values[n] = -np.inf
    for b in range(len(tops)):
        if tops[b] < lowest:
            continue
        for a in range(lanes):
            at = b * lanes + a
            if scores[b, a] + closed[at] >= lowest:
                score = exact_score(rows[at], chosen, n, items, belief, factor, memo, gains)
                if score > values[n]:
                    place, chosen[n], values[n] = at, rows[at], score
                    x[n] = gains
    if place < 0:
        return False
    closed[place] = -np.inf
    return True


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
def fill_parts(z, belief, parts, first, stop):
    """Fill the parts of the blocks from `first` up to `stop`."""
    mean, square, cross = parts
    one, two = np.empty(z.shape[2], dtype=np.float32), np.empty(z.shape[2], dtype=np.float32)
    for b in range(first, stop):
        fill_block_parts(z[b], belief, one, two, mean[b], square[b], cross[b])


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_block_parts(z, belief, one, two, mean, square, cross):
    """Fill the parts of one block."""
    d, (eta, G, _alpha) = len(z), belief
    mean[:] = 0.0
    square[:] = 0.0
    add_products(z, eta[:d], mean)
    add_squares(z, G, one, two, square)
    for c in range(len(cross)):
        cross[c, :] = 0.0
        add_products(z, G[d + c, :d], cross[c])


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_scores_of_one(mean, square, cross, sums, weight, g, alpha, scores):
    """Fill mu of one block's items for one distance."""
    for a in range(len(mean)):
        part = cross[a] + g * sums[a]
        scores[a] = mean[a] + weight * sums[a] + alpha * sqrt(square[a] + part * part)


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_scores_of_many(mean, square, cross, sums, belief, factor, one, two, scores):
    """Fill mu of one block's items for any number of distances."""
    m, lanes = sums.shape
    eta, G, alpha = belief
    d = len(eta) - m
    for a in range(lanes):
        scores[a] = mean[a]
        one[a] = square[a]
    for c in range(m):
        weight = eta[d + c] * factor
        for a in range(lanes):
            scores[a] += weight * sums[c, a]
            two[a] = cross[c, a]
        for e in range(c + 1):
            g = G[d + c, d + e] * factor
            for a in range(lanes):
                two[a] += g * sums[e, a]
        for a in range(lanes):
            one[a] += two[a] * two[a]
    for a in range(lanes):
        scores[a] += alpha * sqrt(one[a])


@njit(cache=True, nogil=True, fastmath=FAST_FINITE)
def block_top(scores, closed, work):
    """Return the highest score of a candidate of one block.

    It folds the block in halves: the compiler does not vectorise the maximum of a plain loop.
    """
    half = len(scores)
    for a in range(half):
        work[a] = scores[a] + closed[a]
    while half > 1:
        half //= 2
        for a in range(half):
            work[a] = work[a] if work[a] > work[a + half] else work[a + half]
    return work[0]


@njit(cache=True, nogil=True)
def prepare(free, closed, belief, factors, limits, width):
    """Fill `closed` from `free`; return the largest gains (m,), the slack, and whether they fit.

    If they do not fit single precision, or are not numbers, the other values mean nothing.

    `limits` are the length of the longest feature vector and the largest value of each
    distance, `width` is the number of columns of distance data. Scores that differ by less than
    the slack are compared in double precision.
    """
    eta, G, alpha = belief
    longest, largest = limits
    closed[:] = -np.inf
    for item in range(len(free)):
        if free[item]:
            closed[item] = 0.0
    above = 0.0
    for n in range(len(factors)):
        above = max(above, n * factors[n])
    reach, length, weights, spread = np.empty(len(largest), np.float32), longest**2, 0.0, 0.0
    for c in range(len(largest)):
        reach[c] = above * largest[c]
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
    return reach, np.float32(4.0 * terms * ROUNDING * size * length + TINY), fits


@njit(cache=True, nogil=True)
def to_single(belief):
    """Return the belief in single precision."""
    eta, G, alpha = belief
    return eta.astype(np.float32), G.astype(np.float32), np.float32(alpha)
