"""Approximate scores of the items of a shortlist's cells, and rows of scores and distances."""

from math import asin, pi, sqrt

import numpy as np
from numba import njit

from variegate.kernels.loops.distances import ANGULAR, COSINE, HAMMING, JACCARD, LENGTH

FAST = {"contract", "reassoc", "arcp", "nsz"}


@njit(cache=True, nogil=True)
def fill_upper_bounds(mean_z, variance_z, cross, beta, C, x, exploration, bounds):
    """Fill `bounds` (n,); see `kernels.bounds.upper_bounds`."""
    n, m = x.shape
    for a in range(n):
        mean, variance = mean_z[a], variance_z[a]
        for i in range(m):
            mean += x[a, i] * beta[i]
            variance += 2.0 * cross[a, i] * x[a, i]
            for j in range(m):
                variance += x[a, i] * C[i, j] * x[a, j]
        bounds[a] = mean + exploration * sqrt(max(variance, 0.0))


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_bend(view, cell, x, bend):
    """Fill `bend` (d,), the gradient of the variance in a cell; return the centre's constant."""
    two, added = np.float32(2.0), np.float32(0.0)
    for i in range(len(bend)):
        centre = view.centres[cell, i]
        bend[i] = two * (view.Pc[cell, i] - view.even * centre)
        added += view.even * centre * centre
        for j in range(len(x)):
            bend[i] += two * view.P_zx[i, j] * x[j]
    return added


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_scores(items, free, view, opened, x, rows, scores):
    """Fill `rows` and `scores` (n,), cell by cell; see `kernels.cells.item_scores`."""
    theta, beta, even, alpha = view.theta, view.beta, view.even, view.alpha
    d, m, n = len(theta), len(beta), 0
    zero = np.float32(0.0)
    bend = np.empty(d, dtype=np.float32)
    for number in range(len(opened)):
        cell = opened[number]
        base, level, typical, slope = zero, -view.variance[cell], view.typical[cell], zero
        for j in range(m):
            moved = view.cross[cell, j]
            for k in range(m):
                moved += view.P_xx[j, k] * x[cell, k]
            base += beta[j] * x[cell, j]
            level += (moved - view.cross[cell, j]) * x[cell, j]
            typical += (moved + view.cross[cell, j]) * x[cell, j]
            if j == view.column:
                slope = moved
        towards = zero
        if view.column >= 0:
            if typical > zero:
                towards = alpha * slope / sqrt(typical)
            towards += beta[view.column]
            base += towards * (view.apart - x[cell, view.column])
        level += fill_bend(view, cell, x[cell], bend)
        for place in range(items.starts[cell], items.starts[cell + 1]):
            z = items.z[place]
            mean, curve, along = zero, zero, zero
            for i in range(d):
                mean += theta[i] * z[i]
                curve += bend[i] * z[i]
                along += view.away[i] * z[i]
            square = items.squares[place]
            if square > zero:
                mean -= towards * along / sqrt(square)
            variance = max(even * square + curve + level, zero)
            rows[n] = items.rows[place]
            scores[n] = np.float32(-np.inf)
            if free[rows[n]]:
                scores[n] = mean + base + alpha * sqrt(variance)
            n += 1


@njit(cache=True, nogil=True, fastmath=FAST)
def fill_parts(z, eta, P, mean, variance, cross):
    """Fill theta . z and z'P_zz z (n,), and z'P_zx (n, m), for rows z (n, d)."""
    n, d = z.shape
    p = len(eta)
    moved = np.empty(p)
    for a in range(n):
        total = 0.0
        moved[:] = 0.0
        for i in range(d):
            total += eta[i] * z[a, i]
            for j in range(p):
                moved[j] += z[a, i] * P[i, j]
        mean[a] = total
        total = 0.0
        for i in range(d):
            total += moved[i] * z[a, i]
        variance[a] = total
        cross[a] = moved[d:]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_row_distances(rows, row, kind, scale, column, sums):
    """Add h between each of `rows` (n, w) and `row` (w,) to a column of `sums` (n, m)."""
    n, w = rows.shape
    zero, one = np.float32(0.0), np.float32(1.0)
    size = zero
    for i in range(w):
        size += abs(row[i])
    for a in range(n):
        dot, apart, own, h = zero, zero, zero, zero
        if kind in (LENGTH, ANGULAR):
            for i in range(w):
                apart += (rows[a, i] - row[i]) * (rows[a, i] - row[i])
        else:
            for i in range(w):
                dot += rows[a, i] * row[i]
        if kind in (JACCARD, ANGULAR):
            for i in range(w):
                own += abs(rows[a, i])
        if kind == COSINE:
            h = one - min(max(dot, -one), one)
        elif kind == LENGTH:
            h = np.float32(sqrt(apart))
        elif kind == HAMMING:
            h = one if rows[a, 0] != row[0] else zero
        elif kind == JACCARD:
            either = own + size - dot
            h = one - dot / either if either > zero else zero
        elif own > zero and size > zero:
            h = np.float32(2.0 / pi * asin(min(0.5 * sqrt(apart), 1.0)))
        else:
            h = np.float32(0.5)
        sums[a, column] += h / scale
