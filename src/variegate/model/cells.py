"""Cells of similar items, by k-means, and the selection of candidates from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray, MaskArray, safe_sqrt
from variegate.kernels.bounds import bound_parts, upper_bounds
from variegate.kernels.cells import (
    CellItems,
    CellView,
    Single,
    add_distances,
    item_scores,
    single_rows,
)
from variegate.model.catalogue import Catalogue
from variegate.model.distances import Distance
from variegate.model.ridge import Estimate

#: Items per centre that k-means is fitted to, and its number of iterations.
SAMPLE: Final = 32
ROUNDS: Final = 6
#: Items compared with all centres at a time.
CHUNK: Final = 4096
#: Number of outliers that are candidates of every list, by length and by each distance.
STANDING: Final = 256
#: Items to which the distances of the others are measured, to find outliers.
FARNESS: Final = 32
#: Maximum number of multiplications for which BLAS uses one thread.
STACK: Final = 2**18


@dataclass(frozen=True, eq=False)
class Partition:
    """The cell of each item, and the statistics of each cell: the contents of a file."""

    #: The mean of the features of a cell's items, (C, d)
    centres: FloatArray
    #: The root mean square distance of its items from the centre per dimension, (C,)
    spreads: FloatArray
    #: The row of the item nearest the centre, (C,)
    leaders: IndexArray
    #: The cell of each item, (L,)
    cell_of: IndexArray

    def with_items(self, features: FloatArray) -> "Partition":
        """Return it with items added, each to the nearest cell; the cells do not change."""
        cell_of = np.concatenate([self.cell_of, nearest(features, self.centres)])
        return Partition(self.centres, self.spreads, self.leaders, cell_of)


class Cells:
    """A partition with the items of each cell stored side by side in single precision."""

    def __init__(self, catalogue: Catalogue, partition: Partition) -> None:
        self.partition: Final = partition
        #: The number of items of each cell, (C,)
        self.sizes: Final = np.bincount(partition.cell_of, minlength=len(partition.centres))
        #: The centres in single precision, (C, d)
        self.centres: Final[Single] = partition.centres.astype(np.float32)
        self._stacks: Final = stacked(self.centres)
        #: The variance of their items, (C,)
        self.scatters: Final[Single] = (catalogue.d * partition.spreads**2).astype(np.float32)
        rows = np.argsort(partition.cell_of, kind="stable")
        z = catalogue.features.astype(np.float32)[rows]
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.items: Final = CellItems(z, np.einsum("ij,ij->i", z, z), rows, starts)
        #: The rows that are candidates of every list
        self.standing: Final = standing_rows(catalogue)
        #: The distances' data of each cell's leader, (C, w)
        self.leader_data: Final = [single_rows(h, partition.leaders) for h in catalogue.distances]

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
    """Return the rows that are candidates of every list: outliers that no cell's centre shows.

    These are the longest feature vectors, which new users see most, and for each distance with
    its own data the items farthest from a sample of the others.
    """
    outlyingness = [np.einsum("ij,ij->i", catalogue.features, catalogue.features)]
    sample = np.unique(np.linspace(0, len(catalogue) - 1, FARNESS, dtype=np.intp))
    outlyingness += [
        np.sum([h.from_item(item) for item in sample], axis=0)
        for h in catalogue.distances
        if not h.on_features
    ]
    number = min(STANDING, len(catalogue) - 1)
    return np.unique([np.argpartition(-by, number)[:number] for by in outlyingness])


def stacked(rows: Single) -> Single:
    """Return rows (n, d) in stacks, (s, r, d), padded with rows of zeros.

    BLAS multiplies a small stack with a (d, d) matrix in the calling thread. It would divide a
    larger one among threads, and wait for a core that may be busy with another list.
    """
    n, d = rows.shape
    height = min(max(STACK // d**2, 1), n)
    stacks = np.zeros((-(-n // height), height, d), dtype=np.float32)
    stacks.reshape(-1, d)[:n] = rows
    return stacks


def k_means_partition(features: FloatArray, cells: int, rng: np.random.Generator) -> Partition:
    """Return a partition into at most `cells` cells by k-means; empty ones are left out."""
    # Distances do not depend on the origin, and centred data lose less to rounding.
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
    """Return the number of the centre nearest to each row, the lower one of a tie, (n,)."""
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


class Draft:
    """A draft of one user's list, from the best candidates found so far.

    Parameters
    ----------
    size
        The maximum number of candidates.
    """

    def __init__(
        self, catalogue: Catalogue, belief: Estimate, exploration: float, size: int
    ) -> None:
        d, m = catalogue.d, catalogue.m
        self._catalogue, self._belief, self._alpha = catalogue, belief, float(exploration)
        self._beta, self._C = belief.mean[d:], np.ascontiguousarray(belief.covariance[d:, d:])
        self._mean, self._variance = np.empty(size), np.empty(size)
        self._cross, self._sums = np.empty((size, m)), np.zeros((size, m))
        none = np.empty(0, dtype=np.intp)
        self._data = [
            np.empty((size, h.rows.shape[1]), dtype=single_rows(h, none).dtype)
            for h in catalogue.distances
        ]
        self._picked: list[int] = []
        self._size = 0

    def add(self, rows: IndexArray) -> None:
        """Add new candidates."""
        new = slice(self._size, self._size + len(rows))
        z, belief = self._catalogue.features[rows], self._belief
        parts = bound_parts(z, belief.mean, belief.covariance)
        self._mean[new], self._variance[new], self._cross[new] = parts
        for column, h in enumerate(self._catalogue.distances):
            data = self._data[column]
            data[new] = h.rows[rows]
            for place in self._picked:
                add_distances(h, data[new], data[place], column, self._sums[new])
        self._size = new.stop

    def take_best(self, factor: float) -> list[NDArray[Any]]:
        """Add the best item to the list, and return its data in each distance."""
        here = slice(self._size)
        scores = upper_bounds(
            self._mean[here],
            self._variance[here],
            self._cross[here],
            self._beta,
            self._C,
            self._sums[here] * factor,
            self._alpha,
        )
        scores[self._picked] = -np.inf
        best = int(np.argmax(scores))
        for column, h in enumerate(self._catalogue.distances):
            data = self._data[column]
            add_distances(h, data[here], data[best], column, self._sums[here])
        self._picked.append(best)
        return [data[best] for data in self._data]


#: Number of spreads by which the best items of a cell are assumed to exceed its centre.
AHEAD: Final = 2.0


class Opening:
    """Scores of cells and of the items in them for one user's list, given the items taken."""

    def __init__(
        self, cells: Cells, distances: Sequence[Distance], belief: Estimate, exploration: float
    ) -> None:
        self._cells, self._distances = cells, distances
        self._view, mean = _view(cells, distances, belief, exploration)
        self._best = mean.astype(np.float64)
        self._typical = self._view.typical.astype(np.float64)
        self._cross = self._view.cross.astype(np.float64)
        self._beta = self._view.beta.astype(np.float64)
        self._C = self._view.P_xx.astype(np.float64)
        self._sums = np.zeros((len(cells), len(distances)))
        self._directions, self._taken = np.zeros(cells.d), 0

    def scores(self, factor: float) -> FloatArray:
        """Return the approximate best score in each cell, (C,)."""
        return upper_bounds(
            self._best,
            self._typical,
            self._cross,
            self._beta,
            self._C,
            self._sums * factor,
            float(self._view.alpha),
        )

    def items(
        self, opened: IndexArray, factor: float, free: MaskArray
    ) -> tuple[IndexArray, Single]:
        """Return the rows of all items in the cells `opened`, and their approximate scores."""
        view, x = self._view, (self._sums * factor).astype(np.float32)
        if view.column >= 0:
            scaled = factor / self._distances[view.column].scale
            away = (scaled * self._directions).astype(np.float32)
            view = view._replace(apart=np.float32(scaled * self._taken), away=away)
        return item_scores(self._cells.items, free, view, opened, x)

    def take(self, data: Sequence[NDArray[Any]]) -> None:
        """Add an item with these data in each distance to the list."""
        for column, (h, row, leaders) in enumerate(
            zip(self._distances, data, self._cells.leader_data, strict=True)
        ):
            add_distances(h, leaders, row, column, self._sums)
            if column == self._view.column:
                self._directions += row
        self._taken += 1


