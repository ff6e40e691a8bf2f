"""LMDH's list from one request's own vectors, by compiled loops."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError


def vector_list(
    z: FloatArray,
    vectors: NDArray[np.floating],
    free: MaskArray,
    eta: FloatArray,
    G: FloatArray,
    exploration: float,
    factors: FloatArray,
) -> tuple[IndexArray, FloatArray, FloatArray] | None:
    """Return LMDH's greedy list with the cosine distance of `vectors`, as `lmdh_list` does.

    Nothing is prepared, so it is the faster one for items that make one list only. Cosines have
    the precision of `vectors`. Vectors of items that cannot get into the list are not read. None
    if the loops cannot handle the numbers: they may not be finite, or vectors may be extremely
    short or long.

    Parameters
    ----------
    z
        Relevance features, (n, d).
    vectors
        float32 or float64, in C order, with at least one column, (n, w).
    free
        Which items are candidates, (n,); at least k of them.
    eta, G, exploration, factors
        As for `lmdh_list`, with one distance.
    """
    k, (n, d) = len(factors), z.shape
    shapes = len(vectors), len(free), eta.shape, G.shape
    if not (k and vectors.shape[1] and shapes == (n, n, (d + 1,), (d + 1, d + 1))):
        raise InputError(
            f"a list of at least 1 of {n} items must have {n} vectors, {n} `free` and {d + 1} "
            f"weights, got {k}, {vectors.shape}, {len(free)}, {eta.shape} and {G.shape}"
        )
    answer = np.empty(k, dtype=np.intp), np.empty(k), np.empty((k, 1))
    belief = eta, G, float(exploration)
    is_whole = _select()(z, vectors, free, belief, factors, answer)
    return answer if is_whole else None


@cache
def _select() -> Callable[..., bool]:
    from variegate.kernels.loops.vectors import select_from_vectors  # numba: not at import

    select: Callable[..., bool] = select_from_vectors
    return select
