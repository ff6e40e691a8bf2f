"""Selection of the best item: upper bounds in single precision, the decision in double.

A bound is a score in single precision plus its largest rounding error. Only an item whose bound
reaches the best exact score so far can be better, so few exact scores are computed, and the list
is the one that the NumPy reference finds.

`block_sigmoid` and `block_log` are polynomials and bit shifts, which the compiler vectorises; the
functions of libm would be called once per item. Their error is a few units in the last place of
the result (the sigmoid: of 1), and the bounds allow for it.
"""

from math import exp

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "arcp", "nsz"}
NEVER, ALWAYS = np.float32(-np.inf), np.float32(np.inf)
LOWEST = np.finfo(np.float32).min
ONE, TWO, HALF = np.float32(1.0), np.float32(2.0), np.float32(0.5)
LN_2 = np.float32(np.log(2.0))
#: The exponential of a larger number overflows single precision.
FARTHEST = np.float32(87.0)
#: The bits of sqrt(1/2): the mantissa is then taken in [sqrt(1/2), sqrt(2)), around 1.
ROOT_HALF = np.int32(np.float32(np.sqrt(0.5)).view(np.int32))
#: Mantissa bits and exponent bias of single precision.
MANTISSA_BITS, BIAS = np.int32(23), np.int32(127)


@njit(cache=True, nogil=True, fastmath=FAST)
def add_products(block, weights, sums):
    """Add weights . (features of each item of a block) to `sums` (BLOCK,)."""
    w, lanes = len(weights), len(sums)
    whole = w // 4 * 4
    for i in range(0, whole, 4):  # four at a time: each sum is then read and written less often
        p, q, r, s = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        if p == 0 and q == 0 and r == 0 and s == 0:
            continue  # labels are mostly zeros
        for a in range(lanes):
            sums[a] += (
                p * block[i, a] + q * block[i + 1, a] + r * block[i + 2, a] + s * block[i + 3, a]
            )
    for i in range(whole, w, 2):
        after = min(i + 1, w - 1)
        p, q = weights[i], weights[after] * np.float32(after > i)
        for a in range(lanes):
            sums[a] += p * block[i, a] + q * block[after, a]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_two_products(block, weights, others, sums, more):
    """Add the products with two vectors of weights to `sums` and `more` (BLOCK,)."""
    w, lanes = len(weights), len(sums)
    whole = w // 4 * 4
    for i in range(0, whole, 4):
        p, q, r, s = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        t, u, v, x = others[i], others[i + 1], others[i + 2], others[i + 3]
        for a in range(lanes):
            e, f, g, h = block[i, a], block[i + 1, a], block[i + 2, a], block[i + 3, a]
            sums[a] += p * e + q * f + r * g + s * h
            more[a] += t * e + u * f + v * g + x * h
    for i in range(whole, w, 2):
        after = min(i + 1, w - 1)
        paired = np.float32(after > i)
        p, q, t, u = weights[i], paired * weights[after], others[i], paired * others[after]
        for a in range(lanes):
            sums[a] += p * block[i, a] + q * block[after, a]
            more[a] += t * block[i, a] + u * block[after, a]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_squares(block, G, one, two, squares):
    """Add |G z|^2 of each item of a block to `squares` (BLOCK,); G is lower triangular.

    Two rows of G at a time and four features, held beside the loop: each number that is read
    is then used twice. `one` and `two` (BLOCK,) are work arrays.
    """
    d, lanes = block.shape
    for i in range(0, d, 2):
        k = min(i + 1, d - 1)
        whole = (k + 1) // 4 * 4
        start_rows(block, G, i, k, whole, one, two)
        for j in range(0, whole, 4):
            e, f, g, h = G[i, j], G[i, j + 1], G[i, j + 2], G[i, j + 3]
            t, u, v, w = G[k, j], G[k, j + 1], G[k, j + 2], G[k, j + 3]
            for a in range(lanes):
                p, q, r, s = block[j, a], block[j + 1, a], block[j + 2, a], block[j + 3, a]
                one[a] += e * p + f * q + g * r + h * s
                two[a] += t * p + u * q + v * r + w * s
        if k == i:  # the last of an odd number of rows has no partner
            two[:] = 0.0
        for a in range(lanes):
            squares[a] += one[a] * one[a] + two[a] * two[a]


