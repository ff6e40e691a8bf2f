"""Sums over rows of a covariance matrix that stay where they are; a place below 0 is a zero row."""

import numpy as np
from numba import njit

#: Columns that are summed together: their sums stay in the processor's nearest cache.
WIDTH = 2048


@njit(cache=True, nogil=True)
def add_rows(matrix, places, weights, total):
    """Add to `total` (L,) the rows `places` (n,) of a matrix (rows, L), by weights (n,)."""
    for start in range(0, len(total), WIDTH):
        end = min(start + WIDTH, len(total))
        part = total[start:end]
        for at in range(len(places)):
            if places[at] >= 0:
                row, weight = matrix[places[at], start:end], weights[at]
                for column in range(len(part)):
                    part[column] += weight * np.float64(row[column])


@njit(cache=True, nogil=True)
def add_covariance(matrix, places, columns, scales, found):
    """Add the entries of rows `places` (n,) in `columns` (n,) to the lower triangle of `found`."""
    for i in range(len(places)):
        if places[i] >= 0:
            row = matrix[places[i]]
            for j in range(i + 1):
                if places[j] >= 0:
                    found[i, j] += scales[i] * scales[j] * np.float64(row[columns[j]])
