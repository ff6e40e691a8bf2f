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
    p = len(response)
    R = np.zeros((p, p))  # upper triangular, R'R = Phi
    largest = 0.0
    for i in range(p):
        largest = max(largest, gram[i, i] + precision[i, i])
    rounding = p * 2.220446049250313e-16 * largest
    # By rows, so that the inner loops are contiguous and vectorised.
    for j in range(p):
        for k in range(j, p):
            R[j, k] = gram[j, k] + precision[j, k]
        for i in range(j):
            share = R[i, j]
            for k in range(j, p):
                R[j, k] -= share * R[i, k]
        pivot = R[j, j]
        if not (pivot >= rounding and pivot > 0.0):  # nan is neither
            return response, R, False
        root = sqrt(pivot)
        for k in range(j, p):
            R[j, k] /= root
    G = np.zeros((p, p))  # the inverse of R', row by row
    for i in range(p):
        for k in range(i):
            share = R[k, i]
            for c in range(k + 1):
                G[i, c] -= share * G[k, c]
        for c in range(i):
            G[i, c] /= R[i, i]
        G[i, i] = 1.0 / R[i, i]
    return moved(gram, response, mean, G), G, True


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
    for row in range(n):
        zeta, reward = features[row], rewards[row]
        for i in range(p):
            answers[i] += reward * zeta[i]
            for j in range(i, p):
                more[i, j] += zeta[i] * zeta[j]
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
