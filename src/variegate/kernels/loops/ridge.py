"""Small least-squares problems, without the overhead of LAPACK.

These loops hold the interpreter lock: reacquiring it, if another thread waits for it, takes longer
than the work.
"""

from math import sqrt

import numpy as np
from numba import njit


@njit(cache=True)
def solved(gram, response, precision, mean):
    """Return eta_hat and the lower triangular G with G'G = (gram + precision)^-1.

    `precision` and `mean` are those of the prior: lambda I and 0 in the paper.

    The last value is False if a pivot is only rounding: the others mean nothing then.
    """
    R = gram + precision
    if not factor(R):
        return response, R, False
    G = inverse_root(R)
    return moved(gram, response, mean, G), G, True


@njit(cache=True)
def factor(R):
    """Replace Phi by R, upper triangular, with R'R = Phi; False if a pivot is only rounding.

    What is left below the diagonal means nothing. Four rows at a time, in their order: a loop over
    so few numbers takes longer to begin than to run.
    """
    p, largest = len(R), 0.0
    for i in range(p):
        largest = max(largest, R[i, i])
    rounding = p * 2.220446049250313e-16 * largest
    for j in range(p):
        row, fours = R[j], j - j % 4
        for i in range(0, fours, 4):
            a, b, c, d = R[i], R[i + 1], R[i + 2], R[i + 3]
            s, t, u, v = a[j], b[j], c[j], d[j]
            for k in range(j, p):
                row[k] = row[k] - s * a[k] - t * b[k] - u * c[k] - v * d[k]
        for i in range(fours, j):
            share, a = R[i, j], R[i]
            for k in range(j, p):
                row[k] -= share * a[k]
        pivot = row[j]
        if not (pivot >= rounding and pivot > 0.0):  # nan is neither
            return False
        root = sqrt(pivot)
        for k in range(j, p):
            row[k] /= root
    return True


@njit(cache=True)
def inverse_root(R):
    """Return the inverse of R', lower triangular; four rows at a time, as in `factor`."""
    p = len(R)
    G = np.zeros((p, p))
    for i in range(p):
        row, pivot, fours = G[i], R[i, i], i - i % 4
        for k in range(0, fours, 4):
            a, b, c, d = G[k], G[k + 1], G[k + 2], G[k + 3]
            s, t, u, v = R[k, i], R[k + 1, i], R[k + 2, i], R[k + 3, i]
            for n in range(k + 4):  # beyond the diagonals are zeros
                row[n] = row[n] - s * a[n] - t * b[n] - u * c[n] - v * d[n]
        for k in range(fours, i):
            share, a = R[k, i], G[k]
            for n in range(k + 1):
                row[n] -= share * a[n]
        for n in range(i):
            row[n] /= pivot
        row[i] = 1.0 / pivot
    return G


@njit(cache=True)
def moved(gram, response, mean, G):
    """Return the prior mean plus what the observations add to it."""
    p = len(mean)
    half, news, found = np.zeros(p), response.copy(), mean.copy()
    for i in range(p):
        if mean[i] != 0.0:
            for j in range(p):
                news[j] -= mean[i] * gram[i, j]
    for i in range(p):
        for j in range(i + 1):
            half[i] += G[i, j] * news[j]
    for i in range(p):
        for j in range(i + 1):
            found[j] += G[i, j] * half[i]
    return found


@njit(cache=True)
def sums_with(gram, response, features, rewards, kept, largest):
    """Return the sums times `kept`, plus one observation per row.

    The last value: whether all are numbers of at most `largest`.
    """
    n, p = features.shape
    more, answers = kept * gram, kept * response
    for i in range(p):
        sums = more[i]
        for row in range(n):
            zeta = features[row]
            share = zeta[i]
            answers[i] += rewards[row] * share
            if share != 0.0:  # many features are 0; nan is not
                for j in range(i, p):
                    sums[j] += share * zeta[j]
    sound = True
    for i in range(p):
        sound = sound and abs(answers[i]) <= largest
        for j in range(i, p):
            sound = sound and abs(more[i, j]) <= largest
            more[j, i] = more[i, j]
    return more, answers, sound


@njit(cache=True)
def sums_fit(gram, response, largest, observations):
    """Return whether triangles (n, p (p + 1) / 2) and responses (n, p) pass `ridge.check_sums`."""
    n, p = response.shape
    for row in range(n):
        top, at = 0.0, 0
        for i in range(p):
            square = gram[row, at]
            limit = sqrt(observations * (square + 2.2250738585072014e-308))
            if not (square >= 0.0 and abs(response[row, i]) <= limit):  # nan is neither
                return False
            top, at = max(top, square), at + p - i
        for number in gram[row]:
            if not abs(number) <= min(2.0 * top, largest):
                return False
    return True
