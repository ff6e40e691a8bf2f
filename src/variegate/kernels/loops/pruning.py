"""LMDH's list without scoring every item at every position.

`kernels.loops.ceilings` is tried first, unless its bounds are too loose to pay. What follows is for
the lists of which it cannot tell.

The squares of G zeta are at most |z|^2 times the largest eigenvalue of G_z'G_z, which costs much
less than the squares. The first position is decided between the few items whose score with this
bound reaches the best exact one. What later picks can add to an item's sums of distances is bounded
too, so each item has a highest and a lowest score over the positions that are left. With r of them
left, the r-th of the lowest scores is reached at every one: items that cannot reach it are dropped,
and the rest of the list is selected from the others in double precision. While too many would be
left, the squares are computed, and then one more position is filled from all items.

With many features the first trial comes before the first position. Tables are those of
`kernels.loops.lmdh`.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.layout import BLOCK
from variegate.kernels.loops.ceilings import (
    are_loose,
    bounds_of,
    eigenvalue_bound,
    highest_places,
    rows_reaching,
    select_by_ceilings,
)
from variegate.kernels.loops.distances import add_distances, scratch_of
from variegate.kernels.loops.few import select_exactly
from variegate.kernels.loops.lmdh import (
    FAST,
    close_places,
    exact_score,
    exact_values,
    fill_parts,
    fill_scores,
    fill_squares,
    fill_tops,
    new_memo,
    pick,
    place_of,
    scores_of_one,
    slack_of,
    table_of,
    to_single,
)
from variegate.kernels.loops.selection import (
    HALF,
    add_products,
    add_two_products,
    length_by,
)

#: A bound of the squares pays from so many items for each feature.
PER_FEATURE = 64
#: From so many features on, the squares cost more than a trial before the first position.
MANY_FEATURES = 24
#: Among more items than these, those that a bound leaves are so far apart in memory that to copy
#: them costs more than the squares of few features.
FAR_APART = 1 << 15
#: One exact score costs as much as the squares of at most so many items.
EXACT = 64
#: Blocks whose numbers stay in the L2 cache from one loop to the next.
CHUNK = 32
#: Distances of so many numbers cost more than bounds without any distance.
MANY_NUMBERS = 1 << 22
#: To copy an item costs as much as one position of so many items; for a few, it is nothing.
COPY, FEW = 32, 256
#: The same where all squares would be the next thing to compute.
COPY_BOUNDED = 8
#: The squares of many features are tried after bounds that left at most one item in so many.
WORTH = 16
#: The first trial, by the position, where bounds are too loose for one after the first position.
LATER = 3
#: After a trial that left more than one item in so many, several positions are filled; after one
#: that left more than half of them, as many again.
FAR = 4


@njit(cache=True, nogil=True)
def select_list(items, free, belief, factors, limits, space, answer):
    """Fill `answer` (rows, scores, x) greedily from the `free` items.

    Returns False if single precision cannot hold the numbers, or if a position has no item.
    `limits` are those of `slack_of`, `space` is that of `list_space`.
    """
    slack = slack_of(belief, factors, limits, items.h.shape[1])
    if not slack >= 0.0:  # nan is not
        return False
    single, size, (d, m) = to_single(belief), len(items.z_rows), (items.z.shape[1], len(limits[1]))
    table, is_loose, is_bounded = table_of(space, len(items.z), m), False, size >= PER_FEATURE * d
    if is_bounded:
        bounds = bounds_of(belief, factors, limits)
        is_loose = are_loose(bounds, belief, d, items.typical)
        # One feature is the relevance itself: ceilings are as far from it as the largest gains.
        is_bounded = not is_loose and d > 1
        if is_bounded and select_by_ceilings(
            items, free, belief, single, factors, limits[1], bounds, slack, table, answer
        ):
            return True
    memo = new_memo(m)
    problem = items, table, belief, single, factors, limits[1], slack
    is_bounded = is_bounded and (size <= FAR_APART or d >= MANY_FEATURES)
    bound = np.float32(eigenvalue_bound(belief[1], d) if is_bounded else -1.0)
    is_early = (is_bounded and d >= MANY_FEATURES) or items.h.size >= MANY_NUMBERS
    trial, scratch = LATER if is_loose else 1, scratch_of(items.h.shape[1], BLOCK, np.float32)
    trial = 0 if is_early else trial
    for n in range(len(factors)):
        is_trial = n == trial and (is_bounded or n + 1 < len(factors))
        fill_position(n, is_trial, free, bound, answer[0], problem, scratch)
        if is_trial:
            rows, found, is_bounded = drop(n, is_bounded, problem)
            if len(rows):
                return select_exactly(n, rows, items, belief, factors, answer)
            trial = n + 1 if found * FAR <= size else (2 if found * 2 <= size else 4) * n + 1
            fill_scores(table, single, np.float32(factors[n]))
        if is_bounded and are_many_near(answer[0][:n], memo, problem):
            is_bounded = False
            fill_squares(items.z, table, single)
            fill_scores(table, single, np.float32(factors[n]))
        if not pick(n, slack, items, table, belief, factors[n], memo, answer):
            return False
    return True


@njit(cache=True, nogil=True, inline="always")
def fill_position(n, is_trial, free, bound, chosen, problem, scratch):
    """Fill the table's scores for position n; for a trial, the highest that items can have there.

    A negative `bound` of the squares is none: they are computed.
    """
    items, table = problem[0], problem[1]
    data = items.z, items.squares, items.h, items.sizes_blocks
    if len(items.z) <= CHUNK:  # to slice the arrays takes as long as the scores of some blocks
        fill_chunk(n, is_trial, free, bound, chosen, data, table, problem, scratch)
        return
    z, squares, h, sizes = data
    for start in range(0, len(z), CHUNK):
        end = min(start + CHUNK, len(z))
        data = z[start:end], squares[start:end], h[start:end], sizes[start:end]
        own, part = free[start * BLOCK : end * BLOCK], part_of(table, start, end)
        fill_chunk(n, is_trial, own, bound, chosen, data, part, problem, scratch)


@njit(cache=True, nogil=True, inline="always")
def fill_chunk(n, is_trial, free, bound, chosen, data, table, problem, scratch):
    """Do the same for some blocks, of which these are the data and the part of the table."""
    (z, squares, h, sizes), (items, _table, _belief, single, factors, largest, _slack) = (
        data,
        problem,
    )
    if n:
        add_distances(chosen[n - 1], items, h, sizes, table[3], scratch)
    else:
        fill_parts(z, table, single)
        close_places(free, table[0])
        if bound < 0.0:
            fill_squares(z, table, single)
        else:
            bound_squares(squares, bound, table[1])
    if is_trial:
        fill_highest(table, single, largest, reach(factors, n))
    else:
        fill_scores(table, single, np.float32(factors[n]))


@njit(cache=True, nogil=True)
def part_of(table, start, end):
    """Return a table's blocks from `start` to `end`."""
    mean, square, cross, sums, scores, tops = table
    return (
        mean[start:end],
        square[start:end],
        cross[start:end],
        sums[start:end],
        scores[start:end],
        tops[start:end],
    )


