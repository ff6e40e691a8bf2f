"""LMDH's list by compiled loops, for catalogues of any size."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.kernels.buffers import kept_room, new_spare, single_room
from variegate.kernels.layout import BLOCK, LARGE, NO_PAIRS, Layout

#: Where fewer than this share of the items can win, they are laid out anew.
WORTH: Final = 0.25


def large_list(
    layout: Layout,
    free: MaskArray,
    belief: tuple[FloatArray, FloatArray, float],
    factors: FloatArray,
    limits: tuple[float, FloatArray],
    answer: tuple[IndexArray, FloatArray, FloatArray],
) -> bool:
    """Fill `answer` as `loops.whole_list` does; see `lists.lmdh_list` for the arguments."""
    from variegate.kernels.loops import lmdh as loops
    from variegate.kernels.loops.lmdh import prepared

    items, m = layout.items, len(layout.largest)
    blocks, width = items.h.shape[:2]
    closed = np.empty(blocks * BLOCK, dtype=np.float32)
    reach, slack, fits = prepared(free, closed, belief, factors, limits, width)
    if not fits:
        return False
    single, data = loops.in_single(belief), (items.h, items.sizes_blocks, NO_PAIRS)
    parts, room = kept_room(m, blocks)
    _on_all_cores(loops.fill_parts, blocks, items.z, single, parts)
    left = _possible(parts, closed, single, reach, slack, len(factors), room[1])
    if len(left) <= WORTH * len(layout):
        spare = new_spare(m, width, -(-len(left) // BLOCK))
        spare[0][: len(left)] = left
        is_whole: bool = loops.list_of_few(
            items, len(left), data, closed, belief, factors, slack, parts, spare, answer
        )
        return is_whole
    chosen = answer[0]
    for n in range(len(chosen)):
        last, factor = int(chosen[n - 1]) if n else -1, np.float32(factors[n])
        found = _on_all_cores(
            loops.scan, blocks, last, items, data, closed, single, factor, parts, room
        )
        least = np.float32(max(found) - slack)
        if not loops.decide(n, least, items, layout.rows, closed, belief, factors[n], room, answer):
            return False
    return True


def _possible(
    parts: tuple[Any, Any, Any],
    closed: Any,
    single: tuple[Any, Any, Any],
    reach: Any,
    slack: Any,
    k: int,
    high: Any,
) -> IndexArray:
    """The places that can get into a list of k; `high` is room to work in."""
    from variegate.kernels.loops import pruning

    spans = _spans(len(high))
    lowest = [np.empty(k, dtype=np.float32) for _ in spans]
    places = [np.empty((stop - first) * BLOCK, dtype=np.intp) for first, stop in spans]
    pool = _pool()
    list(
        pool.map(
            lambda s, out: pruning.bound(parts, closed, single, reach, high, out, *s), spans, lowest
        )
    )
    threshold = np.float32(np.sort(np.concatenate(lowest))[-k] - 2.0 * slack)
    if not np.isfinite(threshold):
        return np.arange(high.size)
    counts = pool.map(lambda s, out: pruning.possible(high, threshold, out, *s), spans, places)
    return np.concatenate([out[:count] for out, count in zip(places, counts, strict=True)])


def _on_all_cores(work: Callable[..., Any], blocks: int, *args: Any) -> list[Any]:
    """Call `work` with a span of blocks on each core; it lets go of the interpreter."""
    return list(_pool().map(lambda span: work(*args, *span), _spans(blocks)))


def _spans(blocks: int) -> list[tuple[int, int]]:
    edges = np.linspace(0, blocks, _cores() + 1).astype(int).tolist()
    return list(pairwise(edges))


@cache
def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), thread_name_prefix="variegate-list")


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
