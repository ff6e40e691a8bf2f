"""LMDH's list by compiled loops, for catalogues of any size."""

from functools import cache
from types import ModuleType

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.kernels.large import large_list
from variegate.kernels.layout import LARGE, Layout
from variegate.kernels.room import single_room


def lmdh_list(
    layout: Layout,
    free: MaskArray,
    eta: FloatArray,
    G: FloatArray,
    exploration: float,
    factors: FloatArray,
) -> tuple[IndexArray, FloatArray, FloatArray] | None:
    """Return LMDH's greedy list: rows (k,), scores (k,) and diversity gains x (k, m).

    None where the numbers are beyond the compiled loops, or there is no such list: the
    reference finds the list or what is wrong.

    Parameters
    ----------
    free
        Which items are candidates, (L,); at least k of them.
    eta
        theta and beta joined, (d + m,).
    G
        Lower triangular, with G'G = Phi^-1, (d + m, d + m).
    exploration
        alpha.
    factors
        What the distances are scaled by at each position, (k,).
    """
    items, k, m = layout.items, len(factors), len(layout.largest)
    size = items.z_rows.shape[1] + m
    if not (k and len(free) == len(layout) and eta.shape == (size,) and G.shape == (size, size)):
        raise InputError(
            f"a list of at least 1 of {len(layout)} items must have {len(layout)} `free` and "
            f"{size} weights, got {k}, {len(free)}, {eta.shape} and {G.shape}"
        )
    belief, limits = (eta, G, float(exploration)), (layout.longest, layout.largest)
    answer = np.empty(k, dtype=np.intp), np.empty(k), np.empty((k, m))
    blocks, width = items.h.shape[:2]
    if blocks >= LARGE:
        is_whole = large_list(layout, free, belief, factors, limits, answer)
    else:
        space = single_room(m, width, blocks)
        pairs = layout.pairs.for_list(items, k)
        is_whole = _loops().whole_list(
            items, pairs, layout.rows, free, belief, factors, limits, *space, answer
        )
    return answer if is_whole else None


@cache
def _loops() -> ModuleType:
    from variegate.kernels.loops import lmdh  # numba: not at import

    return lmdh
