"""Items laid out for the compiled loops: feature by item, in blocks, in single precision.

A loop over the items of a block reads one feature of all of them in a row, so that the
processor works on eight at a time; a block of every feature fits its nearest cache. The rows
in double precision stand beside, for the few items that single precision cannot tell apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray, unit_rows

if TYPE_CHECKING:
    from variegate.model.distances import Distance

#: Bytes that the distances of a catalogue may take.
MOST_BYTES: Final = 64 * 2**20
#: Numbers that an item's distances are worked out from: of fewer, reading takes as long.
LEAST_WIDTH: Final = 32

#: While there are none.
NO_PAIRS: Final[NDArray[np.float32]] = np.empty((0, 0, 0, 0), dtype=np.float32)


class Pairs:
    """Works the distances out when as many were worked out one by one: nobody pays twice.

    Two threads may do so at once; both come to the same.
    """

    def __init__(self) -> None:
        self._picks = 0
        self._table = NO_PAIRS

    def for_list(self, items: "Items", k: int) -> NDArray[np.float32]:
        """Return the distances, (L, blocks, m, BLOCK), or none; a list of `k` asks for them."""
        if len(self._table):
            return self._table
        self._picks += k
        if self._picks >= len(items.z_rows) and _pay(items):
            from variegate.kernels.loops.distances import fill_pairs  # numba: not at import

            table = np.empty((len(items.z_rows), *items.sizes_blocks.shape), dtype=np.float32)
            fill_pairs(items, table)
            self._table = table
        return self._table


def _pay(items: "Items") -> bool:
    numbers = len(items.z_rows) * items.sizes_blocks.size
    return items.h.shape[1] >= LEAST_WIDTH and 4 * numbers <= MOST_BYTES


#: Items in a block.
BLOCK: Final = 256
#: From so many blocks on, a list is chosen by all cores.
LARGE: Final = 200
#: Larger numbers than this do not square in single precision.
LARGEST: Final = 1e15

#: The kinds of distance that the compiled loops know.
KINDS: Final[Mapping[str, int]] = MappingProxyType(
    {"cosine": 0, "angular": 1, "euclidean": 2, "difference": 2, "hamming": 3, "jaccard": 4}
)


class Items(NamedTuple):
    """The features and the distances' data of L items: what the compiled loops are given."""

    #: Relevance features, (blocks, d, BLOCK), and the same in double precision, (L, d)
    z: NDArray[np.float32]
    z_rows: FloatArray
    #: Data of all distances, one after another, (blocks, w, BLOCK) and (L, w)
    h: NDArray[np.float32]
    h_rows: FloatArray
    #: Of each distance: its kind, where its data start in `h`, how wide they are, its scale
    kinds: NDArray[np.int64]
    starts: NDArray[np.int64]
    widths: NDArray[np.int64]
    scales: FloatArray
    #: The size of each item's set (Jaccard), or 1 for a row of zeros (angular), (m, L), and
    #: the same by blocks, (blocks, m, BLOCK)
    sizes: FloatArray
    sizes_blocks: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Layout:
    """A catalogue as the compiled loops read it, and how far its numbers reach."""

    items: Items
    #: The length of the longest feature vector
    longest: float
    #: The largest value of each distance, (m,)
    largest: FloatArray
    #: The row that stands at each place of the blocks: its own number
    rows: IndexArray
    pairs: Pairs = field(default_factory=Pairs)

    def __len__(self) -> int:
        return len(self.items.z_rows)


def layout_of(features: FloatArray, distances: "Sequence[Distance]") -> Layout | None:
    """Return the layout, or None where a distance or a number is beyond the compiled loops."""
    if any(h.formula.name not in KINDS for h in distances):
        return None
    tables = [h.rows for h in distances]
    if any(np.abs(table).max(initial=0.0) > LARGEST for table in (features, *tables)):
        return None
    widths = np.array([table.shape[1] for table in tables], dtype=np.int64)
    h_rows = np.hstack(tables) if tables else np.zeros((len(features), 0))
    sizes = np.array([_sizes(h) for h in distances]).reshape(len(distances), len(features))
    items = Items(
        blocked(features),
        np.ascontiguousarray(features),
        blocked(h_rows),
        np.ascontiguousarray(h_rows),
        np.array([KINDS[h.formula.name] for h in distances], dtype=np.int64),
        np.cumsum(widths) - widths,
        widths,
        np.array([h.scale for h in distances], dtype=np.float64),
        sizes,
        blocked(sizes.T),
    )
    largest = np.array([h.largest for h in distances], dtype=np.float64)
    longest = float(np.linalg.norm(features, axis=1).max())
    return Layout(items, longest, largest, np.arange(len(items.z) * BLOCK))


def blocked(rows: FloatArray) -> NDArray[np.float32]:
    """Return rows (L, w) as (blocks, w, BLOCK), in single precision, zeros after the last."""
    blocks = -(-len(rows) // BLOCK)
    padded = np.zeros((blocks * BLOCK, rows.shape[1]), dtype=np.float32)
    padded[: len(rows)] = rows
    return np.ascontiguousarray(padded.reshape(blocks, BLOCK, rows.shape[1]).transpose(0, 2, 1))


def _sizes(h: "Distance") -> FloatArray:
    if h.formula.name == "jaccard":
        return np.asarray(h.rows.sum(axis=1))
    if h.formula.name == "angular":
        return np.asarray(~h.rows.any(axis=1), dtype=np.float64)
    return np.zeros(len(h))


class Units(NamedTuple):
    """Rows of length 1, or 0, as the compiled loops read them."""

    #: By blocks, (blocks, w, BLOCK), and in double precision, (L, w)
    blocks: NDArray[np.float32]
    rows: FloatArray
    #: The column that they start in: a layout has other data before and after them
    start: int


#: Those of the catalogues whose distances do not keep them.
_made: WeakKeyDictionary[Layout, Units] = WeakKeyDictionary()


def units_of(layout: Layout, distances: "Sequence[Distance]") -> Units:
    """Return the features at length 1: a distance's data, or made at the first call."""
    for h, start in zip(distances, layout.items.starts.tolist(), strict=True):
        if h.on_features and h.formula.name in ("cosine", "angular"):
            return Units(layout.items.h, layout.items.h_rows, start)
    made = _made.get(layout)
    if made is None:
        rows = unit_rows(layout.items.z_rows)
        made = _made[layout] = Units(blocked(rows), rows, 0)
    return made
