"""Conditioning on rows of a covariance matrix by compiled loops, without copying the rows.

`places` (n,) are rows of `matrix`; one below 0 stands for a row of zeros. A Cholesky factor is
packed: row i of it, of i + 1 numbers, begins at i (i + 1) / 2.
"""

from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray

if TYPE_CHECKING:
    import scipy

#: Items, scales, gains and rewards, as in `variegate.prior.Observations`.
Observed: TypeAlias = tuple[IndexArray, FloatArray, FloatArray, FloatArray]


def n_common(ours: Observed, theirs: Observed) -> int:
    """Return how many first observations are the same."""
    return int(_loops().n_common(ours, theirs))


def extend_factor(
    matrix: NDArray[np.float32],
    places: IndexArray,
    observed: Observed,
    mean: FloatArray,
    variances: FloatArray,
    noise: float,
    factor: FloatArray,
    whitened: FloatArray,
    start: int,
) -> bool:
    """Fill rows of the factor of the rewards' covariance, and `whitened`, from row `start` on.

    False if the covariance is not positive.

    Parameters
    ----------
    mean
        Prior mean of each item, (L,).
    variances, noise
        Variance of the weight of each distance, (m,), and of a reward.
    whitened
        L^-1 times the rewards minus their means, and times their covariances with beta, (1 + m, n).
    """
    found: bool = _loops().extend(
        matrix, places, observed, mean, variances, noise, factor, whitened, start
    )
    return found


def add_posterior(
    matrix: NDArray[np.float32],
    places: IndexArray,
    scales: FloatArray,
    factor: FloatArray,
    whitened: FloatArray,
    total: FloatArray,
) -> None:
    """Add what the observations add to the mean of each item to `total` (L,)."""
    _loops().add_posterior(matrix, places, scales, factor, whitened, total)


def whiten(factor: FloatArray, vectors: FloatArray) -> None:
    """Replace each of `vectors` (rows, n) by L^-1 times it."""
    for vector in vectors:
        _loops().whiten(factor, 0, len(vector), vector)


def best_mean(values: FloatArray, observed: IndexArray, n: int) -> float:
    """Return the mean of the n largest values at places not `observed`; NaN if fewer are left."""
    return float(_loops().best_mean(values, observed, n))


def dense_product(a: "scipy.sparse.csr_array", b: "scipy.sparse.csr_array") -> FloatArray:
    """Return the product of two sparse tables as an array."""
    found = np.zeros((a.shape[0], b.shape[1]))
    _loops().add_product(*_parts(a), _parts(b), found)
    return found


def _parts(table: "scipy.sparse.csr_array") -> tuple[Any, Any, Any]:
    return table.indptr.astype(np.int64), table.indices, table.data


@cache
def _loops() -> ModuleType:
    from variegate.kernels.loops import rows  # numba: not at import

    return rows
