"""Scratch arrays of the compiled loops, reused from call to call, one set per thread."""

from collections.abc import Callable
from threading import local
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, MaskArray
from variegate.kernels.layout import BLOCK

Single: TypeAlias = NDArray[np.float32]
#: What z alone decides, in blocks: theta . z, squares of G z, what z adds to the rows of beta
Parts: TypeAlias = tuple[Single, Single, Single]
#: Exact values that were computed for this list: rows, number of picks in the sums, values
Memo: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]
#: Sums of distances, scores, the top score of each block, exact values
Work: TypeAlias = tuple[Single, Single, Single, Memo]
#: Places, their distance data and sizes, their parts, their work arrays, and 0 where one is in use
Subset: TypeAlias = tuple[NDArray[np.intp], tuple[Single, Single], Parts, Work, Single]

#: Number of items whose exact values are kept: near the best score there are rarely more.
MAX_EXACT: Final = 2048

_buffers = local()


def work_buffers(m: int, blocks: int) -> tuple[Parts, Work]:
    """Return this thread's arrays for m distances and this number of blocks."""
    found: tuple[Parts, Work] = _reused("work", (m, blocks), new_work)
    return found


def list_buffers(m: int, width: int, blocks: int) -> tuple[Single, Parts, Work, Subset]:
    """Return this thread's arrays for a whole list: closed places, and all of the above."""
    found: tuple[Single, Parts, Work, Subset] = _reused("list", (m, width, blocks), _new_list)
    return found


def bound_buffers(blocks: int, free: MaskArray) -> tuple[Single, Single, MaskArray]:
    """Return this thread's (3, blocks, BLOCK) and (blocks,) arrays, and `free` padded to blocks."""
    space, tops, padded = _reused("bounds", (blocks,), _new_bounds)
    padded[: len(free)] = free
    padded[len(free) :] = False
    return space, tops, padded


def new_work(m: int, blocks: int) -> tuple[Parts, Work]:
    """Return new arrays for m distances and this number of blocks."""
    flat = [np.empty((blocks, BLOCK), dtype=np.float32) for _ in range(3)]
    deep = [np.empty((blocks, m, BLOCK), dtype=np.float32) for _ in range(2)]
    tops = np.empty(blocks, dtype=np.float32)
    # Two rows that share a place only cost time.
    places = min(blocks * BLOCK, MAX_EXACT)
    owners = np.full(places, -1, dtype=np.int64)
    memo = owners, np.zeros(places, dtype=np.int64), np.zeros((places, 2 + 2 * m))
    return (flat[0], flat[1], deep[0]), (deep[1], flat[2], tops, memo)


def new_subset(m: int, width: int, blocks: int) -> Subset:
    """Return new arrays for a subset of the items, with distance data of `width` columns."""
    parts, work = new_work(m, blocks)
    h = np.zeros((blocks, width, BLOCK), dtype=np.float32)
    sizes = np.zeros((blocks, m, BLOCK), dtype=np.float32)
    places = np.zeros(blocks * BLOCK, dtype=np.intp)
    for part in parts:
        part.fill(0.0)  # places without an item must hold numbers
    return places, (h, sizes), parts, work, np.empty(blocks * BLOCK, dtype=np.float32)


def _new_list(m: int, width: int, blocks: int) -> tuple[Single, Parts, Work, Subset]:
    # If more than a third of the items can still be picked, copying them does not pay.
    subset = new_subset(m, width, -(-blocks // 3))
    return np.empty(blocks * BLOCK, dtype=np.float32), *new_work(m, blocks), subset


def _new_bounds(blocks: int) -> tuple[Single, Single, MaskArray]:
    return (
        np.empty((3, blocks, BLOCK), dtype=np.float32),
        np.empty(blocks, dtype=np.float32),
        np.zeros(blocks * BLOCK, dtype=np.bool_),
    )


def _reused(kind: str, sizes: tuple[int, ...], make: Callable[..., Any]) -> Any:
    # One of each kind: a thread that serves several catalogues allocates again.
    kept = _buffers.__dict__.get(kind)
    if kept is None or kept[0] != sizes:
        kept = _buffers.__dict__[kind] = sizes, make(*sizes)
    return kept[1]
