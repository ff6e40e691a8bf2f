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
#: Rows and columns of a matrix whose products are taken together.
TILE = 4
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


@njit(cache=True, nogil=True)
def padded(G, d, dtype):
    """Return the first d rows and columns of a lower triangular G, as `add_squares` reads them."""
    side = max(-(-d // TILE) * TILE, 2 * TILE)
    g = np.zeros((side, side), dtype)
    for i in range(d):
        for j in range(i + 1):
            g[i, j] = G[i, j]
    return g


@njit(cache=True, nogil=True, fastmath=FAST)
def add_squares(block, g, work, squares):
    """Add |G z|^2 of each item of a block (d, lanes) to `squares` (lanes,).

    `g` is `padded`, and `work` (TILE, lanes) is overwritten.
    """
    add_first_squares(block, g, squares)
    last = len(block) - 1
    for i in range(2 * TILE, len(block), TILE):
        work[:] = 0.0
        is_half = i + 2 > last
        if is_half:
            add_two_products(block, g[i, : last + 1], g[i + 1, : last + 1], work[0], work[1])
        for j in range(
            0, 0 if is_half else i + TILE, TILE
        ):  # each number that is read is used for four rows
            second, third, fourth = min(j + 1, last), min(j + 2, last), min(j + 3, last)
            p, q, r, s = g[i, j], g[i, j + 1], g[i, j + 2], g[i, j + 3]
            t, u, v, w = g[i + 1, j], g[i + 1, j + 1], g[i + 1, j + 2], g[i + 1, j + 3]
            k, o, m, n = g[i + 2, j], g[i + 2, j + 1], g[i + 2, j + 2], g[i + 2, j + 3]
            b, c, x, y = g[i + 3, j], g[i + 3, j + 1], g[i + 3, j + 2], g[i + 3, j + 3]
            for a in range(len(squares)):
                d, e, f, h = block[j, a], block[second, a], block[third, a], block[fourth, a]
                work[0, a] += p * d + q * e + r * f + s * h
                work[1, a] += t * d + u * e + v * f + w * h
                work[2, a] += k * d + o * e + m * f + n * h
                work[3, a] += b * d + c * e + x * f + y * h
        for a in range(len(squares)):
            d, e, f, h = work[0, a], work[1, a], work[2, a], work[3, a]
            squares[a] += d * d + e * e + f * f + h * h


@njit(cache=True, nogil=True, fastmath=FAST)
def add_first_squares(block, g, squares):
    """Add the squares of the first 2 TILE rows of G z.

    The compiler unrolls loops up to a constant, and keeps the sums of an item in registers.
    """
    last = len(block) - 1
    for a in range(len(squares)):
        total = squares[a]
        for row in range(2 * TILE):
            part = g[row, 0] * block[0, a]
            for column in range(1, row + 1):
                part += g[row, column] * block[min(column, last), a]
            total += part * part
        squares[a] = total


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
