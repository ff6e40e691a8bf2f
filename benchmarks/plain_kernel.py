"""LMDH's list as a plain blocked kernel: what a numba expert writes in an hour, for comparison.

Features are float32 in blocks of 256 items, by feature. What z alone decides is computed once per
list; each pick adds one row of cosine distances and takes the maximum of
base + beta x + alpha sqrt(q + x (2c + p x)). Nothing is pruned, and nothing is decided in double
precision: near-ties may come out in another order than in the paper's lines.
"""

from collections.abc import Callable
from math import sqrt
from typing import Final

import numpy as np
from numba import njit

from variegate.arrays import IndexArray
from variegate.kernels.layout import BLOCK, in_blocks
from variegate.model.gains import normalising_factors
from variegate.policies import LMDH

FAST: Final = {"contract", "reassoc", "arcp", "nsz", "nnan"}


def plain_list(policy: LMDH, k: int) -> Callable[[], IndexArray]:
    """Return a call of the plain kernel for a policy with one cosine distance on the features."""
    catalogue, estimate = policy.catalogue, policy._estimate()
    z, units = in_blocks(catalogue.features), in_blocks(catalogue.distances[0].rows)
    eta, P = estimate.mean.astype(np.float32), estimate.covariance.astype(np.float32)
    factors = normalising_factors(policy.normaliser, k).astype(np.float32)
    alpha, size = np.float32(policy.width(k)), len(catalogue)
    work = np.empty((5, len(z), BLOCK), dtype=np.float32)

    def listed() -> IndexArray:
        chosen = np.empty(k, dtype=np.intp)
        select(z, units, size, eta, P, alpha, factors, work, chosen)
        return chosen

    return listed


@njit(cache=True, nogil=True)
def select(z, units, size, eta, P, alpha, factors, work, chosen):
    """Fill `chosen` (k,) with the items of the greedy list."""
    base, square, cross, x, scores = work[0], work[1], work[2], work[3], work[4]
    one, d = np.empty(BLOCK, dtype=np.float32), z.shape[1]
    row = np.zeros(units.shape[1], dtype=np.float32)
    for n in range(len(chosen)):
        top, best = np.float32(-np.inf), 0
        for b in range(len(z)):
            if n == 0:
                fill_parts(z[b], eta, P, one, base[b], square[b], cross[b])
                x[b] = 0.0
                base[b, max(size - b * BLOCK, 0) :] = -np.inf
            else:
                add_distances(units[b], row, one, x[b])
            fill_scores(
                base[b], square[b], cross[b], x[b], eta[d], P[d, d], alpha, factors[n], scores[b]
            )
            highest = top_of(scores[b], one)
            if highest > top:
                top, best = highest, b
        place = np.argmax(scores[best])
        chosen[n] = best * BLOCK + place
        base[best, place] = -np.inf
        row[:] = units[best, :, place]


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_parts(z, eta, P, work, base, square, cross):
    """Fill z'theta, z'Pz and the cross term of a block's items."""
    d = len(z)
    base[:] = 0.0
    square[:] = 0.0
    cross[:] = 0.0
    for i in range(d):
        work[:] = 0.0
        add_products(z[:i], np.float32(2.0) * P[i, :i], work)  # P is symmetric
        weight, own, across = eta[i], P[i, i], P[d, i]
        for a in range(BLOCK):
            number = z[i, a]
            base[a] += weight * number
            square[a] += number * (work[a] + own * number)
            cross[a] += across * number


@njit(cache=True, nogil=True, fastmath=FAST)
def add_products(block, weights, sums):
    """Add weights . (features of each item of a block) to `sums`, four features at a time."""
    whole = len(weights) // 4 * 4
    for i in range(0, whole, 4):
        p, q, r, s = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for a in range(BLOCK):
            sums[a] += (
                p * block[i, a] + q * block[i + 1, a] + r * block[i + 2, a] + s * block[i + 3, a]
            )
    for i in range(whole, len(weights)):
        p = weights[i]
        for a in range(BLOCK):
            sums[a] += p * block[i, a]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_distances(units, row, work, x):
    """Add 1 - cosine to the sums of a block's items."""
    work[:] = 0.0
    add_products(units, row, work)
    for a in range(BLOCK):
        x[a] += np.float32(1.0) - work[a]


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_scores(base, square, cross, x, beta, p, alpha, factor, scores):
    """Fill the upper confidence bounds of a block's items."""
    for a in range(BLOCK):
        gain = factor * x[a]
        variance = square[a] + gain * (np.float32(2.0) * cross[a] + p * gain)
        scores[a] = base[a] + beta * gain + alpha * sqrt(max(variance, np.float32(0.0)))


@njit(cache=True, nogil=True, fastmath=FAST)
def top_of(scores, one):
    """Return the highest score of a block, folding it in halves, which is vectorised."""
    half = BLOCK // 2
    for a in range(half):
        one[a] = scores[a] if scores[a] > scores[a + half] else scores[a + half]
    while half > 1:
        half //= 2
        for a in range(half):
            one[a] = one[a] if one[a] > one[a + half] else one[a + half]
    return one[0]
