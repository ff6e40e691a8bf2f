"""LMDH's list without scoring every item at every position.

The first positions are filled from the scores of all items. What later picks can add to an item's
sums of distances is bounded, so each item has a highest and a lowest score over the positions that
are left. With r of them left, the r-th of the lowest scores is reached at every one: items that
cannot reach it are dropped, and the rest of the list is selected from the others in double
precision. While too many would be left, one more position is filled from all items.

The squares of G zeta cost most if there are many features. They are then replaced by a bound,
|z|^2 times the largest eigenvalue of G_z'G_z, and items are dropped before the first position;
only if too many would be left, they are computed for all. Tables are those of
`kernels.loops.lmdh`.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.layout import BLOCK
from variegate.kernels.loops.distances import add_distances
from variegate.kernels.loops.lmdh import (
    FAST,
    NEVER,
    close_places,
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
from variegate.kernels.loops.selection import HALF, add_products, add_two_products, length_by

#: A bound of the squares pays from so many features, and from so many items for each of them.
MANY_FEATURES, PER_FEATURE = 24, 64
#: Distances of so many numbers cost more than bounds without any distance.
MANY_NUMBERS = 1 << 22
#: To copy an item costs as much as one position of so many items; for a few, it is nothing.
COPY, FEW = 32, 128
#: The same where all squares would be the next thing to compute.
COPY_BOUNDED = 8
#: After a trial that left more than one item in so many, several positions are filled; after one
#: that left more than half of them, as many again.
FAR = 4
#: Items of a block among which the highest scores are compared.
FOLD = 16
#: Squarings of a matrix, to bound its largest eigenvalue.
SQUARINGS = 2


@njit(cache=True, nogil=True)
def select_list(items, free, belief, factors, limits, space, answer):
    """Fill `answer` (rows, scores, x) greedily from the `free` items.

    Returns False if single precision cannot hold the numbers, or if a position has no item.
    `limits` are those of `slack_of`, `space` is that of `list_space`.
    """
    slack = slack_of(belief, factors, limits, items.h.shape[1])
    if not slack >= 0.0:  # nan is not
        return False
    single, size, m = to_single(belief), len(items.z_rows), len(limits[1])
    table, memo = table_of(space, len(items.z), m), new_memo(m)
    fill_parts(items.z, table, single)
    close_places(free, table[0])
    is_bounded = items.z.shape[1] >= MANY_FEATURES and size >= PER_FEATURE * items.z.shape[1]
    if is_bounded:
        bound_squares(items, table, belief)
    else:
        fill_squares(items.z, table, single)
    trial = 0 if is_bounded or items.h.size >= MANY_NUMBERS else 1
    work = np.empty((2, BLOCK), dtype=np.float32)
    for n in range(len(factors)):
        if n:
            add_distances(answer[0][n - 1], items, items.h, items.sizes_blocks, table[3], work)
        if n == trial and (is_bounded or n + 1 < len(factors)):
            rows, found = promising(
                n, is_bounded, items, table, belief, single, factors, limits[1], slack
            )
            if len(rows):
                return select_exactly(n, rows, items, belief, factors, answer)
            trial = n + 1 if found * FAR <= size else (2 if found * 2 <= size else 4) * n + 1
            if is_bounded:
                fill_squares(items.z, table, single)
                is_bounded, trial = False, 1
        fill_scores(table, single, np.float32(factors[n]))
        if not pick(n, slack, items, table, belief, factors[n], memo, answer):
            return False
    return True


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
def select_exactly(first, rows, items, belief, factors, answer):
    """Fill `answer` from position `first` on, from some `rows`, in double precision."""
    (chosen, values, x), m = answer, len(items.kinds)
    blocks, lanes = -(-len(rows) // BLOCK), BLOCK
    while lanes >= 2 * max(len(rows), FOLD):
        lanes //= 2
    z, h = (
        in_blocks(items.z_rows, rows, blocks, lanes),
        in_blocks(items.h_rows, rows, blocks, lanes),
    )
    sizes = in_blocks(items.sizes.T, rows, blocks, lanes)
    table = table_of(np.empty(blocks * (lanes * (3 + 2 * m) + 1)), blocks, m, lanes)
    mean, sums, scores, tops = table[0], table[3], table[4], table[5]
    work = np.empty((2, lanes))
    fill_parts(z, table, belief)
    mean.reshape(mean.size)[len(rows) :] = -np.inf
    fill_squares(z, table, belief)
    for p in chosen[:first]:
        add_distances(p, items, h, sizes, sums, work)
    for n in range(first, len(factors)):
        if n > first:
            add_distances(chosen[n - 1], items, h, sizes, sums, work)
        fill_scores(table, belief, factors[n])
        b = np.argmax(tops)
        if not tops[b] > -np.inf:
            return False
        a = place_of(tops[b], scores[b])
        chosen[n], values[n] = rows[b * lanes + a], scores[b, a]
        for c in range(m):
            x[n, c] = max(sums[b, c, a], 0.0) * factors[n]  # rounding can go below 0
        mean[b, a] = -np.inf
    return True


@njit(cache=True, nogil=True)
def in_blocks(table, rows, blocks, lanes):
    """Return some rows of a table (L, w) as (blocks, w, lanes), in double precision."""
    copy = np.zeros((blocks, table.shape[1], lanes))
    for b in range(blocks):
        part = rows[b * lanes : (b + 1) * lanes]
        for i in range(copy.shape[1]):
            for a in range(len(part)):
                copy[b, i, a] = table[part[a], i]
    return copy


@njit(cache=True, nogil=True)
def promising(n, is_bounded, items, table, belief, single, factors, largest, slack):
    """Return the rows that can be picked from position n on, and how many they are.

    No rows if they are too many to copy. `is_bounded` is whether squares are bounds. The gain x of
    an item with the sum S of a distance D, at most, lies between low * S and slope * S + start * D
    at all of these positions.
    """
    scores, tops, left = table[4], table[5], len(factors) - n
    line = reach(factors, n)
    fill_highest(table, single, largest, line)
    seeds = highest_places(scores, tops, left + 2)
    if len(seeds) < left:
        return np.empty(0, dtype=np.intp), 0
    lowest, z_rows = np.empty(len(seeds)), items.z_rows
    for i in range(len(seeds)):
        b, a = seeds[i] // BLOCK, seeds[i] % BLOCK
        square = length_by(belief[1], z_rows[seeds[i]]) ** 2 if is_bounded else table[1][b, a]
        lowest[i] = lowest_score(b, a, square, table, belief, largest, line)
    threshold = np.sort(lowest)[len(seeds) - left] - 2.0 * slack  # both may have errors
    most = max(FEW, len(items.z_rows) // (COPY_BOUNDED if is_bounded else COPY))
    return rows_reaching(scores, tops, threshold, most)


@njit(cache=True, nogil=True)
def reach(factors, n):
    """Return the lines between which the gains from position n on lie; see `promising`."""
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
def highest_places(scores, tops, count):
    """Return places with high scores, the highest first: at most one in `FOLD` of a block."""
    places, values = np.full(count, -1), np.full(count, NEVER)
    found, highest = 0, np.empty(FOLD, dtype=np.float32)
    for b in range(len(tops)):
        if not tops[b] > values[count - 1]:
            continue
        fold(scores[b], highest)
        for start in range(FOLD):
            if highest[start] > values[count - 1]:
                place = start
                while scores[b, place] != highest[start]:
                    place += FOLD
                at = min(found, count - 1)
                while at > 0 and values[at - 1] < highest[start]:
                    places[at], values[at] = places[at - 1], values[at - 1]
                    at -= 1
                places[at], values[at] = b * BLOCK + place, highest[start]
                found = min(found + 1, count)
    return places[:found]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def fold(scores, highest):
    """Fill the highest of each `FOLD`-th score of a block."""
    for a in range(FOLD):
        highest[a] = scores[a]
    for start in range(FOLD, BLOCK, FOLD):
        for a in range(FOLD):
            one = scores[start + a]
            highest[a] = one if one > highest[a] else highest[a]


@njit(cache=True, nogil=True)
def rows_reaching(scores, tops, lowest, most):
    """Return the rows of the items whose scores reach `lowest`, in their order, and how many.

    No rows if they are more than `most`.
    """
    rows, found = np.empty(most, dtype=np.intp), 0
    for b in range(len(tops)):
        if tops[b] >= lowest:
            at, count = found, np.int32(0)
            for a in range(BLOCK):
                count += np.int32(scores[b, a] >= lowest)
            found += int(count)
            if count and found <= most:
                for a in range(BLOCK):
                    if scores[b, a] >= lowest:
                        rows[at] = b * BLOCK + a
                        at += 1
    return rows[: found if found <= most else 0], found


@njit(cache=True, nogil=True)
def bound_squares(items, table, belief):
    """Fill the squares with the largest that features of the same length can have."""
    square, bound = table[1], np.float32(eigenvalue_bound(belief[1], items.z.shape[1]))
    for b in range(len(square)):
        for a in range(BLOCK):
            square[b, a] = bound * items.squares[b, a]


@njit(cache=True, nogil=True)
def eigenvalue_bound(G, d):
    """Return an upper bound of the largest eigenvalue of G_z'G_z, G_z the first d rows of G.

    The largest sum of absolute values in a row bounds the eigenvalues of any matrix. That of a
    power of the matrix, taken to the inverse power, is closer.
    """
    A = np.zeros((d, d))
    for row in range(d):
        for i in range(row + 1):
            for j in range(row + 1):
                A[i, j] += G[row, i] * G[row, j]
    bound = normalised(A)
    for squaring in range(1, SQUARINGS + 1):
        B = np.zeros((d, d))
        for i in range(d):
            for k in range(d):
                for j in range(i + 1):
                    B[i, j] += A[i, k] * A[k, j]
            for j in range(i):
                B[j, i] = B[i, j]
        bound *= normalised(B) ** (0.5**squaring)
        A = B
    return bound * 1.0001  # for the rounding of these sums


@njit(cache=True, nogil=True)
def normalised(A):
    """Divide A by the largest sum of absolute values in a row, and return that."""
    largest = 0.0
    for row in A:
        largest = max(largest, np.abs(row).sum())
    if largest > 0.0:
        A /= largest
    return largest
