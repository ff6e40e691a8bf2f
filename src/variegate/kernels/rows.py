"""Sums over rows of a covariance matrix by compiled loops, without copying the rows.

`places` (n,) are rows of `matrix`; one below 0 stands for a row of zeros.
"""

from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray


def add_rows(
    matrix: NDArray[np.float32], places: IndexArray, weights: FloatArray, total: FloatArray
) -> None:
    """Add ``weights @ matrix[places]`` to `total` (L,)."""
    _loops().add_rows(matrix, places, weights, total)


def add_covariance(
    matrix: NDArray[np.float32],
    places: IndexArray,
    columns: IndexArray,
    scales: FloatArray,
    total: FloatArray,
) -> None:
    """Add ``matrix[np.ix_(places, columns)]``, scaled on both sides, to `total`'s lower half."""
    _loops().add_covariance(matrix, places, columns, scales, total)


@cache
def _loops() -> ModuleType:
    from variegate.kernels.loops import rows  # numba: not at import

    return rows