def _view(
    cells: Cells, distances: Sequence[Distance], belief: Estimate, exploration: float
) -> tuple[CellView, FloatArray]:
    """Return the user's view of the cells, and approximate theta . z of each cell's best item."""
    d, alpha = cells.d, np.float32(exploration)
    eta, P = _scaled(belief)
    theta, P_zz = eta[:d], P[:d, :d]
    Pc, products = cells.times(P_zz), cells.times(np.column_stack([theta, P_zz @ theta, P[:d, d:]]))
    even, variance = np.float32(np.trace(P_zz) / d), np.einsum("ij,ij->i", Pc, cells.centres)
    # The scatter of its items adds to the variance of a cell's typical item.
    typical = variance + even * cells.scatters
    deviations = safe_sqrt(typical)
    share = np.divide(alpha, deviations, out=0.0 * deviations, where=deviations > 0.0)
    # |theta + alpha P c / deviation|^2: the squared gradient of the score at the centre.
    squares = np.einsum("ij,ij->i", Pc, Pc)
    slopes = theta @ theta + share * (2.0 * products[:, 1] + share * squares)
    cosines = [h.on_features and h.formula.name == "cosine" for h in distances]
    view = CellView(
        theta=theta,
        beta=eta[d:],
        P_zx=P[:d, d:].copy(),
        P_xx=P[d:, d:].copy(),
        centres=cells.centres,
        Pc=Pc,
        variance=variance,
        typical=typical,
        cross=products[:, 2:].copy(),
        even=even,
        alpha=alpha,
        column=cosines.index(True) if any(cosines) else -1,
        apart=np.float32(0.0),
        away=np.zeros(d, dtype=np.float32),
    )
    return view, products[:, 0] + AHEAD * cells.partition.spreads * safe_sqrt(slopes)


