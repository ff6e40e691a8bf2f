"""LMDH's list without scoring every item at every position.

The first positions are filled from the scores of all items. What later picks can add to an item's
sums of distances is bounded, so each item has a highest and a lowest score over the positions that
are left. With r of them left, the r-th of the lowest scores is reached at every one: items that
cannot reach it are dropped, and the rest of the list is selected from the others, in a small table.
While too many would be left, one more position is filled from all items.

The squares of G zeta cost most. They are replaced by a bound, |z|^2 times the largest eigenvalue of
G_z'G_z, and computed only for items that may be picked, unless the bound is too loose. Tables are
those of `kernels.loops.lmdh`.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.layout import ROOM
from variegate.kernels.loops.distances import add_distances
from variegate.kernels.loops.lmdh import (
    NEVER,
    close_places,
    exact_score,
    exact_values,
    fill_parts,
    fill_scores,
    new_memo,
    pick,
    slack_of,
    to_single,
)
from variegate.kernels.loops.selection import add_squares

#: A bound of the squares pays if there are so many items per feature; but with few features and
#: more items than the processor's cache can hold, it takes longer to copy those that reach it.
PER_FEATURE, MAX_D, MAX_SIZE = 128, 24, 16_384
#: A bound is too loose if one item in this many seems better than the best.
MAX_LOOSE = 64
#: Items per block of the small table, which is used for at most one item in `SHARE`.
LANES, SHARE = 64, 4
#: Items of a block among which the highest scores are compared.
FOLD = 16
#: Squarings of a matrix, to bound its largest eigenvalue.
SQUARINGS = 2


@njit(cache=True, nogil=True)
def select_list(items, rows, free, belief, factors, limits, space, answer):
    """Fill `answer` (rows, scores, x) greedily from the `free` items.

    Returns False if single precision cannot hold the numbers, or if a position has no item.
    `rows` number all places, `limits` are those of `slack_of`, `space` is that of `list_space`.
    """
    slack = slack_of(belief, factors, limits, items.h.shape[1])
    if not slack >= 0.0:  # nan is not
        return False
    single, (blocks, _d, lanes), m = to_single(belief), items.z.shape, len(limits[1])
    parts, used = carved(space, 0, blocks, m, lanes)
    table, memo = (items.h, items.sizes_blocks, rows, *parts), new_memo(m)
    fill_parts(items.z, table, single)
    close_places(free, table[3])
    bound = squares_bound(items, belief)
    fill_squares(items, table, single, bound)
    nothing, work = np.zeros(m, dtype=np.float32), np.empty(lanes, dtype=np.float32)
    trial = 1 if m < 2 else 3  # the ranges of several distances add up
    for n in range(len(factors)):
        if n:
            add_distances(answer[0][n - 1], items, table[0], table[1], table[6], work)
        if n == trial and n < len(factors) - 1:
            trial = 3 * n
            few = promising(
                n,
                items,
                table,
                belief,
                single,
                factors,
                limits[1],
                slack,
                memo,
                answer,
                space[used:],
            )
            if len(few[2]):
                return fill_rest(n, items, few, belief, single, factors, slack, memo, answer)
        fill_scores(table, single, np.float32(factors[n]), nothing)
        if n == 0 and bound > 0.0 and are_loose(table, slack, items, belief, memo):
            fill_squares(items, table, single, np.float32(0.0))
            fill_scores(table, single, np.float32(factors[n]), nothing)
        if not pick(n, slack, items, table, belief, factors[n], memo, answer):
            return False
    return True


@njit(cache=True, nogil=True)
def squares_bound(items, belief):
    """Return a bound of the squares of items with features of length 1; 0 if it does not pay."""
    size, d = items.z_rows.shape
    if size < PER_FEATURE * d or (d <= MAX_D and size > MAX_SIZE):
        return np.float32(0.0)
    return np.float32(eigenvalue_bound(belief[1], d))


@njit(cache=True, nogil=True)
def are_loose(table, slack, items, belief, memo):
    """Return whether too many items seem better at the first position than the best one is."""
    scores, tops = table[7], table[8]
    b = np.argmax(tops)
    if not tops[b] > -np.inf:
        return False
    row = table[2][b * scores.shape[1] + np.argmax(scores[b])]
    own = exact_values(row, table[2][:0], items, belief, memo)
    best = exact_score(own, belief, 0.0, len(items.kinds))
    return n_reaching(scores, tops, best - slack) > len(items.z_rows) // MAX_LOOSE


@njit(cache=True, nogil=True)
def fill_squares(items, table, single, bound):
    """Fill the squares of all items, or `bound` times their squared lengths if it is not 0."""
    square, z = table[4], items.z
    if bound > 0.0:
        for b in range(len(z)):
            for a in range(z.shape[2]):
                square[b, a] = bound * items.squares[b, a]
        return
    add_all_squares(z, single, square)


@njit(cache=True, nogil=True)
def add_all_squares(z, single, square):
    """Fill the squares of the items with features z (blocks, d, lanes)."""
    one, two = np.empty(z.shape[2], dtype=np.float32), np.empty(z.shape[2], dtype=np.float32)
    for b in range(len(z)):
        square[b] = 0.0
        add_squares(z[b], single[1], one, two, square[b])


@njit(cache=True, nogil=True)
def select_lists(items, rows, free, beliefs, factors, limits, space, answers, whole):
    """Fill `answers` as `select_list` does, for one user after another; and `whole` (users,)."""
    (etas, roots, alphas), (chosen, scores, x) = beliefs, answers
    for user in range(len(whole)):
        belief, answer = (
            (etas[user], roots[user], alphas[user]),
            (chosen[user], scores[user], x[user]),
        )
        whole[user] = select_list(items, rows, free, belief, factors, limits, space, answer)


@njit(cache=True, nogil=True)
def fill_rest(first, items, few, belief, single, factors, slack, memo, answer):
    """Fill `answer` from position `first` on, from the items of a table with the sums of it."""
    nothing, work = np.zeros(answer[2].shape[1], np.float32), np.empty(LANES, np.float32)
    for n in range(first, len(factors)):
        if n > first:
            add_distances(answer[0][n - 1], items, few[0], few[1], few[6], work)
        fill_scores(few, single, np.float32(factors[n]), nothing)
        if not pick(n, slack, items, few, belief, factors[n], memo, answer):
            return False
    return True


@njit(cache=True, nogil=True)
def promising(n, items, table, belief, single, factors, largest, slack, memo, answer, space):
    """Return a table of the items that can be picked from position n on; empty if too many can.

    The gain x of an item with the sum S of a distance D, at most, lies between low * S and
    slope * S + start * D at all of these positions.
    """
    scores, tops, left = table[7], table[8], len(factors) - n
    low, slope, start = reach(factors, n)
    spare, width = fill_highest(table, single, largest, low, slope, start)
    seeds, most = highest_places(scores, tops, left + 2), most_promising(items)
    if len(seeds) < left:
        return small_table(items, space, 0)
    last = scores[seeds[left - 1] // scores.shape[1], seeds[left - 1] % scores.shape[1]]
    if n_reaching(scores, tops, last - width) > most:  # so many at least: without exact values
        return small_table(items, space, 0)
    lowest = np.empty(len(seeds))
    for i in range(len(seeds)):
        own = exact_values(table[2][seeds[i]], answer[0][:n], items, belief, memo)
        lowest[i] = lowest_score(own, belief, largest, low, slope, start)
    threshold = np.sort(lowest)[len(seeds) - left] - spare - slack
    size = n_reaching(scores, tops, threshold)
    if size > most:
        return small_table(items, space, 0)
    few = small_table(items, space, size)
    z = copy_reaching(
        threshold, items, table, few, space[len(space) - few[3].size * items.z.shape[1] :]
    )
    add_all_squares(z, single, few[4])
    return few


@njit(cache=True, nogil=True)
def reach(factors, n):
    """Return the lines between which the gains from position n on lie; see `promising`."""
    low, start, end = factors[n], 0.0, 0.0
    for p in range(n, len(factors)):
        low = min(low, factors[p])
        start = max(start, factors[p] * (p - n))
        end = max(end, factors[p] * p)
    # The highest gain is convex in S, so the chord from 0 to n times the largest distance is above.
    return low, (end - start) / n, start


@njit(cache=True, nogil=True)
def fill_highest(table, single, largest, low, slope, start):
    """Fill the scores with the highest that items can have, but for a number that is returned.

    The second number is the least width of the range of scores. What beta adds is at one end of
    the range of the gains. The deviation is taken at its middle, and differs from it by at most its
    steepness times half of the range.
    """
    (eta, G, alpha), m = single, len(largest)
    d, weights, added = len(eta) - m, eta.copy(), np.empty(m, dtype=np.float32)
    spare, width = 0.0, 0.0
    middle, half = 0.5 * (low + slope), 0.5 * (slope - low)
    for c in range(m):
        column = 0.0
        for row in range(d + c, d + m):
            column += G[row, d + c] ** 2
        steepness, beta = alpha * sqrt(column), eta[d + c]
        weight = beta * (slope if beta > 0.0 else low) + steepness * half
        weights[d + c], added[c] = weight / middle, 0.5 * start * largest[c] / middle
        spare += start * largest[c] * (max(beta, 0.0) + 0.5 * steepness) - weight * added[c]
        width += start * largest[c] * abs(beta)
    fill_scores(table, (weights, G, alpha), np.float32(middle), added)
    return spare, width


@njit(cache=True, nogil=True)
def lowest_score(own, belief, largest, low, slope, start):
    """Return a lower bound of an item's scores by its exact values."""
    (eta, _G, alpha), m = belief, len(largest)
    score = own[0] + alpha * sqrt(own[1])
    for c in range(m):
        beta, total = eta[len(eta) - m + c], own[2 + m + c]
        score += min(beta * low * total, beta * (slope * total + start * largest[c]))
    return score


