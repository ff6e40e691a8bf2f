"""LMDH's list, in which most items are never scored in full: their scores have bounds.

For every item the loops know theta . z, what z adds to the rows of the distances, and a bound of
the squares of the first d rows of G zeta: |z|^2 times the largest eigenvalue of G_z'G_z. Its sums
of distances are known up to some position; what the later items of the list add lies around a
centre, within a radius. For cosines the radius is the length of the sum of the later unit vectors;
any other distance lies between 0 and its largest value. The score changes at most by `spare`
within the radius, so that the value at the centre plus `spare` is its upper bound.

Items whose bound reaches the best score are brought into a small table and scored in full. If that
would be too many, the sums of all items are brought up to date, after which the radius is 0; and if
it still is, the list is selected without bounds. Tables are those of `kernels.loops.lmdh`.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.layout import ROOM
from variegate.kernels.loops.distances import COSINE, add_distances
from variegate.kernels.loops.lmdh import (
    best_score,
    close_places,
    fill_linear_parts,
    fill_list,
    fill_parts,
    fill_scores,
    new_memo,
    pick,
    slack_of,
    to_single,
)

#: Fewer blocks are not worth bounds.
MIN_BLOCKS = 8
#: Blocks whose best items by their bounds are scored first.
N_SEEDS = 16
#: So many items are brought into the small table at once, or one in this many if these are more,
#: before it takes less time to update the sums of all.
N_BROUGHT, UPDATE = 32, 128
#: Items per block of the small table.
LANES = 64
#: Squarings of a matrix, to bound its largest eigenvalue.
SQUARINGS = 3
#: What may come of a search by bounds.
WHOLE, INCOMPLETE, TOO_MANY = 0, 1, 2


@njit(cache=True, nogil=True)
def select_list(items, rows, free, belief, factors, limits, space, answer):
    """Fill `answer` (rows, scores, x) greedily from the `free` items.

    Returns False if single precision cannot hold the numbers, or if a position has no item.
    `rows` number all places, `limits` are those of `slack_of`, `space` has `space_size` numbers.
    """
    slack = slack_of(belief, factors, limits, items.h.shape[1])
    if not slack >= 0.0:  # nan is not
        return False
    single, blocks = to_single(belief), len(items.z)
    parts, used = carved(space, 0, blocks, len(limits[1]), items.z.shape[2])
    table = (items.z, items.h, items.sizes_blocks, rows, *parts)
    # The bound of the eigenvalues takes the cube of the number of features.
    if blocks >= max(MIN_BLOCKS, items.z.shape[1] // 4):
        few = small_table(items, space[used:])
        fill_bounds(items, table, free, belief, single)
        found = select_by_bounds(
            items, table, few, belief, single, factors, limits[1], slack, answer
        )
        if found != TOO_MANY:
            return found == WHOLE
    fill_parts(table, single, 0, blocks)
    for b in range(blocks):
        close_places(free, table[4][b], b)
    return fill_list(items, table, belief, single, factors, slack, answer)


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
def select_by_bounds(items, table, few, belief, single, factors, largest, slack, answer):
    """Fill `answer` as `select_list` does; the result is one of those above.

    No item outside of `few` had a score above `ceiling` when all were scored last, with the
    centre and the factor `seen`, and with the first `known` picks in their sums.
    """
    chosen, _blocks, (room, lanes) = answer[0], len(items.z), few[4].shape
    nothing, memo, slack = np.zeros(len(largest), np.float32), new_memo(len(largest)), 3 * slack
    ceiling, known, seen = seed_score(table, single, nothing), 0, (nothing, factors[0])
    size = bring_in(ceiling, 0, chosen[:0], items, table, few, single)
    most = N_BROUGHT + len(items.z_rows) // UPDATE
    for n in range(len(factors)):
        if size > room * lanes:
            return TOO_MANY
        factor, used = np.float32(factors[n]), -(-size // lanes)
        if n:
            add_distances(chosen[n - 1 : n], items, few[1], few[2], few[7], 0, used)
        fill_scores(few, single, factor, nothing, 0, used)
        best = best_score(few, 0, used)
        centre, spare, change = outlook(chosen, n, known, seen, items, belief, largest, factors[n])
        if not ceiling + change <= best - slack:
            if n == 1:  # one distance to all items narrows the bounds of most lists
                known, centre, spare = update_sums(chosen, n, known, items, table)
            ceiling, total = score_all(table, single, factor, centre, best - slack, spare, most)
            if known < n and total > most:
                known, centre, spare = update_sums(chosen, n, known, items, table)
                ceiling, total = score_all(table, single, factor, centre, best - slack, spare, most)
            if size + total > room * lanes:
                return TOO_MANY
            seen = centre, factors[n]
            if total:
                first = size // lanes
                size = bring_in(ceiling, size, chosen[:n], items, table, few, single)
                used = -(-size // lanes)
                fill_scores(few, single, factor, nothing, first, used)
                best = max(best, best_score(few, first, used))
        if not pick(n, best - slack, used, items, few, belief, factors[n], memo, answer):
            return INCOMPLETE
    return WHOLE


@njit(cache=True, nogil=True)
def score_all(table, single, factor, centre, best, spare, most):
    """Score all items at the centre; return a ceiling, and how many reach it.

    It is lower than it has to be, so that it serves longer, unless more than `most` reach it.
    """
    blocks, ceiling = len(table[8]), best - 2 * spare
    fill_scores(table, single, factor, centre, 0, blocks)
    total = n_reaching(table[8], ceiling, 0, blocks)
    if total > most:
        ceiling = best - spare
        total = n_reaching(table[8], ceiling, 0, blocks)
    return ceiling, total


@njit(cache=True, nogil=True)
def update_sums(chosen, n, known, items, table):
    """Add the distances to the picks after the first `known` to all items' sums.

    Returns how many are known then, the centre of what they lack, and the spare: nothing.
    """
    add_distances(chosen[known:n], items, table[1], table[2], table[7], 0, len(table[4]))
    return n, np.zeros(table[7].shape[1], dtype=np.float32), np.float32(0.0)


@njit(cache=True, nogil=True)
def fill_bounds(items, table, free, belief, single):
    """Fill the parts of all items, with the bound in place of the squares; set sums to 0."""
    mean, square, cross, sums = table[4:8]
    bound = np.float32(eigenvalue_bound(belief[1], items.z.shape[1]))
    for b in range(len(mean)):
        fill_linear_parts(items.z[b], single, mean[b], cross[b])
        close_places(free, mean[b], b)
        for a in range(mean.shape[1]):
            square[b, a] = bound * items.squares[b, a]
        sums[b] = 0.0


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


@njit(cache=True, nogil=True)
def seed_score(table, single, nothing):
    """Return a score that the bounds of a few items reach at the first position."""
    blocks = len(table[9])
    fill_scores(table, single, np.float32(1.0), nothing, 0, blocks)
    best_score(table, 0, blocks)
    tops = np.sort(table[9])
    for top in tops[-N_SEEDS:]:
        if top > -np.inf:
            return top
    return tops[-1]


@njit(cache=True, nogil=True)
def outlook(chosen, n, known, seen, items, belief, largest, factor):
    """Return what scores outside can be at position n, after the first `known` picks.

    The centre (m,) of what the other picks add to the sums, the most that a score changes
    around it, and the most that it can exceed the score when all were scored last (`seen`).
    """
    (eta, G, alpha), (centre_before, factor_before) = belief, seen
    m, lacking, spare, change = len(largest), n - known, 0.0, 0.0
    d, centre = len(eta) - m, np.zeros(m, dtype=np.float32)
    for c in range(m):
        middle = radius = 0.5 * lacking * largest[c]
        if items.kinds[c] == COSINE:
            middle = lacking / items.scales[c]
            radius = length_of_sum(chosen[known:n], items, c) / items.scales[c]
        column = 0.0
        for row in range(d + c, d + m):
            column += G[row, d + c] ** 2
        steepness, radius = alpha * sqrt(column), radius * abs(factor)
        spare += radius * (abs(eta[d + c]) + steepness)
        # The sums that are known lie between 0 and `known` times the largest distance.
        start = factor * middle - factor_before * centre_before[c]
        end = start + (factor - factor_before) * known * largest[c]
        low, high = min(start, end) - radius, max(start, end) + radius
        change += max(eta[d + c] * low, eta[d + c] * high) + steepness * max(abs(low), abs(high))
        centre[c] = middle
    return centre, np.float32(spare), np.float32(change)


@njit(cache=True, nogil=True)
def length_of_sum(picks, items, c):
    """Return the length of the sum of the picks' data of distance c."""
    square = 0.0
    for i in range(items.starts[c], items.starts[c] + items.widths[c]):
        total = 0.0
        for p in picks:
            total += items.h_rows[p, i]
        square += total * total
    return sqrt(square)