@njit(cache=True, nogil=True)
def are_many_near(above, memo, problem):
    """Return whether so many scores reach an exact one that the squares cost less."""
    items, table, belief, _single, factors, _largest, slack = problem
    scores, tops = table[4], table[5]
    b = np.argmax(tops)
    if not tops[b] > -np.inf:
        return False
    row = b * BLOCK + place_of(tops[b], scores[b])
    own = exact_values(row, above, items, belief, memo)
    score = exact_score(own, belief, factors[len(above)], len(items.kinds))
    _rows, found = rows_reaching(scores, tops, score - slack, 0)
    return found * EXACT > len(items.z_rows)


@njit(cache=True, nogil=True)
def drop(n, is_bounded, problem):
    """Return what `promising` does, and whether the squares of the table are bounds afterwards.

    The table has the highest scores, with bounds of the squares or the squares. If the bounds leave
    some more items than can be copied, after the first position, the squares are tried.
    """
    items, table, _belief, single, factors, largest, _slack = problem
    rows, found = promising(n, is_bounded, problem)
    many = WORTH if items.z.shape[1] >= MANY_FEATURES else 2
    if len(rows) or not is_bounded or n == 0 or found * many > len(items.z_rows):
        return rows, found, is_bounded
    fill_squares(items.z, table, single)
    fill_highest(table, single, largest, reach(factors, n))
    rows, found = promising(n, False, problem)
    return rows, found, False


@njit(cache=True, nogil=True)
def select_lists(items, free, beliefs, factors, limits, space, answers, whole):
    """Fill `answers` as `select_list` does, for one user after another; and `whole` (users,)."""
    (etas, roots, alphas), (chosen, scores, x) = beliefs, answers
    for user in range(len(whole)):
        belief, answer = (
            (etas[user], roots[user], alphas[user]),
            (chosen[user], scores[user], x[user]),
        )
        whole[user] = select_list(items, free, belief, factors, limits, space, answer)


