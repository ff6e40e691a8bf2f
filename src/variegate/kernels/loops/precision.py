"""What a list needs before it begins: how far gains reach, and how far single precision errs."""

from math import sqrt

import numpy as np
from numba import njit

#: Half the distance from 1 to the next number of single precision.
ROUNDING = 6e-8
#: The roots of squares that single precision is too coarse for are less than this.
TINY = 1e-18
#: Larger numbers than this do not square in single precision.
LARGEST = 1e15


@njit(cache=True, nogil=True)
def prepared(free, closed, belief, factors, limits, width):
    """Fill `closed` from `free`; return the largest gains (m,), the slack, and whether they fit.

    Where they do not fit single precision, or are not numbers, the rest means nothing.

    `limits` are the length of the longest feature vector and the largest value of each
    distance, `width` how many numbers the distances' data have. Scores that are nearer than the
    slack are looked at again in double precision.
    """
    eta, G, alpha = belief
    longest, largest = limits
    closed[:] = -np.inf
    for item in range(len(free)):
        if free[item]:
            closed[item] = 0.0
    above = 0.0
    for n in range(len(factors)):
        above = max(above, n * factors[n])
    reach, length, weights, spread = np.empty(len(largest), np.float32), longest**2, 0.0, 0.0
    for c in range(len(largest)):
        reach[c] = above * largest[c]
        length += (above * largest[c]) ** 2
    for i in range(len(eta)):
        weights += eta[i] ** 2
        for j in range(i + 1):
            spread += G[i, j] ** 2
    terms = len(eta) + width + len(factors) + 8
    length, weights, spread = sqrt(length), sqrt(weights), sqrt(spread)
    size = weights + alpha * spread
    fits = alpha >= 0.0  # nan is not less than anything, so it does not fit
    for number in (size * length, length, weights, spread, alpha):
        fits = fits and number < LARGEST
    return reach, np.float32(4.0 * terms * ROUNDING * size * length + TINY), fits
