"""Curves in compiled loops: the sigmoid of one number, and curves over a block in single precision.

Written as sums and shifts of bits, which the processor does on eight items at a time; the
library's own would be called item by item. Off by a few units in the last place of the result,
the sigmoid of 1; what uses them allows for that.
"""

from math import exp

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "arcp", "nsz"}
ONE, TWO, HALF = np.float32(1.0), np.float32(2.0), np.float32(0.5)
LN_2 = np.float32(np.log(2.0))
#: Beyond this the exponential leaves single precision.
FARTHEST = np.float32(87.0)
#: The bits of sqrt(1/2), so that what is left of a number after its power of 2 is nearest to 1.
ROOT_HALF = np.int32(np.float32(np.sqrt(0.5)).view(np.int32))
#: A number of single precision has 23 bits after the point, and its power of 2 counts from -127.
DIGITS, ZERO_POWER = np.int32(23), np.int32(127)


@njit(cache=True, nogil=True)
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) in double precision, without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    return exp(x) / (1.0 + exp(x))


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def block_sigmoid(values, work):
    """Put the sigmoids of `values` (BLOCK,) in their place."""
    bits = work.view(np.int32)
    for a in range(len(values)):
        x = min(max(-values[a], -FARTHEST), FARTHEST)
        power = np.floor(x / LN_2 + HALF)
        r = x - power * LN_2
        bits[a] = np.int32(np.int32(power) + ZERO_POWER) << DIGITS
        series = np.float32(1 / 720) + r * np.float32(1 / 5040)
        series = np.float32(1 / 24) + r * (np.float32(1 / 120) + r * series)
        series = HALF + r * (np.float32(1 / 6) + r * series)
        values[a] = ONE + r * (ONE + r * series)
    for a in range(len(values)):
        values[a] = ONE / (ONE + values[a] * work[a])


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def block_log(values, work):
    """Put the logarithms of `values` (BLOCK,), which are above 0, in their place."""
    bits = values.view(np.int32)
    for a in range(len(values)):
        power = np.int32(np.int32(bits[a] - ROOT_HALF) >> DIGITS)
        bits[a] = np.int32(bits[a] - np.int32(power << DIGITS))
        work[a] = np.float32(power)
    for a in range(len(values)):
        # ln y = 2 artanh s for s = (y - 1) / (y + 1), whose series in s^2 is short near 1
        s = (values[a] - ONE) / (values[a] + ONE)
        q = s * s
        series = np.float32(1 / 5) + q * (np.float32(1 / 7) + q * np.float32(1 / 9))
        values[a] = work[a] * LN_2 + TWO * s * (ONE + q * (np.float32(1 / 3) + q * series))