def _scaled(belief: Estimate) -> tuple[Single, Single]:
    """Return the mean and the covariance in single precision, scaled so that squares fit.

    All scores are divided by one number, which does not change their order.
    """
    size = float(np.sqrt(belief.mean @ belief.mean + np.trace(belief.covariance)))
    mean, covariance = belief.mean / size, belief.covariance / size**2
    return mean.astype(np.float32), covariance.astype(np.float32)


#: Number of items kept for a position that are candidates of the draft.
DRAFTED: Final = 64


class Quota(NamedTuple):
    """The number of items scored, and of candidates kept, for one position."""

    opened: int
    kept: int


def candidate_rows(
    cells: Cells,
    opening: Opening,
    draft: Draft,
    factors: FloatArray,
    free: MaskArray,
    quotas: Mapping[int, Quota],
) -> IndexArray:
    """Return the rows of the free items that may get into a list, sorted.

    At each position with a quota the best cells are opened and the best of their items kept;
    `draft` takes the best of its candidates at every position.
    """
    left = free_in_cells(cells, free)
    kept = [cells.standing[free[cells.standing]]]
    for position, factor in enumerate(factors.tolist()):
        if position in quotas and left.any():
            quota = quotas[position]
            opened = next_cells(opening.scores(factor), left, quota.opened)
            left[opened] = 0
            rows, scores = best_items(*opening.items(opened, factor, free), quota.kept)
            kept.append(rows)
            draft.add(best_items(rows, scores, DRAFTED)[0])
        opening.take(draft.take_best(factor))
    return np.unique(np.concatenate(kept))


def free_in_cells(cells: Cells, free: MaskArray) -> IndexArray:
    """Return the number of free items in each cell, (C,)."""
    closed = len(free) - int(np.count_nonzero(free))
    if 2 * closed <= len(free):
        taken = cells.partition.cell_of[np.flatnonzero(~free)]
        return cells.sizes - np.bincount(taken, minlength=len(cells))
    return np.bincount(cells.partition.cell_of[np.flatnonzero(free)], minlength=len(cells))


def next_cells(scores: FloatArray, left: IndexArray, wanted: int) -> IndexArray:
    """Return the best cells with items left, enough to hold `wanted` of them, or all."""
    unopened = np.flatnonzero(left)
    scores, left = -scores[unopened], left[unopened]
    number = 4
    while len(unopened) > number:
        best = np.argpartition(scores, number)[:number]
        if left[best].sum() >= wanted:
            break
        number *= 4
    else:
        best = np.arange(len(unopened))
    best = best[np.argsort(scores[best], kind="stable")]
    enough = int(np.searchsorted(np.cumsum(left[best]), wanted)) + 1
    return unopened[best[:enough]]


def best_items(rows: IndexArray, scores: Single, number: int) -> tuple[IndexArray, Single]:
    """Return the rows with the highest scores, at most `number`, none at -inf; and the scores."""
    if len(rows) > number:
        best = np.argpartition(-scores, number)[:number]
        rows, scores = rows[best], scores[best]
    possible = scores > -np.inf
    return rows[possible], scores[possible]
