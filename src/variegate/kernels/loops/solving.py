"""Small least-squares problems, without the calls of LAPACK that take longer than the work."""

from math import sqrt

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def solved(gram, response, ridge):
    """Return eta_hat and the lower triangular G with G'G = (gram + ridge I)^-1.

    The last value is False where a pivot is no more than rounding: the others mean nothing then.
    """
    p = len(response)
    R = np.zeros((p, p))  # upper triangular, R'R = Phi
    largest = 0.0
    for i in range(p):
        largest = max(largest, gram[i, i] + ridge)
    rounding = p * 2.220446049250313e-16 * largest
    for j in range(p):
        pivot = gram[j, j] + ridge
        for i in range(j):
            pivot -= R[i, j] * R[i, j]
        if pivot < rounding or pivot <= 0.0:
            return response, R, False
        R[j, j] = sqrt(pivot)
        for k in range(j + 1, p):
            total = gram[j, k]
            for i in range(j):
                total -= R[i, j] * R[i, k]
            R[j, k] = total / R[j, j]
    G = np.zeros((p, p))  # the inverse of R'
    for c in range(p):
        G[c, c] = 1.0 / R[c, c]
        for i in range(c + 1, p):
            total = 0.0
            for k in range(c, i):
                total += R[k, i] * G[k, c]
            G[i, c] = -total / R[i, i]
    half, mean = np.zeros(p), np.zeros(p)
    for i in range(p):
        for j in range(i + 1):
            half[i] += G[i, j] * response[j]
    for j in range(p):
        for i in range(j, p):
            mean[j] += G[i, j] * half[i]
    return mean, G, True


@njit(cache=True, nogil=True)
def sums_with(gram, response, features, rewards):
    """Return the sums with an observation a row added; the last value: whether all are numbers."""
    n, p = features.shape
    more, answers = gram.copy(), response.copy()
    for row in range(n):
        zeta, reward = features[row], rewards[row]
        for i in range(p):
            answers[i] += reward * zeta[i]
            for j in range(i, p):
                more[i, j] += zeta[i] * zeta[j]
    sound = True
    for i in range(p):
        sound = sound and np.isfinite(answers[i])
        for j in range(i, p):
            sound = sound and np.isfinite(more[i, j])
            more[j, i] = more[i, j]
    return more, answers, sound
