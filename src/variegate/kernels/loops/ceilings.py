"""LMDH's list from the items that a cheap bound leaves, without the parts of the others.

The deviation of an item is at most |zeta| times the root of the largest eigenvalue of G'G, so an
item's *ceiling* takes one product, that with theta: it bounds what the item can score at a
position, but for a constant of the position. A list from the few items with the highest ceilings
gives a height at each position. Every item that can reach a height is then looked at more closely:
its distance to the first item is known. The list is selected from those that still reach one, in
double precision. If it is nowhere below the heights, then no other item can be in it.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.layout import BLOCK
from variegate.kernels.loops.distances import add_distances, scratch_of
from variegate.kernels.loops.few import distance_data, select_exactly
from variegate.kernels.loops.lmdh import (
    FAST,
    FAST_FINITE,
    FOLD,
    NEVER,
    close_places,
    fill_tops,
)
from variegate.kernels.loops.selection import HALF, TILE, add_products, padded

#: Blocks whose numbers stay in the L2 cache from one loop to the next.
CHUNK = 32
#: If of the first items more than one in so many reach a height, ceilings are given up.
SAMPLE = 4
#: Ceilings so much farther from scores than items are from each other leave too many items high.
LOOSE = 2.0
#: At most one item in so many is looked at more closely, or a few.
CLOSE, FEW = 4, 256
#: Of items that are at most one in so many, the data are copied.
SPARSE = 16
#: A list from items with high ceilings, of so many more than it has positions.
SEEDS = 22
#: Heights are lowered so many times at most.
TRIALS = 4
#: Squarings of a matrix, to bound its largest eigenvalue.
SQUARINGS = 2


@njit(cache=True, nogil=True)
def select_by_ceilings(items, free, belief, single, factors, largest, bounds, slack, table, answer):
    """Fill `answer` (rows, scores, x) greedily from the `free` items; False if too many are high.

    `bounds` are those of `bounds_of`, `slack` is that of `slack_of`, and `table` is overwritten.
    """
    mean, ceilings, tops = table[0], table[4], table[5]
    spread, rises, farthest = bounds
    for start in range(0, len(mean), CHUNK):
        end = min(start + CHUNK, len(mean))
        own = free[start * BLOCK : end * BLOCK]
        part = mean[start:end], ceilings[start:end], tops[start:end]
        z, squares = items.z[start:end], items.squares[start:end]
        fill_ceilings(z, squares, own, single[0], np.float32(spread), np.float32(farthest), part)
        if start == 0 and end < len(mean):
            if not select_seeds(ceilings[:end], tops[:end], items, belief, factors, answer):
                return False
            lowest = np.float32((answer[1] - rises).min())
            if rows_reaching(ceilings[:end], tops[:end], lowest, 0)[1] * SAMPLE > end * BLOCK:
                return False
    if not select_seeds(ceilings, tops, items, belief, factors, answer):
        return False
    return settle(items, belief, factors, largest, rises, spread, slack, table, answer)


@njit(cache=True, nogil=True)
def settle(items, belief, factors, largest, rises, spread, slack, table, answer):
    """Replace the list in `answer` by that of all items, if it is found among a few."""
    ceilings, tops, (chosen, values, _x) = table[4], table[5], answer
    heights, most = values.copy(), max(FEW, len(items.z_rows) // CLOSE)
    for _ in range(TRIALS):
        heights -= 3.0 * slack  # three numbers may have errors
        rows, _found = rows_reaching(ceilings, tops, np.float32((heights - rises).min()), most)
        first = chosen[0]
        kept = rows_close(first, rows, heights, items, table, belief[0], factors, largest, spread)
        if len(kept) < len(chosen) or not select_exactly(0, kept, items, belief, factors, answer):
            return False
        is_high = chosen[0] == first
        for n in range(len(values)):
            is_high = is_high and values[n] >= heights[n] + 2.0 * slack
            heights[n] = min(heights[n] + 3.0 * slack, values[n])
        if is_high:
            return True
    return False


@njit(cache=True, nogil=True)
def bounds_of(belief, factors, limits):
    """Return alpha times the root of the largest eigenvalue of G'G, and what `rises_of` does."""
    spread = belief[2] * sqrt(eigenvalue_bound(belief[1], len(belief[0])))
    rises, farthest = rises_of(belief[0], factors, limits, spread)
    return spread, rises, farthest


