"""The cells of a catalogue as one user's list sees them, while it grows."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray, MaskArray, root_of
from variegate.distances import Distance
from variegate.kernels import upper_bounds
from variegate.kernels.cells import Single, View, add_distances, item_scores
from variegate.ridge import Estimate
from variegate.shortlist.cells import Cells

#: Spreads by which the best items of a cell are taken to surpass its centre.
AHEAD: Final = 2.0


class Opening:
    """Scores of cells and of the items in them, given the items that were taken."""

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
        """Return about the best score in each cell, (C,)."""
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
        """Return the rows of all items in the cells `opened`, and about their scores."""
        view, x = self._view, (self._sums * factor).astype(np.float32)
        if view.column >= 0:
            scaled = factor / self._distances[view.column].scale
            away = (scaled * self._directions).astype(np.float32)
            view = view._replace(apart=np.float32(scaled * self._taken), away=away)
        return item_scores(self._cells.items, free, view, opened, x)

    def take(self, data: Sequence[NDArray[Any]]) -> None:
        """Add to the list an item with these data in each distance."""
        for column, (h, row, leaders) in enumerate(
            zip(self._distances, data, self._cells.leader_data, strict=True)
        ):
            add_distances(h, leaders, row, column, self._sums)
            if column == self._view.column:
                self._directions += row
        self._taken += 1


def _view(
    cells: Cells, distances: Sequence[Distance], belief: Estimate, exploration: float
) -> tuple[View, FloatArray]:
    """Return what the user makes of the cells, and about theta . z of each cell's best item."""
    d, alpha = cells.d, np.float32(exploration)
    eta, P = _scaled(belief)
    theta, P_zz = eta[:d], P[:d, :d]
    Pc, products = cells.times(P_zz), cells.times(np.column_stack([theta, P_zz @ theta, P[:d, d:]]))
    even, variance = np.float32(np.trace(P_zz) / d), np.einsum("ij,ij->i", Pc, cells.centres)
    # What its items scatter by adds to the variance of a cell's typical item.
    typical = variance + even * cells.scatters
    deviations = root_of(typical)
    share = np.divide(alpha, deviations, out=0.0 * deviations, where=deviations > 0.0)
    # |theta + alpha P c / deviation|^2: how steeply the score rises around the centre.
    squares = np.einsum("ij,ij->i", Pc, Pc)
    slopes = theta @ theta + share * (2.0 * products[:, 1] + share * squares)
    cosines = [h.on_features and h.formula.name == "cosine" for h in distances]
    view = View(
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
    return view, products[:, 0] + AHEAD * cells.partition.spreads * root_of(slopes)


def _scaled(belief: Estimate) -> tuple[Single, Single]:
    """Return the mean and the covariance in single precision, of a size that squares in it.

    All scores are divided by one number, which leaves their order as it is.
    """
    size = float(np.sqrt(belief.mean @ belief.mean + np.trace(belief.covariance)))
    mean, covariance = belief.mean / size, belief.covariance / size**2
    return mean.astype(np.float32), covariance.astype(np.float32)
