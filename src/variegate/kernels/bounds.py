"""Upper confidence bounds of every candidate (Algorithm 2, lines 9 and 10)."""

from math import sqrt

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.kernels.twins import compiled_twin_of


def upper_bounds_reference(
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
        How many standard deviations to add (alpha).
    """
    variance = variance_z + 2.0 * (cross * x).sum(axis=1) + ((x @ C) * x).sum(axis=1)
    deviation: FloatArray = np.sqrt(np.maximum(variance, 0.0))  # rounding can dip below 0
    return mean_z + x @ beta + exploration * deviation


@compiled_twin_of(upper_bounds_reference)
def upper_bounds(
    mean_z: FloatArray,
    variance_z: FloatArray,
    cross: FloatArray,
    beta: FloatArray,
    C: FloatArray,
    x: FloatArray,
    exploration: float,
) -> FloatArray:
    """See `upper_bounds_reference`; the same sums with no temporary arrays."""
    n, m = x.shape
    if len(mean_z) != n or len(variance_z) != n or cross.shape != (n, m):
        raise InputError("`mean_z`, `variance_z` and `cross` must have a row for each of `x`")
    if len(beta) != m or C.shape != (m, m):
        raise InputError("`beta` and `C` must have a column for each of `x`")
    bounds = np.empty(n)
    for a in range(n):
        mean, variance = mean_z[a], variance_z[a]
        for i in range(m):
            mean += x[a, i] * beta[i]
            variance += 2.0 * cross[a, i] * x[a, i]
            for j in range(m):
                variance += x[a, i] * C[i, j] * x[a, j]
        bounds[a] = mean + exploration * sqrt(max(variance, 0.0))
    return bounds
