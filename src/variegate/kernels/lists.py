"""LMDH's list by compiled loops, for catalogues of any size."""

from typing import Any

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.kernels.large import large_list
from variegate.kernels.layout import BLOCK, LARGE, Layout
from variegate.kernels.room import single_room

#: Half the distance from 1 to the next number of single precision.
ROUNDING = 6e-8


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
    from variegate.kernels.loops import lmdh as loops  # numba: not at import

    k, m, blocks = len(factors), len(layout.largest), len(layout.items.z)
    belief = eta, G, float(exploration)
    reach = (np.arange(k) * factors).max() * layout.largest
    slack = _slack(layout, belief, reach, k)
    closed = np.full(blocks * BLOCK, -np.inf, dtype=np.float32)
    np.copyto(closed[: len(layout)], 0.0, where=free)
    answer = np.empty(k, dtype=np.intp), np.empty(k), np.empty((k, m))
    if blocks >= LARGE:
        large_list(layout, closed, belief, factors, reach, slack, answer)
        return answer
    parts, room = single_room(m, blocks)
    loops.whole_list(layout.items, layout.rows, closed, belief, factors, slack, parts, room, answer)
    return answer


def _slack(
    layout: Layout, belief: tuple[FloatArray, FloatArray, float], reach: FloatArray, k: int
) -> Any:
    """How far two scores may be off in single precision: what is nearer is looked at again."""
    eta, G, exploration = belief
    length = float(np.sqrt(layout.longest**2 + reach @ reach))
    size = float(np.sqrt(eta @ eta)) + exploration * float(np.sqrt(np.vdot(G, G)))
    terms = len(eta) + layout.items.h.shape[1] + k + 8
    return np.float32(4.0 * terms * ROUNDING * size * length)
