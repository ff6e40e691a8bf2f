"""Room for the compiled loops to work in, kept from call to call, one for each thread."""

from threading import local
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from variegate.kernels.layout import BLOCK

Single: TypeAlias = NDArray[np.float32]
#: What z alone decides, by blocks: theta . z, the squares of G z, what z adds to the others
Parts: TypeAlias = tuple[Single, Single, Single]
#: The sums of distances, the scores, the top score of each block
Room: TypeAlias = tuple[Single, Single, Single]

_kept = local()


def new_room(m: int, blocks: int) -> tuple[Parts, Room]:
    """Return room for so many blocks and distances."""
    flat = [np.empty((blocks, BLOCK), dtype=np.float32) for _ in range(3)]
    deep = [np.empty((blocks, m, BLOCK), dtype=np.float32) for _ in range(2)]
    tops = np.empty(blocks, dtype=np.float32)
    return (flat[0], flat[1], deep[0]), (deep[1], flat[2], tops)


def single_room(m: int, blocks: int) -> tuple[Parts, Room]:
    """Return this thread's room for so many blocks and distances."""
    kept: dict[tuple[int, int], Any] = _kept.__dict__.setdefault("rooms", {})
    if (m, blocks) not in kept:
        kept.clear()  # one catalogue at a time: a thread that serves several makes room anew
        kept[m, blocks] = new_room(m, blocks)
    room: tuple[Parts, Room] = kept[m, blocks]
    return room
