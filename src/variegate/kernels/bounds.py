"""Upper confidence bounds of every candidate (Algorithm 2, lines 9 and 10)."""

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import InputError


def upper_bounds(
    mean_z: FloatArray,
    variance_z: FloatArray,
    cross: FloatArray,
    beta: FloatArray,
    C: FloatArray,
    x: FloatArray,
    exploration: float,
) -> FloatArray:
    """Return the upper bound mu_a of each candidate, (n,).

    Parameters
    ----------
    mean_z, variance_z
        theta . z and z' P_zz z: what relevance alone decides, (n,).
    cross
        Rows z' P_zx, (n, m); P_zx is the paper's -H^-1 B M^-1.
    beta, C
        Diversity estimate (m,) and its covariance P_xx (m, m).
    x
        Diversity gains of the candidates given the items picked so far, (n, m).
    exploration
        The number of standard deviations to add, alpha.
    """
    from variegate.kernels.loops.cells import fill_upper_bounds  # numba: not at import

    n, m = x.shape
    if len(mean_z) != n or len(variance_z) != n or cross.shape != (n, m):
        raise InputError("`mean_z`, `variance_z` and `cross` must have a row for each of `x`")
    if len(beta) != m or C.shape != (m, m):
        raise InputError("`beta` and `C` must have a column for each of `x`")
    bounds = np.empty(n)
    fill_upper_bounds(mean_z, variance_z, cross, beta, C, x, float(exploration), bounds)
    return bounds


def upper_bounds_reference(
    mean_z: FloatArray,
    variance_z: FloatArray,
    cross: FloatArray,
    beta: FloatArray,
    C: FloatArray,
    x: FloatArray,
    exploration: float,
) -> FloatArray:
    """Return what `upper_bounds` does, by NumPy."""
    variance = variance_z + 2.0 * (cross * x).sum(axis=1) + ((x @ C) * x).sum(axis=1)
    deviation: FloatArray = np.sqrt(np.maximum(variance, 0.0))  # rounding can go below 0
    return mean_z + x @ beta + exploration * deviation


def bound_parts(
    z: FloatArray, eta: FloatArray, P: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return theta . z and z'P_zz z, (n,), and z'P_zx, (n, m), for rows z (n, d)."""
    from variegate.kernels.loops.cells import fill_parts

    (n, d), size = z.shape, len(eta)
    if size < d or P.shape != (size, size):
        raise InputError(f"`P` must be square, one for {size} of {d} weights, got {P.shape}")
    mean, variance, cross = np.empty(n), np.empty(n), np.empty((n, len(eta) - d))
    fill_parts(z, eta, P, mean, variance, cross)
    return mean, variance, cross
