"""LMDH's list by compiled loops, for catalogues of any size."""

from collections.abc import Callable
from functools import cache

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.kernels.buffers import list_space
from variegate.kernels.layout import Layout


def lmdh_list(
    layout: Layout,
    free: MaskArray,
    eta: FloatArray,
    G: FloatArray,
    exploration: float,
    factors: FloatArray,
) -> tuple[IndexArray, FloatArray, FloatArray] | None:
    """Return LMDH's greedy list: rows (k,), scores (k,) and diversity gains x (k, m).

    None if the numbers exceed what the compiled loops can handle, or if there is no such list:
    the NumPy reference then finds the list or the error.

    Parameters
    ----------
    free
        Which items are candidates, (L,); at least k of them.
    eta
        theta and beta concatenated, (d + m,).
    G
        Lower triangular, with G'G = Phi^-1, (d + m, d + m).
    exploration
        alpha.
    factors
        The factor of the distances at each position, (k,).
    """
    items, k, m = layout.items, len(factors), len(layout.largest)
    length, d = items.z_rows.shape
    size = d + m
    if not (k and len(free) == length and eta.shape == (size,) and G.shape == (size, size)):
        raise InputError(
            f"a list of at least 1 of {len(layout)} items must have {len(layout)} `free` and "
            f"{size} weights, got {k}, {len(free)}, {eta.shape} and {G.shape}"
        )
    belief, limits = (eta, G, float(exploration)), (layout.longest, layout.largest)
    answer = np.empty(k, dtype=np.intp), np.empty(k), np.empty((k, m))
    space = list_space(m, len(items.z))
    is_whole = _select()(items, free, belief, factors, limits, space, answer)
    return answer if is_whole else None


def lmdh_lists(
    layout: Layout,
    free: MaskArray,
    etas: FloatArray,
    roots: FloatArray,
    explorations: FloatArray,
    factors: FloatArray,
) -> tuple[IndexArray, FloatArray, FloatArray, MaskArray]:
    """Return the lists of several users, and which of them `lmdh_list` would return.

    Arrays are those of `lmdh_list`, with one row per user. The interpreter lock is free meanwhile.
    """
    items, users, k, m = layout.items, len(etas), len(factors), len(layout.largest)
    size = items.z_rows.shape[1] + m
    shapes = etas.shape, roots.shape, explorations.shape
    if not (k and len(free) == len(layout)) or shapes != (
        (users, size),
        (users, size, size),
        (users,),
    ):
        raise InputError(
            f"lists of at least 1 of {len(layout)} items must have {len(layout)} `free` and "
            f"{size} weights for each of {users} users, got {k}, {len(free)} and {shapes}"
        )
    from variegate.kernels.loops.pruning import select_lists  # numba: not at import

    answers = np.empty((users, k), dtype=np.intp), np.empty((users, k)), np.empty((users, k, m))
    whole, space = np.empty(users, np.bool_), list_space(m, len(items.z))
    limits = layout.longest, layout.largest
    beliefs = etas, roots, explorations
    select_lists(items, free, beliefs, factors, limits, space, answers, whole)
    return *answers, whole


def relevance_list(
    layout: Layout, free: MaskArray, relevance: FloatArray, beta: FloatArray, factors: FloatArray
) -> tuple[IndexArray, FloatArray, FloatArray] | None:
    """Return the greedy list by known relevance plus beta . x; arguments as for `lmdh_list`.

    It is LMDH's list for known weights: one feature, the relevance (L,), with weight 1.
    """
    eta = np.append(1.0, beta)
    known = np.zeros((len(eta), len(eta)))
    return lmdh_list(layout.with_relevance(relevance), free, eta, known, 0.0, factors)


@cache
def _select() -> Callable[..., bool]:
    from variegate.kernels.loops.pruning import select_list  # numba: not at import

    select: Callable[..., bool] = select_list
    return select
