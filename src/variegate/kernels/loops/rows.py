"""Conditioning on rows of a covariance matrix that stay where they are.

A place below 0 stands for a row of zeros. A Cholesky factor is packed: row i of it, of i + 1
numbers, begins at i (i + 1) / 2.
"""

from math import sqrt

import numpy as np
from numba import njit

#: Columns that are summed together: their sums stay in the processor's nearest cache.
WIDTH = 1024


@njit(cache=True, nogil=True)
def n_common(ours, theirs):
    """Return how many first observations are the same."""
    items, scales, gains, rewards = ours
    other_items, other_scales, other_gains, other_rewards = theirs
    n = min(len(items), len(other_items))
    for i in range(n):
        is_same = items[i] == other_items[i] and scales[i] == other_scales[i]
        is_same = is_same and rewards[i] == other_rewards[i]
        for distance in range(gains.shape[1]):
            is_same = is_same and gains[i, distance] == other_gains[i, distance]
        if not is_same:
            return i
    return n


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def dot(a, b, size):
    """Return the product of the first `size` numbers of two vectors."""
    total = 0.0
    for at in range(size):
        total += a[at] * b[at]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def four_dots(row, a, b, c, d, size):
    """Return the products of one vector with four others: faster than one after the other."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for at in range(size):
        value = row[at]
        first += value * a[at]
        second += value * b[at]
        third += value * c[at]
        fourth += value * d[at]
    return first, second, third, fourth


@njit(cache=True, nogil=True)
def packed_row(factor, i):
    """Return row i of a packed factor."""
    start = i * (i + 1) // 2
    return factor[start : start + i + 1]


@njit(cache=True, nogil=True)
def whiten(factor, first, stop, vector):
    """Replace numbers of a vector by L^-1 times it, where those before `first` are done."""
    for j in range(first, stop):
        row = packed_row(factor, j)
        vector[j] = (vector[j] - dot(row, vector, j)) / row[j]


@njit(cache=True, nogil=True)
def whiten_four(factor, first):
    """Do that for four rows of the factor, from row `first` on, up to their column `first`."""
    a, b = packed_row(factor, first), packed_row(factor, first + 1)
    c, d = packed_row(factor, first + 2), packed_row(factor, first + 3)
    for j in range(first):
        row = packed_row(factor, j)
        p, q, r, s = four_dots(row, a, b, c, d, j)
        a[j] = (a[j] - p) / row[j]
        b[j] = (b[j] - q) / row[j]
        c[j] = (c[j] - r) / row[j]
        d[j] = (d[j] - s) / row[j]


@njit(cache=True, nogil=True)
def fill_covariances(matrix, places, observed, variances, i, row):
    """Fill `row` with the covariances of reward i with those up to it, without the noise."""
    items, scales, gains, _rewards = observed
    row[:] = 0.0
    if places[i] >= 0:
        source = matrix[places[i]]
        for j in range(i + 1):
            if places[j] >= 0:
                row[j] = scales[i] * scales[j] * np.float64(source[items[j]])
    for distance in range(len(variances)):
        weight = variances[distance] * gains[i, distance]
        for j in range(i + 1):
            row[j] += weight * gains[j, distance]


@njit(cache=True, nogil=True)
def extend(matrix, places, observed, mean, variances, noise, factor, whitened, start):
    """Fill rows of the factor of the rewards' covariance from `start` on, which is 4 times an int.

    Rows are filled by fours, so that the result is the same in one step or in many, bit by bit.
    `factor` has space for the rows of the last four. `whitened` (1 + m, n) is L^-1 times what the
    rewards were above their means, and L^-1 times their covariances with beta. False if the
    covariance is not positive.
    """
    items, scales, gains, rewards = observed
    for first in range(start, len(items), 4):
        stop = min(first + 4, len(items))
        for i in range(first, first + 4):
            row = packed_row(factor, i)
            if i < stop and 0 <= items[i] < len(mean):
                fill_covariances(matrix, places, observed, variances, i, row)
            elif i < stop:
                return False
            else:
                row[:] = 0.0
        whiten_four(factor, first)
        for i in range(first, stop):
            row = packed_row(factor, i)
            whiten(factor, first, i, row)
            pivot = row[i] + noise - dot(row, row, i)
            if not pivot > 0.0:
                return False
            row[i] = sqrt(pivot)
            above = rewards[i] - scales[i] * mean[items[i]]
            whitened[0, i] = (above - dot(row, whitened[0], i)) / row[i]
            for distance in range(len(variances)):
                cross = variances[distance] * gains[i, distance]
                inner = dot(row, whitened[1 + distance], i)
                whitened[1 + distance, i] = (cross - inner) / row[i]
    return True


@njit(cache=True, nogil=True)
def add_posterior(matrix, places, scales, factor, whitened, total):
    """Add to `total` (L,) what the observations add to the mean of each item."""
    weights = whitened[0, : len(places)].copy()
    for i in range(len(places) - 1, -1, -1):
        row = packed_row(factor, i)
        weights[i] /= row[i]
        for j in range(i):
            weights[j] -= weights[i] * row[j]
    known = np.empty(len(places), dtype=np.int64)
    count = 0
    for i in range(len(places)):
        if places[i] >= 0:
            known[count], weights[count] = places[i], scales[i] * weights[i]
            count += 1
    add_rows(matrix, known[:count], weights, total)


@njit(cache=True, nogil=True)
def add_rows(matrix, places, weights, total):
    """Add to `total` (L,) the rows `places` (n,) of a matrix (rows, L), by weights (n,)."""
    whole = len(places) // 4 * 4
    for start in range(0, len(total), WIDTH):
        end = min(start + WIDTH, len(total))
        part = total[start:end]
        for at in range(0, whole, 4):  # the sums are read and written once for four rows
            a, b = matrix[places[at], start:end], matrix[places[at + 1], start:end]
            c, d = matrix[places[at + 2], start:end], matrix[places[at + 3], start:end]
            u, v, w, x = weights[at], weights[at + 1], weights[at + 2], weights[at + 3]
            for column in range(len(part)):
                part[column] += (u * np.float64(a[column]) + v * np.float64(b[column])) + (
                    w * np.float64(c[column]) + x * np.float64(d[column])
                )
        for at in range(whole, len(places)):
            row, weight = matrix[places[at], start:end], weights[at]
            for column in range(len(part)):
                part[column] += weight * np.float64(row[column])


@njit(cache=True, nogil=True)
def best_mean(values, observed, n):
    """Return the mean of the n largest values that were not observed; NaN if fewer are left."""
    is_open = np.ones(len(values), dtype=np.bool_)
    for item in observed:
        if item < len(values):
            is_open[item] = False
    best = np.full(n, -np.inf)  # ascending
    for item in range(len(values)):
        if is_open[item] and values[item] > best[0]:
            at = 1
            while at < n and values[item] > best[at]:
                best[at - 1] = best[at]
                at += 1
            best[at - 1] = values[item]
    return best.mean() if n and best[0] > -np.inf else np.nan


@njit(cache=True, nogil=True)
def add_product(starts, columns, values, other, found):
    """Add the product of two sparse tables by rows to `found`; `other` is starts, columns, values.

    Rows of the first are those of `found`, columns of the first are rows of the other.
    """
    other_starts, other_columns, other_values = other
    for row in range(len(found)):
        sums = found[row]
        for at in range(starts[row], starts[row + 1]):
            inner, value = columns[at], values[at]
            for place in range(other_starts[inner], other_starts[inner + 1]):
                sums[other_columns[place]] += value * other_values[place]
