"""LMDH's list in compiled loops (Algorithm 2, lines 5 to 14).

z never changes while a list is built, so its share of lines 9 and 10 is worked out once; each
pick adds one row of distances. With Phi^-1 = G'G and G lower triangular the variance is a sum
of squares, |G zeta|^2, in which single precision cancels nothing. It picks out the few items
that may be the best; among those double precision decides, so that the list is the one that
the NumPy reference finds.
"""

from math import sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.distances import add_block_distances, pair_distance

#: Features from which on BLAS is faster than plain loops.
WIDE = 24
FAST = {"contract", "reassoc", "arcp", "nsz"}


@njit(cache=True, nogil=True)
def exact_score(item, above, n, items, belief, factor, x):
    """Return mu of one item below the first n of `above`, in double precision; fills x (m,)."""
    z, (eta, G, alpha) = items.z_rows[item], belief
    d, m = len(z), len(x)
    for c in range(m):
        s, e = items.starts[c], items.starts[c] + items.widths[c]
        total = 0.0
        for p in above[:n]:
            total += pair_distance(
                items.h_rows[item, s:e],
                items.h_rows[p, s:e],
                items.kinds[c],
                items.sizes[c, item],
                items.sizes[c, p],
                items.scales[c],
            )
        x[c] = total * factor
    mean, variance = 0.0, 0.0
    for i in range(d):
        mean += eta[i] * z[i]
    for c in range(m):
        mean += eta[d + c] * x[c]
    for i in range(d + m):
        part = 0.0
        for j in range(min(i + 1, d)):
            part += G[i, j] * z[j]
        for c in range(i + 1 - d):
            part += G[i, d + c] * x[c]
        variance += part * part
    return mean + alpha * sqrt(variance)


@njit(cache=True, nogil=True, fastmath=FAST)
def constant_parts(z, belief, work, mean, square, cross):
    """Work out theta . z, the squares of G z, and G's last rows times z, for one block."""
    d, lanes = z.shape
    eta, G, _alpha = belief
    mean[:] = 0.0
    square[:] = 0.0
    for i in range(d):
        for a in range(lanes):
            mean[a] += eta[i] * z[i, a]
    if d >= WIDE:
        parts = np.dot(G[:d, :d].copy(), z)
        for i in range(d):
            for a in range(lanes):
                square[a] += parts[i, a] * parts[i, a]
    else:
        for i in range(d):
            work[:] = 0.0
            for j in range(i + 1):
                for a in range(lanes):
                    work[a] += G[i, j] * z[j, a]
            for a in range(lanes):
                square[a] += work[a] * work[a]
    for c in range(len(cross)):
        cross[c, :] = 0.0
        for j in range(d):
            for a in range(lanes):
                cross[c, a] += G[d + c, j] * z[j, a]


@njit(cache=True, nogil=True, fastmath=FAST)
def block_scores(mean, square, cross, sums, belief, factor, work, scores):
    """Work out mu of one block's items from the constant parts and the sums of distances."""
    m, lanes = sums.shape
    eta, G, alpha = belief
    d = len(eta) - m
    for a in range(lanes):
        scores[a] = mean[a]
        work[a] = square[a]
    for c in range(m):
        weight = eta[d + c] * factor
        for a in range(lanes):
            scores[a] += weight * sums[c, a]
    if m == 1:  # spelt out: the compiler then works on eight items at a time
        g = G[d, d] * factor
        for a in range(lanes):
            part = cross[0, a] + g * sums[0, a]
            work[a] += part * part
    else:
        for c in range(m):
            for a in range(lanes):
                part = cross[c, a]
                for e in range(c + 1):
                    part += G[d + c, d + e] * factor * sums[e, a]
                work[a] += part * part
    for a in range(lanes):
        scores[a] += alpha * sqrt(work[a])


@njit(cache=True, nogil=True)
def scan(n, last, items, free, belief, factor, space, tops):
    """Score every block after n picks, the last of which was `last`; return the highest score.

    `tops` (blocks,) gets the highest score of a candidate in each block.
    """
    blocks, _d, lanes = items.z.shape
    m = len(items.kinds)
    mean, square, scores = space[0], space[1], space[2]
    cross, sums = space[3 : 3 + m], space[3 + m : 3 + 2 * m]
    work = np.empty(lanes, dtype=np.float32)
    row = items.h_rows[last].astype(np.float32)
    best = np.float32(-np.inf)
    for b in range(blocks):
        if n == 0:
            constant_parts(items.z[b], belief, work, mean[b], square[b], cross[:, b])
            sums[:, b] = 0.0
        for c in range(m if n else 0):
            s, e = items.starts[c], items.starts[c] + items.widths[c]
            add_block_distances(
                items.h[b, s:e],
                items.sizes_blocks[b, c],
                row[s:e],
                np.float32(items.sizes[c, last]),
                items.kinds[c],
                items.scales[c],
                work,
                sums[c, b],
            )
        block_scores(mean[b], square[b], cross[:, b], sums[:, b], belief, factor, work, scores[b])
        tops[b] = np.float32(-np.inf)
        for a in range(lanes):
            if free[b * lanes + a] and scores[b, a] > tops[b]:
                tops[b] = scores[b, a]
        best = max(best, tops[b])
    return best


@njit(cache=True, nogil=True)
def lmdh_list(items, free, belief, factors, slack, space, chosen, scores, x):
    """Fill `chosen`, `scores` (k,) and `x` (k, m) with LMDH's list.

    `free` (blocks * BLOCK,) says which items are candidates; it is used up. `space` is room to
    work in, (3 + 2 m, blocks, BLOCK), in single precision.
    """
    eta, G, alpha = belief
    single = (eta.astype(np.float32), G.astype(np.float32), np.float32(alpha))
    blocks, _d, lanes = items.z.shape
    tops, gains = np.empty(blocks, dtype=np.float32), np.empty(x.shape[1])
    for n in range(len(chosen)):
        last = chosen[n - 1] if n else 0
        best = scan(n, last, items, free, single, np.float32(factors[n]), space, tops)
        scores[n] = -np.inf
        for b in range(blocks):
            if tops[b] < best - slack:
                continue
            for a in range(lanes):
                item = b * lanes + a
                if free[item] and space[2, b, a] >= best - slack:
                    score = exact_score(item, chosen, n, items, belief, factors[n], gains)
                    if score > scores[n]:
                        chosen[n], scores[n] = item, score
                        x[n] = gains
        free[chosen[n]] = False