@njit(cache=True, nogil=True)
def highest_places(scores, tops, count):
    """Return places with high scores, the highest first: at most one in `FOLD` of a block."""
    places, values = np.full(count, -1), np.full(count, NEVER)
    lanes, found, highest = scores.shape[1], 0, np.empty(FOLD, dtype=np.float32)
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
                places[at], values[at] = b * lanes + place, highest[start]
                found = min(found + 1, count)
    return places[:found]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def fold(scores, highest):
    """Fill the highest of each `FOLD`-th score of a block."""
    for a in range(FOLD):
        highest[a] = scores[a]
    for start in range(FOLD, len(scores), FOLD):
        for a in range(FOLD):
            one = scores[start + a]
            highest[a] = one if one > highest[a] else highest[a]


@njit(cache=True, nogil=True)
def n_reaching(scores, tops, lowest):
    """Return how many scores reach `lowest`."""
    total = 0
    for b in range(len(tops)):
        if tops[b] >= lowest:
            count = np.int32(0)
            for a in range(scores.shape[1]):
                count += np.int32(scores[b, a] >= lowest)
            total += int(count)
    return total


@njit(cache=True, nogil=True)
def copy_reaching(lowest, items, table, few, space):
    """Copy the items whose scores reach `lowest` to `few`; return their features in blocks."""
    rows, mean, cross, sums, scores, tops = (
        table[2],
        table[3],
        table[5],
        table[6],
        table[7],
        table[8],
    )
    h, sizes, few_rows, few_mean, few_cross, few_sums = (
        few[0],
        few[1],
        few[2],
        few[3],
        few[5],
        few[6],
    )
    z = space.reshape((len(few_mean), items.z.shape[1], LANES))
    z_rows, h_rows, lanes, size = items.z_rows, items.h_rows, mean.shape[1], 0
    for b in range(len(tops)):
        if tops[b] >= lowest:
            for a in range(lanes):
                if scores[b, a] >= lowest:
                    row, block, place = rows[b * lanes + a], size // LANES, size % LANES
                    few_rows[size], few_mean[block, place] = row, mean[b, a]
                    for c in range(cross.shape[1]):
                        few_cross[block, c, place] = cross[b, c, a]
                        few_sums[block, c, place] = sums[b, c, a]
                        sizes[block, c, place] = items.sizes[c, row]
                    for i in range(h.shape[1]):
                        h[block, i, place] = h_rows[row, i]
                    for i in range(z.shape[1]):
                        z[block, i, place] = z_rows[row, i]
                    size += 1
    for place in range(size, few_mean.size):  # places without an item must hold numbers
        block, at = place // LANES, place % LANES
        h[block, :, at], sizes[block, :, at], z[block, :, at] = 0.0, 0.0, 0.0
        few_rows[place], few_mean[block, at] = -1, NEVER
        few_cross[block, :, at], few_sums[block, :, at] = 0.0, 0.0
    return z


