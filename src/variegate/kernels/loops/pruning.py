"""Which items can still get into a list: bounds that hold whatever else is picked.

Diversity gains lie between 0 and their largest values (`reach`). So each row of G zeta that
depends on them lies in an interval, and so does the score. While k items have a lower bound
above another item's upper bound, that item is never picked.
"""

from math import sqrt

import numpy as np
from numba import njit

FAST_FINITE = {"contract", "reassoc", "arcp", "nsz", "nnan"}
#: Number of maxima kept per block: its items are folded to this many.
FOLDED = 16


@njit(cache=True, nogil=True)
def gain_intervals(belief, reach):
    """Return the most that diversity subtracts and adds, and its interval per row, (2, m)."""
    eta, G, _alpha = belief
    m = len(reach)
    d = len(eta) - m
    loss, gain = np.float32(0.0), np.float32(0.0)
    ends = np.zeros((2, m), dtype=np.float32)
    for c in range(m):
        full = eta[d + c] * reach[c]
        loss, gain = loss - min(full, np.float32(0.0)), gain + max(full, np.float32(0.0))
        for e in range(c + 1):
            part = G[d + c, d + e] * reach[e]
            ends[0, c] += min(part, np.float32(0.0))
            ends[1, c] += max(part, np.float32(0.0))
    return loss, gain, ends


@njit(cache=True, nogil=True, fastmath=FAST_FINITE)
def block_bounds(mean, square, cross, closed, alpha, gains, low, high):
    """Fill the lower and the upper bound of the scores of a block's items."""
    loss, gain, ends = gains
    lanes = len(mean)
    for a in range(lanes):
        low[a] = mean[a] - loss + alpha * sqrt(square[a]) + closed[a]
        high[a] = square[a]
    for c in range(len(cross)):
        down, up = ends[0, c], ends[1, c]
        for a in range(lanes):
            at_low, at_high = abs(cross[c, a] + down), abs(cross[c, a] + up)
            part = at_high if at_high > at_low else at_low
            high[a] += part * part
    for a in range(lanes):
        high[a] = mean[a] + gain + alpha * sqrt(high[a]) + closed[a]


@njit(cache=True, nogil=True, fastmath=FAST_FINITE)
def fold(low):
    """Reduce `low` to the first `FOLDED` places, each the maximum of those that fold onto it."""
    half = len(low)
    while half > FOLDED:
        half //= 2
        for a in range(half):
            low[a] = low[a] if low[a] > low[a + half] else low[a + half]


@njit(cache=True, nogil=True)
def fill_bounds(parts, closed, belief, reach, high, lowest, first, stop):
    """Fill `high`, the upper bounds, and `lowest` (k,), lower bounds of k distinct candidates."""
    mean, square, cross = parts
    lanes, alpha, gains = mean.shape[1], belief[2], gain_intervals(belief, reach)
    low = np.empty(lanes, dtype=np.float32)
    lowest[:] = -np.inf
    at = 0
    for b in range(first, stop):
        closed_here = closed[b * lanes : (b + 1) * lanes]
        block_bounds(mean[b], square[b], cross[b], closed_here, alpha, gains, low, high[b])
        fold(low)
        for a in range(FOLDED):
            if low[a] > lowest[at]:
                lowest[at] = low[a]
                at = int(np.argmin(lowest))


@njit(cache=True, nogil=True)
def fill_places(high, threshold, places, first, stop):
    """Write the places whose upper bound is at nearest `threshold`, as many as fit.

    Returns how many there are, which may be more than `places` can hold.
    """
    lanes, count, size = high.shape[1], 0, len(places)
    for b in range(first, stop):
        for a in range(lanes):
            if high[b, a] >= threshold:
                if count < size:
                    places[count] = b * lanes + a
                count += 1
    return count


@njit(cache=True, nogil=True)
def copy_places(places, count, data, parts, closed, small_data, small_parts, small_closed):
    """Copy the first `count` of `places` side by side into blocks of their own."""
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
