"""A catalogue in the memory layout of the compiled loops: by feature, in blocks, in float32.

A loop over the items of a block reads one feature of all of them contiguously, so the compiler
vectorises it, and a block of every feature fits the L1 cache. Rows in double precision are kept
beside the blocks, for the few items that single precision cannot tell apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, unit_rows

if TYPE_CHECKING:
    from variegate.model.distances import Distance

#: Items per block.
BLOCK: Final = 256
#: Squares of larger numbers overflow single precision.
LARGEST: Final = 1e15

#: The kinds of distance that the compiled loops implement.
KINDS: Final[Mapping[str, int]] = MappingProxyType(
    {"cosine": 0, "angular": 1, "euclidean": 2, "difference": 2, "hamming": 3, "jaccard": 4}
)


class Items(NamedTuple):
    """Features and distance data of L items: the argument of the compiled loops."""

    #: Relevance features, (blocks, d, BLOCK), and the same in double precision, (L, d)
    z: NDArray[np.float32]
    z_rows: FloatArray
    #: The squared length of each item's features, (blocks, BLOCK), and the root of their mean
    squares: NDArray[np.float32]
    typical: float
    #: Data of all distances, concatenated, (blocks, w, BLOCK) and (L, w)
    h: NDArray[np.float32]
    h_rows: FloatArray
    #: For each distance: its kind, its first column in `h`, its number of columns, its scale
    kinds: NDArray[np.int64]
    starts: NDArray[np.int64]
    widths: NDArray[np.int64]
    scales: FloatArray
    #: The size of each item's set (Jaccard), or 1 for a row of zeros (angular), (m, L), and
    #: the same in blocks, (blocks, m, BLOCK)
    sizes: FloatArray
    sizes_blocks: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Layout:
    """A catalogue as the compiled loops read it, with bounds on its numbers."""

    items: Items
    #: The length of the longest feature vector
    longest: float
    #: The largest value of each distance, (m,)
    largest: FloatArray

    def __len__(self) -> int:
        return len(self.items.z_rows)

    def with_relevance(self, relevance: FloatArray) -> "Layout":
        """Return the layout with one feature in place of its own: the relevance of each item."""
        column = relevance[:, None]
        z = in_blocks(column)
        squares, typical = _squares(z, len(relevance))
        items = self.items._replace(z=z, z_rows=column, squares=squares, typical=typical)
        return Layout(items, float(np.abs(relevance).max()), self.largest)


def layout_of(features: FloatArray, distances: "Sequence[Distance]") -> Layout | None:
    """Return the layout, or None if the compiled loops cannot handle a distance or a number."""
    if any(h.formula.name not in KINDS for h in distances):
        return None
    tables = [h.rows for h in distances]
    if any(np.abs(table).max(initial=0.0) > LARGEST for table in (features, *tables)):
        return None
    widths = np.array([table.shape[1] for table in tables], dtype=np.int64)
    h_rows = np.hstack(tables) if tables else np.zeros((len(features), 0))
    sizes = np.array([_sizes(h) for h in distances]).reshape(len(distances), len(features))
    z = in_blocks(features)
    items = Items(
        z,
        np.ascontiguousarray(features),
        *_squares(z, len(features)),
        in_blocks(h_rows),
        np.ascontiguousarray(h_rows),
        np.array([KINDS[h.formula.name] for h in distances], dtype=np.int64),
        np.cumsum(widths) - widths,
        widths,
        np.array([h.scale for h in distances], dtype=np.float64),
        sizes,
        in_blocks(sizes.T),
    )
    largest = np.array([h.largest for h in distances], dtype=np.float64)
    longest = float(np.linalg.norm(features, axis=1).max())
    return Layout(items, longest, largest)


def in_blocks(rows: FloatArray) -> NDArray[np.float32]:
    """Return rows (L, w) as (blocks, w, BLOCK) in single precision, padded with zeros."""
    blocks = -(-len(rows) // BLOCK)
    padded = np.zeros((blocks * BLOCK, rows.shape[1]), dtype=np.float32)
    padded[: len(rows)] = rows
    return np.ascontiguousarray(padded.reshape(blocks, BLOCK, rows.shape[1]).transpose(0, 2, 1))


def _squares(z: NDArray[np.float32], length: int) -> tuple[NDArray[np.float32], float]:
    squares: NDArray[np.float32] = np.einsum("bia,bia->ba", z, z)
    return squares, sqrt(float(squares.sum(dtype=np.float64)) / length)


def _sizes(h: "Distance") -> FloatArray:
    if h.formula.name == "jaccard":
        return np.asarray(h.rows.sum(axis=1))
    if h.formula.name == "angular":
        return np.asarray(~h.rows.any(axis=1), dtype=np.float64)
    return np.zeros(len(h))


class UnitFeatures(NamedTuple):
    """Feature vectors normalised to length 1 (or 0), of which MMR and DC2B take cosines."""

    #: In blocks, (blocks, w, BLOCK), and in double precision, (L, w)
    blocks: NDArray[np.float32]
    rows: FloatArray
    #: Their first column: in a layout other data come before and after them
    start: int


#: Unit features of the catalogues whose distances do not have them as data.
_units: WeakKeyDictionary[Layout, UnitFeatures] = WeakKeyDictionary()


def unit_features(layout: Layout, distances: "Sequence[Distance]") -> UnitFeatures:
    """Return the unit features: a distance's data, or computed at the first call."""
    for h, start in zip(distances, layout.items.starts.tolist(), strict=True):
        if h.on_features and h.formula.name in ("cosine", "angular"):
            return UnitFeatures(layout.items.h, layout.items.h_rows, start)
    units = _units.get(layout)
    if units is None:
        rows = unit_rows(layout.items.z_rows)
        units = _units[layout] = UnitFeatures(in_blocks(rows), rows, 0)
    return units
