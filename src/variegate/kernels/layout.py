"""Items laid out for the compiled loops: feature by item, in blocks, in single precision.

A loop over the items of a block reads one feature of all of them in a row, so that the
processor works on eight at a time; a block of every feature fits its nearest cache. The rows
in double precision stand beside, for the few items that single precision cannot tell apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray
from variegate.kernels.pairs import Pairs

if TYPE_CHECKING:
    from variegate.model.distances import Distance

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