@njit(cache=True, nogil=True)
def promising(n, is_bounded, problem):
    """Return the rows that can be picked from position n on, and how many they are.

    No rows if they are too many to copy. The table has the highest scores, `is_bounded` is whether
    its squares are bounds.
    """
    items, table, belief, _single, factors, largest, slack = problem
    scores, tops, left, line = table[4], table[5], len(factors) - n, reach(factors, n)
    seeds = highest_places(scores, tops, left + 2)
    if len(seeds) < left:
        return np.empty(0, dtype=np.intp), 0
    lowest, z_rows = np.empty(len(seeds)), items.z_rows
    for i in range(len(seeds)):
        b, a = seeds[i] // BLOCK, seeds[i] % BLOCK
        square = length_by(belief[1], z_rows[seeds[i]]) ** 2 if is_bounded else table[1][b, a]
        lowest[i] = lowest_score(b, a, square, table, belief, largest, line)
    threshold = np.sort(lowest)[len(seeds) - left] - 2.0 * slack  # both may have errors
    share = COPY_BOUNDED if is_bounded and z_rows.shape[1] >= MANY_FEATURES else COPY
    return rows_reaching(scores, tops, threshold, max(FEW, len(z_rows) // share))


@njit(cache=True, nogil=True)
def reach(factors, n):
    """Return low, slope, start: lines between which the gains from position n on lie.

    The gain x of an item with the sum S of a distance D, at most, lies between low * S and
    slope * S + start * D at all of these positions.
    """
    low, start, end = factors[n], 0.0, 0.0
    for p in range(n, len(factors)):
        low = min(low, factors[p])
        start = max(start, factors[p] * (p - n))
        end = max(end, factors[p] * p)
    # The highest gain is convex in S, so the chord from 0 to n times the largest distance is above.
    return low, (end - start) / n if n else 0.0, start


@njit(cache=True, nogil=True)
def fill_highest(table, single, largest, line):
    """Fill the scores with the highest that items can have."""
    mean, square, cross, sums, scores, tops = table
    (eta, G, alpha), (low, slope, start), m = single, line, len(largest)
    d, weights, added = len(eta) - m, np.empty(m, np.float32), np.float32(0.0)
    roots, starts = G[d:, d:], (start * largest).astype(np.float32)
    for c in range(m):
        beta = eta[d + c]
        weights[c] = beta * np.float32(slope if beta > 0.0 else low)
        added += max(beta, np.float32(0.0)) * starts[c]
    # The middle of the range of a gain, and half of its width, as lines over S.
    ranges = np.float32(0.5 * (low + slope)), np.float32(0.5 * (slope - low)), starts * HALF
    if m == 1:
        g = roots[0, 0]
        middle, half, first = g * ranges[0], abs(g) * ranges[1], ranges[2][0]
        bounds = added, weights[0], g * first, middle, abs(g) * first, half
        scores_of_one(mean, square, cross, sums, bounds, alpha, scores)
        fill_tops(scores, tops)
        return
    work = np.empty((3, BLOCK), np.float32)
    for b in range(len(mean)):
        variance, part, width = work[0], work[1], work[2]
        variance[:] = square[b]
        for c in range(m):
            add_widest(c, cross[b], sums[b], roots[c], ranges, part, width, variance)
        add_deviations(mean[b], variance, alpha, added, scores[b])
        add_products(sums[b], weights, scores[b])
    fill_tops(scores, tops)


@njit(cache=True, nogil=True, fastmath=FAST)
def add_widest(c, cross, sums, root, ranges, part, width, variance):
    """Add the largest square of row c of G zeta over the ranges of the gains, for a block."""
    (middle, half, starts), from_start, most = ranges, np.float32(0.0), np.float32(0.0)
    for e in range(c + 1):
        from_start += root[e] * starts[e]
        most += abs(root[e]) * starts[e]
    slope, spread = middle * root[c], half * abs(root[c])
    for a in range(BLOCK):
        part[a] = cross[c, a] + from_start + slope * sums[c, a]
        width[a] = most + spread * sums[c, a]
    add_two_products(sums, middle * root[:c], half * np.abs(root[:c]), part, width)
    for a in range(BLOCK):
        widest = abs(part[a]) + width[a]
        variance[a] += widest * widest


@njit(cache=True, nogil=True, fastmath=FAST)
def add_deviations(mean, variance, alpha, added, scores):
    """Fill a block's scores with its means, deviations and a constant."""
    for a in range(BLOCK):
        scores[a] = mean[a] + added + alpha * sqrt(variance[a])


@njit(cache=True, nogil=True)
def lowest_score(b, a, square, table, belief, largest, line):
    """Return a lower bound of the scores of the item at a place."""
    (mean, _square, cross, sums, _scores, _tops), (eta, G, alpha) = table, belief
    (low, slope, start), m = line, len(largest)
    d, score, variance = len(eta) - m, mean[b, a], square
    for c in range(m):
        total, part, width = sums[b, c, a], cross[b, c, a], 0.0
        beta, end = eta[d + c], slope * total + start * largest[c]
        score += min(beta * low * total, beta * end)
        for e in range(c + 1):
            total = sums[b, e, a]
            end = slope * total + start * largest[e]
            part += G[d + c, d + e] * 0.5 * (low * total + end)
            width += abs(G[d + c, d + e]) * 0.5 * (end - low * total)
        variance += max(abs(part) - width, 0.0) ** 2
    return score + alpha * sqrt(variance)


@njit(cache=True, nogil=True)
def bound_squares(lengths, bound, square):
    """Fill the squares of some blocks with the largest that features of these lengths can have."""
    for b in range(len(square)):
        for a in range(BLOCK):
            square[b, a] = bound * lengths[b, a]