@njit(cache=True, nogil=True)
def are_loose(bounds, belief, d, typical):
    """Return whether ceilings are so far above scores that too many items would be high.

    Compared are the distance from a typical ceiling to a typical score, and by how much theta . z
    differs from item to item, both for features of the length `typical` in any direction.
    """
    (spread, rises, farthest), (eta, G, alpha) = bounds, belief
    weights, mean = 0.0, 0.0
    for i in range(d):
        weights += eta[i] ** 2 / d
    for i in range(len(eta)):
        for j in range(i + 1):
            mean += G[i, j] ** 2 / len(eta)
    ceiling = spread * sqrt(typical**2 + farthest) + HALF * rises.max()
    score = alpha * sqrt(mean * (typical**2 + HALF * HALF * farthest))
    return ceiling - score > LOOSE * typical * sqrt(weights)


@njit(cache=True, nogil=True)
def rises_of(eta, factors, limits, spread):
    """Return by how much an item can exceed its ceiling, by position, (k,), and a ceiling's gains.

    These are the largest sum of the squares of an item's gains at any position. At others the sum
    is smaller, which lowers the deviation of the longest item the least.
    """
    longest, largest = limits
    rises, squares = np.zeros(len(factors)), np.zeros(len(factors))
    d = len(eta) - len(largest)
    for n in range(len(factors)):
        for c in range(len(largest)):
            most = factors[n] * n * largest[c]
            rises[n] += max(eta[d + c], 0.0) * most
            squares[n] += most * most
    farthest = squares.max()
    for n in range(len(factors)):
        rises[n] += spread * (sqrt(longest**2 + squares[n]) - sqrt(longest**2 + farthest))
    return rises, farthest


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_ceilings(z, squares, free, eta, spread, farthest, part):
    """Fill theta . z, the ceilings, and the highest of each block."""
    mean, ceilings, tops = part
    for b in range(len(z)):
        mean[b] = 0.0
        add_products(z[b], eta[: z.shape[1]], mean[b])
    close_places(free, mean)
    for b in range(len(z)):
        for a in range(BLOCK):
            ceilings[b, a] = mean[b, a] + spread * sqrt(squares[b, a] + farthest)
    fill_tops(ceilings, tops)


@njit(cache=True, nogil=True)
def select_seeds(ceilings, tops, items, belief, factors, answer):
    """Fill `answer` from items with high ceilings only."""
    seeds = highest_places(ceilings, tops, len(factors) + SEEDS)
    return len(seeds) >= len(factors) and select_exactly(0, seeds, items, belief, factors, answer)


@njit(cache=True, nogil=True)
def rows_close(first, rows, heights, items, table, eta, factors, largest, spread):
    """Return those of `rows` that can reach a height below the item `first`, in their order."""
    lines, constants = (
        np.zeros((6, len(rows)), np.float32),
        np.empty((len(factors), 4), np.float32),
    )
    means, lengths = table[0].reshape(table[0].size), items.squares.reshape(table[0].size)
    for i in range(len(rows)):
        lines[0, i], lines[1, i] = means[rows[i]], lengths[rows[i]]
    more, added = add_lines(distances_to(first, rows, items, table[3]), eta, largest, lines)
    for n in range(len(factors)):
        missing, factor = max(n - 1, 0), factors[n] if n else 0.0
        constants[n, 0], constants[n, 1] = factor, missing
        constants[n, 2] = factor * missing * more - heights[n]
        constants[n, 3] = added * missing**2
    fill_reach(constants, np.float32(spread), lines)
    kept, found = np.empty(len(rows), np.intp), 0
    for i in range(len(rows)):
        kept[found] = rows[i]
        found += lines[5, i] >= 0.0
    return kept[:found]