@njit(cache=True, nogil=True, fastmath=FAST)
def start_rows(block, G, i, k, whole, one, two):
    """Start rows i and k of G z with the features from `whole` on, of which there are 0 to 3."""
    one[:] = 0.0
    two[:] = 0.0
    for j in range(whole, k + 1, 2):
        after = min(j + 1, k)
        paired = np.float32(after > j)
        e, f, t, u = G[i, j], paired * G[i, after], G[k, j], paired * G[k, after]
        for a in range(len(one)):
            one[a] += e * block[j, a] + f * block[after, a]
            two[a] += t * block[j, a] + u * block[after, a]


@njit(cache=True, nogil=True)
def dot(row, other):
    """Return the product of two rows in double precision."""
    total = 0.0
    for i in range(len(row)):
        total += row[i] * other[i]
    return total


@njit(cache=True, nogil=True)
def length_by(G, row):
    """Return |G row| for a lower triangular G, in double precision."""
    total = 0.0
    for i in range(len(row)):
        part = 0.0
        for j in range(i + 1):
            part += G[i, j] * row[j]
        total += part * part
    return np.sqrt(total)


@njit(cache=True, nogil=True)
def mask_bounds(bounds, free):
    """Set a block's bounds (BLOCK,) to -inf where not `free`; return the highest that is left.

    If single precision overflowed to nan, the bound is inf: the item may always be the best.
    """
    for a in range(len(bounds)):
        bound = bounds[a] if bounds[a] < ALWAYS else ALWAYS
        bound = bound if bound > LOWEST else LOWEST
        bounds[a] = bound if free[a] else NEVER
    return _highest_of(bounds)


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _highest_of(bounds):
    top = NEVER
    for a in range(len(bounds)):
        top = bounds[a] if bounds[a] > top else top
    return top


@njit(cache=True, nogil=True)
def highest_place(bounds, tops):
    """Return the place with the highest bound."""
    b = np.argmax(tops)
    return b * bounds.shape[1] + np.argmax(bounds[b])


@njit(cache=True, nogil=True)
def next_place(bounds, tops, lowest, start):
    """Return the first place from `start` on whose bound reaches `lowest`, or -1."""
    lanes = bounds.shape[1]
    for b in range(start // lanes, len(tops)):
        if tops[b] >= lowest:
            for a in range(max(start - b * lanes, 0), lanes):
                if bounds[b, a] >= lowest:
                    return b * lanes + a
    return -1


@njit(cache=True, nogil=True)
def is_better(score, item, best, chosen):
    """Return whether an item is better than the one chosen so far; ties go to the lower row."""
    return score > best or (score == best and item < chosen)


@njit(cache=True, nogil=True)
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) in double precision, without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    return exp(x) / (1.0 + exp(x))


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def block_sigmoid(values, work):
    """Replace `values` (BLOCK,) by their sigmoids."""
    bits = work.view(np.int32)
    for a in range(len(values)):
        x = min(max(-values[a], -FARTHEST), FARTHEST)
        power = np.floor(x / LN_2 + HALF)
        r = x - power * LN_2
        bits[a] = np.int32(np.int32(power) + BIAS) << MANTISSA_BITS
        series = np.float32(1 / 720) + r * np.float32(1 / 5040)
        series = np.float32(1 / 24) + r * (np.float32(1 / 120) + r * series)
        series = HALF + r * (np.float32(1 / 6) + r * series)
        values[a] = ONE + r * (ONE + r * series)
    for a in range(len(values)):
        values[a] = ONE / (ONE + values[a] * work[a])


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def block_log(values, work):
    """Replace `values` (BLOCK,), all greater than 0, by their logarithms."""
    bits = values.view(np.int32)
    for a in range(len(values)):
        power = np.int32(np.int32(bits[a] - ROOT_HALF) >> MANTISSA_BITS)
        bits[a] = np.int32(bits[a] - np.int32(power << MANTISSA_BITS))
        work[a] = np.float32(power)
    for a in range(len(values)):
        # ln y = 2 artanh s for s = (y - 1) / (y + 1), whose series in s^2 is short near 1
        s = (values[a] - ONE) / (values[a] + ONE)
        q = s * s
        series = np.float32(1 / 5) + q * (np.float32(1 / 7) + q * np.float32(1 / 9))
        values[a] = work[a] * LN_2 + TWO * s * (ONE + q * (np.float32(1 / 3) + q * series))
