"""LMDH's list from a large catalogue: on every core, and without the items that cannot win."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.kernels.layout import BLOCK, Layout, blocked
from variegate.kernels.room import new_room, single_room

#: With more distances than this there are too many corners to look at.
MOST_DISTANCES: Final = 3
#: Where fewer than this share of the items can win, they are laid out anew.
WORTH: Final = 0.25


def large_list(
    layout: Layout,
    closed: Any,
    belief: tuple[FloatArray, FloatArray, float],
    factors: FloatArray,
    reach: FloatArray,
    slack: Any,
    answer: tuple[IndexArray, FloatArray, FloatArray],
) -> None:
    """Fill `answer` as `loops.fill_list` does; see `lists.lmdh_list` for the arguments.

    `reach` (m,) has the largest value that each diversity gain can take.
    """
    from variegate.kernels.loops import lmdh as loops

    items, m, blocks = layout.items, len(reach), len(layout.items.z)
    single = loops.in_single(belief)
    parts, room = single_room(m, blocks)
    _on_all_cores(loops.fill_parts, blocks, items.z, single, parts)
    left = _possible(parts, closed, single, reach, slack, len(factors), blocks)
    if left is not None and len(left) <= WORTH * len(layout):
        _small_list(layout, left, parts, belief, factors, slack, answer)
        return
    data, chosen = (items.h, items.sizes_blocks), answer[0]
    for n in range(len(chosen)):
        last, factor = int(chosen[n - 1]) if n else -1, np.float32(factors[n])
        found = _on_all_cores(
            loops.scan, blocks, last, items, data, closed, single, factor, parts, room
        )
        least = np.float32(max(found) - slack)
        loops.decide(n, least, items, layout.rows, closed, belief, factors[n], room, answer)


def _small_list(
    layout: Layout,
    left: IndexArray,
    parts: tuple[Any, Any, Any],
    belief: tuple[FloatArray, FloatArray, float],
    factors: FloatArray,
    slack: Any,
    answer: tuple[IndexArray, FloatArray, FloatArray],
) -> None:
    """Choose among the places `left`, laid out anew side by side."""
    from variegate.kernels.loops import lmdh as loops

    items, m = layout.items, len(layout.largest)
    blocks = -(-len(left) // BLOCK)
    small, room = new_room(m, blocks)
    padded = np.zeros(blocks * BLOCK, dtype=np.intp)
    padded[: len(left)] = left
    for here, everywhere in zip(small[:2], parts[:2], strict=True):
        here.reshape(-1)[:] = everywhere.reshape(-1)[padded]
    small[2][:] = (
        parts[2][padded // BLOCK, :, padded % BLOCK].reshape(blocks, BLOCK, m).transpose(0, 2, 1)
    )
    closed = np.where(np.arange(blocks * BLOCK) < len(left), 0.0, -np.inf).astype(np.float32)
    data = blocked(items.h_rows[left]), blocked(items.sizes[:, left].T)
    loops.fill_list(items, data, padded, closed, belief, factors, slack, small, room, answer)


def _possible(
    parts: tuple[Any, Any, Any],
    closed: Any,
    single: tuple[Any, Any, Any],
    reach: FloatArray,
    slack: Any,
    k: int,
    blocks: int,
) -> IndexArray | None:
    """The places that can get into a list of k; None where that is not worked out."""
    from variegate.kernels.loops import pruning

    if len(reach) > MOST_DISTANCES:
        return None
    eta, _G, alpha = single
    beta, reach32 = eta[len(eta) - len(reach) :], reach.astype(np.float32)
    loss = np.float32(-np.minimum(beta * reach32, 0.0).sum())
    spans = _spans(blocks)
    lowest = [np.empty(k, dtype=np.float32) for _ in spans]
    places = [np.empty((stop - first) * BLOCK, dtype=np.intp) for first, stop in spans]
    pool = _pool()
    list(
        pool.map(lambda s, out: pruning.surest(parts, closed, alpha, loss, out, *s), spans, lowest)
    )
    threshold = np.float32(np.sort(np.concatenate(lowest))[-k] - 2.0 * slack)
    counts = pool.map(
        lambda s, out: pruning.possible(parts, closed, single, reach32, threshold, out, *s),
        spans,
        places,
    )
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