@njit(cache=True, nogil=True)
def distances_to(first, rows, items, sums):
    """Return the distances of some rows to one item, (m, lanes); overwrites a table's `sums`."""
    m, lanes, width = len(items.kinds), -(-len(rows) // FOLD) * FOLD, items.h.shape[1]
    distances = np.zeros((1, m, lanes))
    if len(rows) * SPARSE > len(items.z_rows):  # to read all in their order takes less time
        sums[:] = 0.0
        scratch = scratch_of(width, BLOCK, np.float32)
        add_distances(first, items, items.h, items.sizes_blocks, sums, scratch)
        for c in range(m):
            for i in range(len(rows)):
                distances[0, c, i] = sums[rows[i] // BLOCK, c, rows[i] % BLOCK]
        return distances[0]
    for start in range(0, len(rows), BLOCK):  # so that the copies stay in the L1 cache
        end = min(start + BLOCK, lanes)
        scratch = scratch_of(width, end - start, np.float64)
        h, sizes = distance_data(items, rows[start:end], end - start)
        add_distances(first, items, h, sizes, distances[:, :, start:end], scratch)
    return distances[0]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_lines(distances, eta, largest, lines):
    """Add beta . S, S . S and S . D, by the distances S, at most D, to the first item.

    Returns the most that one more item adds to beta . S, and D . D.
    """
    d, more, added = len(eta) - len(largest), 0.0, 0.0
    for c in range(len(largest)):
        beta, most = eta[d + c], largest[c]
        more += max(beta, 0.0) * most
        added += most * most
        for i in range(lines.shape[1]):
            one = distances[c, i]
            lines[2, i] += beta * one
            lines[3, i] += one * one
            lines[4, i] += most * one
    return more, added


@njit(cache=True, nogil=True, fastmath=FAST_FINITE)
def fill_reach(constants, spread, lines):
    """Fill by how much the items can exceed a height: what they reach where it is most."""
    two = np.float32(2.0)
    lines[5] = NEVER
    for n in range(len(constants)):
        factor, missing = constants[n, 0], constants[n, 1]
        added, square = constants[n, 2], constants[n, 3]
        for i in range(lines.shape[1]):
            gains = lines[3, i] + two * missing * lines[4, i] + square
            length = sqrt(lines[1, i] + factor * factor * gains)
            above = lines[0, i] + factor * lines[2, i] + added + spread * length
            lines[5, i] = above if above > lines[5, i] else lines[5, i]


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
def eigenvalue_bound(G, d):
    """Return an upper bound of the largest eigenvalue of G_z'G_z, G_z the first d rows of G.

    The largest sum of absolute values in a row bounds the eigenvalues of any matrix. That of a
    power of the matrix, taken to the inverse power, is closer.
    """
    A, bound = padded(G, d, np.float64), 1.0
    B = np.empty_like(A)
    for squaring in range(SQUARINGS + 1):
        bound *= fill_gram(A, B) ** (0.5**squaring)
        A, B = B, A
    return bound * 1.0001  # for the rounding of these sums


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_gram(A, gram):
    """Fill `gram` with A'A over the largest sum of absolute values in one of its rows; return that.

    A symmetric matrix is so squared.
    """
    largest, size = 0.0, len(A)
    for i in range(size):
        for j in range(size):
            gram[i, j] = 0.0
        for k in range(0, size, TILE):  # each sum is read and written once for four rows
            p, q, r, s = A[k, i], A[k + 1, i], A[k + 2, i], A[k + 3, i]
            for j in range(size):
                gram[i, j] += p * A[k, j] + q * A[k + 1, j] + r * A[k + 2, j] + s * A[k + 3, j]
        total = 0.0
        for j in range(size):
            total += abs(gram[i, j])
        largest = max(largest, total)
    for i in range(size):
        for j in range(size):
            gram[i, j] *= 1.0 / largest if largest > 0.0 else 0.0
    return largest
