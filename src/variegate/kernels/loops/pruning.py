"""Which items can still get into a list: bounds that hold whatever else is picked.

Diversity gains lie between 0 and their largest values (`reach`). So each part of G zeta that
they have a share in lies between two ends, and the score between two sums. As long as k items
are sure of more than another item's highest score, that item is never picked.
"""

from math import sqrt

import numpy as np
from numba import njit

FAST_FINITE = {"contract", "reassoc", "arcp", "nsz", "nnan"}
#: Tops that are kept of a block: its items, folded to so many.
FOLDED = 16


@njit(cache=True, nogil=True)
def ends_of_gains(belief, reach):
    """Return the most that diversity takes from a mean, and adds; the ends (2, m) of its parts."""
    eta, G, _alpha = belief
    m = len(reach)
    d = len(eta) - m
    loss, gain = np.float32(0.0), np.float32(0.0)
    ends = np.zeros((2, m), dtype=np.float32)
    for c in range(m):
        most = eta[d + c] * reach[c]
        loss, gain = loss - min(most, np.float32(0.0)), gain + max(most, np.float32(0.0))
        for e in range(c + 1):
            part = G[d + c, d + e] * reach[e]
            ends[0, c] += min(part, np.float32(0.0))
            ends[1, c] += max(part, np.float32(0.0))
    return loss, gain, ends


@njit(cache=True, nogil=True, fastmath=FAST_FINITE)
def block_bounds(mean, square, cross, closed, alpha, gains, low, high):
    """Fill the least and the highest score of a block's items, whatever else is picked."""
    loss, gain, ends = gains
    lanes = len(mean)
    for a in range(lanes):
        low[a] = mean[a] - loss + alpha * sqrt(square[a]) + closed[a]
        high[a] = square[a]
    for c in range(len(cross)):
        down, up = ends[0, c], ends[1, c]
        for a in range(lanes):
            least, most = abs(cross[c, a] + down), abs(cross[c, a] + up)
            part = most if most > least else least
            high[a] += part * part
    for a in range(lanes):
        high[a] = mean[a] + gain + alpha * sqrt(high[a]) + closed[a]


@njit(cache=True, nogil=True, fastmath=FAST_FINITE)
def fold(low):
    """Leave in the first `FOLDED` places of `low` the highest of those that fall on each."""
    half = len(low)
    while half > FOLDED:
        half //= 2
        for a in range(half):
            low[a] = low[a] if low[a] > low[a + half] else low[a + half]


@njit(cache=True, nogil=True)
def bound(parts, closed, belief, reach, high, lowest, first, stop):
    """Fill `high` by blocks, and `lowest` (k,) with least scores that k candidates are sure of."""
    mean, square, cross = parts
    lanes, alpha, gains = mean.shape[1], belief[2], ends_of_gains(belief, reach)
    low = np.empty(lanes, dtype=np.float32)
    lowest[:] = -np.inf
    at = 0
    for b in range(first, stop):
        shut = closed[b * lanes : (b + 1) * lanes]
        block_bounds(mean[b], square[b], cross[b], shut, alpha, gains, low, high[b])
        fold(low)
        for a in range(FOLDED):
            if low[a] > lowest[at]:
                lowest[at] = low[a]
                at = int(np.argmin(lowest))


@njit(cache=True, nogil=True)
def possible(high, threshold, places, first, stop):
    """Write the places whose highest score is `threshold` or more, while there is room.

    Returns how many there are, which may be more than `places` can hold.
    """
    lanes, count, room = high.shape[1], 0, len(places)
    for b in range(first, stop):
        for a in range(lanes):
            if high[b, a] >= threshold:
                if count < room:
                    places[count] = b * lanes + a
                count += 1
    return count


@njit(cache=True, nogil=True)
def gather(places, count, data, parts, closed, small_data, small_parts, small_closed):
    """Lay the first `count` of `places` out side by side, in blocks of their own."""
    (h, sizes), (mean, square, cross) = data, parts
    (small_h, small_sizes), (small_mean, small_square, small_cross) = small_data, small_parts
    lanes = mean.shape[1]
    small_closed[:] = -np.inf
    for n in range(count):
        b, a = places[n] // lanes, places[n] % lanes
        t, s = n // lanes, n % lanes
        small_mean[t, s], small_square[t, s] = mean[b, a], square[b, a]
        for c in range(cross.shape[1]):
            small_cross[t, c, s], small_sizes[t, c, s] = cross[b, c, a], sizes[b, c, a]
        for i in range(h.shape[1]):
            small_h[t, i, s] = h[b, i, a]
        small_closed[n] = closed[places[n]]