@njit(cache=True, nogil=True)
def most_promising(items):
    """Return the number of items that the small table has space for, and that it pays for."""
    blocks, _d, lanes = items.z.shape
    return min(len(items.z_rows) // SHARE, (blocks // ROOM + 2) * lanes)


@njit(cache=True, nogil=True)
def small_table(items, space, size):
    """Return a table in `space` for some items, in small blocks."""
    w, m, blocks = items.h.shape[1], len(items.kinds), -(-size // LANES)
    parts, at = carved(space, 0, blocks, m, LANES)
    h, at = blocks_of(space, at, blocks, w, LANES)
    sizes, at = blocks_of(space, at, blocks, m, LANES)
    return (h, sizes, np.empty(blocks * LANES, dtype=np.intp), *parts)


@njit(cache=True, nogil=True)
def carved(space, at, blocks, m, lanes):
    """Return what z decides, sums, scores and tops of a table in `space`, and where they end."""
    n = blocks * lanes
    mean = space[at : at + n].reshape((blocks, lanes))
    square = space[at + n : at + 2 * n].reshape((blocks, lanes))
    scores = space[at + 2 * n : at + 3 * n].reshape((blocks, lanes))
    cross, at = blocks_of(space, at + 3 * n, blocks, m, lanes)
    sums, at = blocks_of(space, at, blocks, m, lanes)
    return (mean, square, cross, sums, scores, space[at : at + blocks]), at + blocks


@njit(cache=True, nogil=True)
def blocks_of(space, at, blocks, depth, lanes):
    """Return an array (blocks, depth, lanes) in `space`, and where it ends."""
    end = at + blocks * depth * lanes
    return space[at:end].reshape((blocks, depth, lanes)), end


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
