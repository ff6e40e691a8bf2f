"""LMDH's list by compiled loops, for catalogues of any size."""

from functools import cache
from types import ModuleType

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
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
) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return LMDH's greedy list: rows (k,), scores (k,) and diversity gains x (k, m).

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
    belief, limits = (eta, G, float(exploration)), (layout.longest, layout.largest)
    answer = np.empty(k, dtype=np.intp), np.empty(k), np.empty((k, m))
    blocks, width = items.h.shape[:2]
    if blocks >= LARGE:
        large_list(layout, free, belief, factors, limits, answer)
    else:
        space = single_room(m, width, blocks)
        pairs = layout.pairs.for_list(items, k)
        _loops().whole_list(
            items, pairs, layout.rows, free, belief, factors, limits, *space, answer
        )
    return answer


@cache
def _loops() -> ModuleType:
    from variegate.kernels.loops import lmdh  # numba: not at import

    return lmdh
