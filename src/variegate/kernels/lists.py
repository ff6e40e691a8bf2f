"""Whole lists by compiled loops."""

from threading import local
from typing import Any

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.kernels.layout import BLOCK, Layout

#: Half the distance from 1 to the next number of single precision.
ROUNDING = 6e-8

_room = local()


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
    from variegate.kernels.loops.lmdh import lmdh_list as loops  # numba: not at import

    k, m, blocks = len(factors), len(layout.largest), len(layout.items.z)
    open_to = np.zeros(blocks * BLOCK, dtype=np.bool_)
    open_to[: len(layout)] = free
    belief = eta, G, float(exploration)
    slack, space = _slack(layout, belief, factors), _space(3 + 2 * m, blocks)
    chosen, scores, x = np.empty(k, dtype=np.intp), np.empty(k), np.empty((k, m))
    loops(layout.items, open_to, belief, factors, slack, space, chosen, scores, x)
    return chosen, scores, x


def _slack(
    layout: Layout, belief: tuple[FloatArray, FloatArray, float], factors: FloatArray
) -> Any:
    """How far two scores may be off in single precision: what is nearer is looked at again."""
    eta, G, exploration = belief
    gains = np.max(np.arange(len(factors)) * factors) * layout.largest
    length = float(np.sqrt(layout.longest**2 + gains @ gains))
    size = float(np.linalg.norm(eta)) + exploration * float(np.linalg.norm(G))
    terms = len(eta) + layout.items.h.shape[1] + len(factors) + 8
    return np.float32(4.0 * terms * ROUNDING * size * length)


def _space(rows: int, blocks: int) -> Any:
    """Room to work in, kept from call to call, one for each thread."""
    space = getattr(_room, "space", None)
    if space is None or space.shape[0] < rows or space.shape[1] != blocks:
        space = _room.space = np.empty((rows, blocks, BLOCK), dtype=np.float32)
    return space
