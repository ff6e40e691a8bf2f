"""Which items can still get into a list: bounds that hold whatever else is picked.

Diversity gains lie between 0 and their largest values. The score is convex in them, so it is
highest at a corner of that box; and it is never below what it is without their variance. As
long as k items are sure of more than another item's highest score, that item is never picked.
"""

from math import sqrt

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def surest(parts, closed, alpha, loss, lowest, first, stop):
    """Fill `lowest` (k,) with the k highest of the least scores of the candidates.

    `loss` is the most that diversity can take from a score.
    """
    mean, square, _cross = parts
    lanes = mean.shape[1]
    lowest[:] = -np.inf
    at = 0
    for b in range(first, stop):
        for a in range(lanes):
            least = mean[b, a] + alpha * sqrt(square[b, a]) - loss
            if least > lowest[at] and closed[b * lanes + a] == 0.0:
                lowest[at] = least
                at = int(np.argmin(lowest))


@njit(cache=True, nogil=True)
def possible(parts, closed, belief, reach, threshold, places, first, stop):
    """Write the places of candidates that can score `threshold` or more; return how many.

    `reach` (m,) has the largest value of each diversity gain.
    """
    mean, square, cross = parts
    eta, G, alpha = belief
    m, lanes, count = len(reach), mean.shape[1], 0
    d = len(eta) - m
    for b in range(first, stop):
        for a in range(lanes):
            if closed[b * lanes + a] < 0.0:
                continue
            for corner in range(1 << m):
                score, variance = mean[b, a], square[b, a]
                for c in range(m):
                    part = cross[b, c, a]
                    for e in range(c + 1):
                        if corner >> e & 1:
                            part += G[d + c, d + e] * reach[e]
                    variance += part * part
                    if corner >> c & 1:
                        score += eta[d + c] * reach[c]
                if score + alpha * sqrt(variance) >= threshold:
                    places[count] = b * lanes + a
                    count += 1
                    break
    return count
