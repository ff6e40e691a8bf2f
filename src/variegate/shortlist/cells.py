"""A catalogue cut into cells of items that lie near one another, by k-means."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.catalogue import Catalogue
from variegate.kernels.cells import CellItems, Single, light_rows

#: Items that each centre is trained on, on average, and how often it is moved.
SAMPLE: Final = 32
ROUNDS: Final = 6
#: Items that are held against all centres at a time.
CHUNK: Final = 4096
#: So many of those that stick out are candidates of every list, by length and by each distance.
STANDING: Final = 256
#: Items from which it is measured how far the others are.
FARNESS: Final = 32
#: Multiplications up to which BLAS works in one thread.
STACK: Final = 2**18


@dataclass(frozen=True, eq=False)
class Partition:
    """Which cell each item belongs to, and what is known of each cell: what a file keeps."""

    #: The mean of the features of a cell's items, (C, d)
    centres: FloatArray
    #: How far its items are from that in each direction: the root of the mean square, (C,)
    spreads: FloatArray
    #: The row of the item nearest the centre, (C,)
    leaders: IndexArray
    #: The cell of each item, (L,)
    cell_of: IndexArray

    def extended(self, features: FloatArray) -> "Partition":
        """Return it with items added, each in the nearest cell; the cells stay as they are."""
        cell_of = np.concatenate([self.cell_of, nearest(features, self.centres)])
        return Partition(self.centres, self.spreads, self.leaders, cell_of)


class Cells:
    """A partition, with the items of a cell side by side in single precision."""

    def __init__(self, catalogue: Catalogue, partition: Partition) -> None:
        self.partition: Final = partition
        #: How many items each cell has, (C,)
        self.sizes: Final = np.bincount(partition.cell_of, minlength=len(partition.centres))
        #: The centres in single precision, (C, d)
        self.centres: Final[Single] = partition.centres.astype(np.float32)
        self._stacks: Final = stacked(self.centres)
        #: How far their items scatter, squared, (C,)
        self.scatters: Final[Single] = (catalogue.d * partition.spreads**2).astype(np.float32)
        rows = np.argsort(partition.cell_of, kind="stable")
        z = catalogue.features.astype(np.float32)[rows]
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.items: Final = CellItems(z, np.einsum("ij,ij->i", z, z), rows, starts)
        #: The rows that are candidates of every list
        self.standing: Final = standing_rows(catalogue)
        #: The distances' data of each cell's leader, (C, w)
        self.leader_data: Final = [light_rows(h, partition.leaders) for h in catalogue.distances]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def d(self) -> int:
        """The number of relevance features."""
        return int(self.centres.shape[1])

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        arrays = [*vars(self.partition).values(), *self.items, *self.leader_data]
        return sum(a.nbytes for a in [*arrays, self.sizes, self.centres, self._stacks])

    def times(self, matrix: Single) -> Single:
        """Return the centres times a matrix (d, n), in this thread."""
        products: Single = (self._stacks @ matrix).reshape(-1, matrix.shape[1])[: len(self)]
        return products


def standing_rows(catalogue: Catalogue) -> IndexArray:
    """Return the rows that are candidates of every list: what sticks out in no cell's centre.

    These are the longest feature vectors, of which a user who is little known sees most, and of
    each distance with data of its own the items farthest from all others, by a sample of them.
    """
    sticking_out = [np.einsum("ij,ij->i", catalogue.features, catalogue.features)]
    sample = np.unique(np.linspace(0, len(catalogue) - 1, FARNESS, dtype=np.intp))
    sticking_out += [
        np.sum([h.from_item(item) for item in sample], axis=0)
        for h in catalogue.distances
        if not h.on_features
    ]
    number = min(STANDING, len(catalogue) - 1)
    return np.unique([np.argpartition(-by, number)[:number] for by in sticking_out])


def stacked(rows: Single) -> Single:
    """Return rows (n, d) in stacks, (s, r, d), with rows of zeros after the last.

    A product of a small stack with a (d, d) matrix stays in the thread that asks for it. BLAS
    would share a larger one out, and wait for a core that may be at work for another list.
    """
    n, d = rows.shape
    height = min(max(STACK // d**2, 1), n)
    stacks = np.zeros((-(-n // height), height, d), dtype=np.float32)
    stacks.reshape(-1, d)[:n] = rows
    return stacks


def partitioned(features: FloatArray, cells: int, rng: np.random.Generator) -> Partition:
    """Cut the items into at most `cells` cells; those that stay empty are left out."""
    # Distances do not change with the origin, and from the middle less is lost to rounding.
    middle = features.mean(axis=0)
    chosen = np.sort(rng.choice(len(features), min(len(features), SAMPLE * cells), replace=False))
    sample = features[chosen] - middle
    centres = sample[np.sort(rng.choice(len(sample), cells, replace=False))]
    for _ in range(ROUNDS):
        found, means = _means(sample, nearest(sample, centres), cells)
        centres[found] = means
    cell_of = nearest(features, centres + middle)
    found, centres = _means(features, cell_of, cells)
    cell_of = np.searchsorted(found, cell_of)
    return Partition(centres, *_spreads_and_leaders(features, centres, cell_of), cell_of)


def nearest(features: FloatArray, centres: FloatArray) -> IndexArray:
    """Return the number of the centre nearest each row, the lower one of two, (n,)."""
    middle = centres.mean(axis=0)
    points = (centres - middle).astype(np.float32)
    halves = np.einsum("ij,ij->i", points, points) / 2
    numbers = np.empty(len(features), dtype=np.intp)
    for first in range(0, len(features), CHUNK):
        rows = (features[first : first + CHUNK] - middle).astype(np.float32)
        numbers[first : first + CHUNK] = np.argmax(rows @ points.T - halves, axis=1)
    return numbers


def _means(rows: FloatArray, cell_of: IndexArray, cells: int) -> tuple[IndexArray, FloatArray]:
    """Return the numbers of the cells that have rows, and the mean of each."""
    sizes = np.bincount(cell_of, minlength=cells)
    found = np.flatnonzero(sizes)
    starts = np.cumsum(sizes) - sizes
    sums = np.add.reduceat(rows[np.argsort(cell_of, kind="stable")], starts[found], axis=0)
    return found, sums / sizes[found, None]


def _spreads_and_leaders(
    features: FloatArray, centres: FloatArray, cell_of: IndexArray
) -> tuple[FloatArray, IndexArray]:
    rows = np.argsort(cell_of, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(cell_of, minlength=len(centres)))])
    spreads, leaders = np.empty(len(centres)), np.empty(len(centres), dtype=np.intp)
    for cell, (first, last) in enumerate(pairwise(ends)):
        here = rows[first:last]
        squares = np.square(features[here] - centres[cell]).sum(axis=1)
        spreads[cell] = np.sqrt(squares.mean() / features.shape[1])
        leaders[cell] = here[np.argmin(squares)]
    return spreads, leaders
