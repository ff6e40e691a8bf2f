"""An item's score in double precision, with what was worked out of it before in the same list.

Items that are alike have scores that single precision cannot tell apart, at every position anew.
So what z decides is kept, and the sums of distances go on from where they stood.
"""

from math import sqrt

from numba import njit

from variegate.kernels.loops.distances import pair_distance


@njit(cache=True, nogil=True)
def exact_score(item, above, n, items, belief, factor, memo, x):
    """Return mu of one item below the first n of `above`; fills x (m,).

    `memo` has, for each of its places, the row that stands there (-1 at the start of a list),
    how many of `above` are in its sums, and its numbers: theta . z, the squares of the first d
    rows of G zeta, what z adds to each of the others, and the sums of distances.
    """
    owners, counts, numbers = memo
    place, m = item % len(owners), len(x)
    own = numbers[place]
    if owners[place] != item:
        owners[place], counts[place] = item, 0
        fill_relevance(items.z_rows[item], belief, m, own)
    for p in above[counts[place] : n]:
        add_distances(item, p, items, own[2 + m :])
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
    """Fill what z decides, and let the sums of distances begin."""
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
def add_distances(item, other, items, sums):
    """Add h between two items to `sums` (m,)."""
    for c in range(len(sums)):
        s, e = items.starts[c], items.starts[c] + items.widths[c]
        sums[c] += pair_distance(
            items.h_rows[item, s:e],
            items.h_rows[other, s:e],
            items.kinds[c],
            items.sizes[c, item],
            items.sizes[c, other],
            items.scales[c],
        )
