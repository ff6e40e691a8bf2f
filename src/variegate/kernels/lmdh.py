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
from variegate.kernels.buffers import list_buffers, new_subset, work_buffers
from variegate.kernels.layout import BLOCK, LARGE, NO_PAIRS, Layout

#: If fewer than this share of the items can still be picked, they are copied side by side.
MAX_SUBSET: Final = 0.25


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
        is_whole = _select_on_all_cores(layout, free, belief, factors, limits, answer)
    else:
        buffers = list_buffers(m, width, blocks)
        pairs = layout.pairs.for_list(items, k)
        is_whole = _loops().select_list(
            items, pairs, layout.rows, free, belief, factors, limits, *buffers, answer
        )
    return answer if is_whole else None


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
def _loops() -> ModuleType:
    from variegate.kernels.loops import lmdh  # numba: not at import

    return lmdh


def _select_on_all_cores(
    layout: Layout,
    free: MaskArray,
    belief: tuple[FloatArray, FloatArray, float],
    factors: FloatArray,
    limits: tuple[float, FloatArray],
    answer: tuple[IndexArray, FloatArray, FloatArray],
) -> bool:
    """Fill `answer` as `select_list` does, with the blocks divided among the cores."""
    from variegate.kernels.loops import lmdh as loops

    items, m = layout.items, len(layout.largest)
    blocks, width = items.h.shape[:2]
    closed = np.empty(blocks * BLOCK, dtype=np.float32)
    reach, slack, fits = loops.prepare(free, closed, belief, factors, limits, width)
    if not fits:
        return False
    single, data = loops.to_single(belief), (items.h, items.sizes_blocks, NO_PAIRS)
    parts, work = work_buffers(m, blocks)
    _on_all_cores(loops.fill_parts, blocks, items.z, single, parts)
    places = _reachable(parts, closed, single, reach, slack, len(factors), work[1])
    if len(places) <= MAX_SUBSET * len(layout):
        subset = new_subset(m, width, -(-len(places) // BLOCK))
        subset[0][: len(places)] = places
        is_whole: bool = loops.select_from_subset(
            items, len(places), data, closed, belief, factors, slack, parts, subset, answer
        )
        return is_whole
    chosen = answer[0]
    for n in range(len(chosen)):
        last, factor = int(chosen[n - 1]) if n else -1, np.float32(factors[n])
        tops = _on_all_cores(
            loops.scan, blocks, last, items, data, closed, single, factor, parts, work
        )
        lowest = np.float32(max(tops) - slack)
        if not loops.pick(n, lowest, items, layout.rows, closed, belief, factors[n], work, answer):
            return False
    return True


def _reachable(
    parts: tuple[Any, Any, Any],
    closed: Any,
    single: tuple[Any, Any, Any],
    reach: Any,
    slack: Any,
    k: int,
    high: Any,
) -> IndexArray:
    """Return the places that can get into a list of k; `high` is a work array."""
    from variegate.kernels.loops import pruning

    spans = _spans(len(high))
    lowest = [np.empty(k, dtype=np.float32) for _ in spans]
    places = [np.empty((stop - first) * BLOCK, dtype=np.intp) for first, stop in spans]
    pool = _pool()
    list(
        pool.map(
            lambda s, out: pruning.fill_bounds(parts, closed, single, reach, high, out, *s),
            spans,
            lowest,
        )
    )
    threshold = np.float32(np.sort(np.concatenate(lowest))[-k] - 2.0 * slack)
    if not np.isfinite(threshold):
        return np.arange(high.size)
    counts = pool.map(lambda s, out: pruning.fill_places(high, threshold, out, *s), spans, places)
    return np.concatenate([out[:count] for out, count in zip(places, counts, strict=True)])


def _on_all_cores(work: Callable[..., Any], blocks: int, *args: Any) -> list[Any]:
    """Call `work`, which releases the interpreter lock, with a span of blocks on each core."""
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
