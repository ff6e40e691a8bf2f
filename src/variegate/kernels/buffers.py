"""Scratch arrays of the compiled loops, reused from call to call, one set per thread."""

from threading import local
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import MaskArray
from variegate.kernels.layout import BLOCK

Single: TypeAlias = NDArray[np.float32]


class _Buffers(local):
    """A thread's arrays: a thread that serves several catalogues keeps the largest."""

    def __init__(self) -> None:
        self.space: Single = np.empty(0, dtype=np.float32)
        self.free: MaskArray = np.zeros(0, dtype=np.bool_)


_buffers = _Buffers()


def list_space(m: int, blocks: int) -> Single:
    """Return this thread's numbers for a list by LMDH, of items in so many blocks."""
    # One more number per block, however small it is: its highest score.
    return _space(blocks * (BLOCK * (3 + 2 * m) + 1))


def bound_buffers(blocks: int, free: MaskArray) -> tuple[Single, Single, MaskArray]:
    """Return this thread's (3, blocks, BLOCK) and (blocks,) arrays, and `free` padded to blocks."""
    size = blocks * BLOCK
    space = _space(3 * size + blocks)
    if len(_buffers.free) < size:
        _buffers.free = np.zeros(size, dtype=np.bool_)
    padded = _buffers.free[:size]
    padded[: len(free)] = free
    padded[len(free) :] = False
    return space[: 3 * size].reshape(3, blocks, BLOCK), space[3 * size : 3 * size + blocks], padded


def _space(size: int) -> Single:
    if len(_buffers.space) < size:
        _buffers.space = np.empty(size, dtype=np.float32)
    return _buffers.space