@njit(cache=True, nogil=True)
def n_reaching(scores, lowest, first, stop):
    """Return how many scores of the blocks from `first` up to `stop` reach `lowest`."""
    total = 0
    for b in range(first, stop):
        count = np.int32(0)
        for a in range(scores.shape[1]):
            count += np.int32(scores[b, a] >= lowest)
        total += int(count)
    return total


@njit(cache=True, nogil=True)
def bring_in(lowest, size, picks, items, table, few, single):
    """Copy the items whose scores reach `lowest` behind the first `size` of `few`.

    Returns how many there are then: more than there is room for if nothing was copied. An item
    that was copied is not in `table` any longer.
    """
    scores, mean, first, room, lanes = table[8], table[4], size, few[4].size, few[4].shape[1]
    chunks = scores.reshape((scores.size // lanes, lanes))
    for chunk in range(len(chunks)):
        if not n_reaching(chunks, lowest, chunk, chunk + 1):
            continue
        for row in range(chunk * lanes, (chunk + 1) * lanes):
            b, a = row // scores.shape[1], row % scores.shape[1]
            if scores[b, a] >= lowest:
                if size == room:
                    return room + 1
                if size % lanes == 0:
                    for data in few[:3]:
                        data[size // lanes] = 0.0  # places without an item must hold numbers
                few[3][size] = row
                copy_item(row, size // lanes, size % lanes, items, few)
                mean[b, a] = -np.inf
                size += 1
    start_blocks(first // lanes, size, picks, items, few, single)
    return size


@njit(cache=True, nogil=True)
def copy_item(row, block, place, items, few):
    """Copy the data of one item to a place of `few`."""
    z, h, sizes = few[0][block], few[1][block], few[2][block]
    for i in range(z.shape[0]):
        z[i, place] = items.z_rows[row, i]
    for i in range(h.shape[0]):
        h[i, place] = items.h_rows[row, i]
    for c in range(sizes.shape[0]):
        sizes[c, place] = items.sizes[c, row]


@njit(cache=True, nogil=True)
def start_blocks(first, size, picks, items, few, single):
    """Fill parts and sums of the blocks of `few` from `first` on, which hold `size` places."""
    rows, mean = few[3], few[4]
    lanes = mean.shape[1]
    used = -(-size // lanes)
    fill_parts(few, single, first, used)
    add_distances(picks, items, few[1], few[2], few[7], first, used)
    mean[used - 1, size - (used - 1) * lanes :] = -np.inf
    for place in range(first * lanes, size):
        for p in picks:
            if rows[place] == p:
                mean[place // lanes, place % lanes] = -np.inf


@njit(cache=True, nogil=True)
def small_table(items, space):
    """Return a table in `space` with room for some of the items, in small blocks."""
    (blocks, d, lanes), w, m = items.z.shape, items.h.shape[1], len(items.kinds)
    room = (blocks // ROOM + 2) * (lanes // LANES)
    parts, at = carved(space, 0, room, m, LANES)
    z, at = blocks_of(space, at, room, d, LANES)
    h, at = blocks_of(space, at, room, w, LANES)
    sizes, at = blocks_of(space, at, room, m, LANES)
    return (z, h, sizes, np.empty(room * LANES, dtype=np.intp), *parts)


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
