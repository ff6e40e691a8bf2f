"""Room for the compiled loops to work in, kept from call to call, one for each thread."""

from collections.abc import Callable
from threading import local
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray
from variegate.kernels.layout import BLOCK

Single: TypeAlias = NDArray[np.float32]
#: What z alone decides, by blocks: theta . z, the squares of G z, what z adds to the others
Parts: TypeAlias = tuple[Single, Single, Single]
#: What `loops.exact` remembers of items: rows, how far their sums go, numbers
Memo: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]
#: The sums of distances, the scores, the top score of each block, what is known exactly
Room: TypeAlias = tuple[Single, Single, Single, Memo]
#: Places, their data and sizes, their parts, room for them, and 0 where a place is filled
Spare: TypeAlias = tuple[NDArray[np.intp], tuple[Single, Single], Parts, Room, Single]

#: Items that are remembered exactly: near the best there are rarely more.
MOST_KNOWN: Final = 2048

_kept = local()


def new_room(m: int, blocks: int) -> tuple[Parts, Room]:
    """Return room for so many blocks and distances."""
    flat = [np.empty((blocks, BLOCK), dtype=np.float32) for _ in range(3)]
    deep = [np.empty((blocks, m, BLOCK), dtype=np.float32) for _ in range(2)]
    tops = np.empty(blocks, dtype=np.float32)
    return (flat[0], flat[1], deep[0]), (deep[1], flat[2], tops, _new_memo(m, blocks))


def _new_memo(m: int, blocks: int) -> Memo:
    # Two rows that fall on one place only cost time.
    places = min(blocks * BLOCK, MOST_KNOWN)
    rows = np.full(places, -1, dtype=np.int64)
    return rows, np.zeros(places, dtype=np.int64), np.zeros((places, 2 + 2 * m))


def new_spare(m: int, width: int, blocks: int) -> Spare:
    """Return room for the few items of a list's second part, with their data of `width`."""
    parts, room = new_room(m, blocks)
    h = np.zeros((blocks, width, BLOCK), dtype=np.float32)
    sizes = np.zeros((blocks, m, BLOCK), dtype=np.float32)
    places = np.zeros(blocks * BLOCK, dtype=np.intp)
    for part in parts:
        part.fill(0.0)  # places that no item fills must hold numbers
    return places, (h, sizes), parts, room, np.empty(blocks * BLOCK, dtype=np.float32)


def kept_room(m: int, blocks: int) -> tuple[Parts, Room]:
    """Return this thread's room for so many blocks and distances."""
    found: tuple[Parts, Room] = _remembered("room", (m, blocks), new_room)
    return found


def single_room(m: int, width: int, blocks: int) -> tuple[Single, Parts, Room, Spare]:
    """Return this thread's room for a whole list: which places are closed, and all the above."""
    found: tuple[Single, Parts, Room, Spare] = _remembered("whole", (m, width, blocks), _whole)
    return found


def _whole(m: int, width: int, blocks: int) -> tuple[Single, Parts, Room, Spare]:
    # Where more than a third of the items can win, laying them out anew does not pay.
    spare = new_spare(m, width, -(-blocks // 3))
    return np.empty(blocks * BLOCK, dtype=np.float32), *new_room(m, blocks), spare


def _remembered(kind: str, sizes: tuple[int, ...], make: Callable[..., Any]) -> Any:
    # One of a kind: a thread that serves several catalogues makes room anew.
    kept = _kept.__dict__.get(kind)
    if kept is None or kept[0] != sizes:
        kept = _kept.__dict__[kind] = sizes, make(*sizes)
    return kept[1]
