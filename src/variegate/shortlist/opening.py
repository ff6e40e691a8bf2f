"""The cells of a catalogue as one user's list sees them, while it grows."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray, root_of
from variegate.distances import Distance
from variegate.kernels import upper_bounds
from variegate.kernels.cells import Single, View, item_scores
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
        self._view = view = _view(cells, distances, belief, exploration)
        self._best_scores = (view.centres @ view.theta + _ahead(view, cells)).astype(np.float64)
        self._typical, self._cross = view.typical.astype(np.float64), view.cross.astype(np.float64)
        self._beta, self._C = belief.mean[cells.d :], belief.covariance[cells.d :, cells.d :].copy()
        self._sums = np.zeros((len(cells), len(distances)))
        self._directions, self._taken = np.zeros(cells.d), 0

    def scores(self, factor: float) -> FloatArray:
        """Return about the best score in each cell, (C,)."""
        return upper_bounds(
            self._best_scores,
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

    def take(self, data: Sequence[FloatArray]) -> None:
        """Add to the list an item with these data in each distance."""
        for column, (h, row, leaders) in enumerate(
            zip(self._distances, data, self._cells.leader_data, strict=True)
        ):
            self._sums[:, column] += h.formula.between(row.astype(leaders.dtype), leaders) / h.scale
            if column == self._view.column:
                self._directions += row
        self._taken += 1


def _view(
    cells: Cells, distances: Sequence[Distance], belief: Estimate, exploration: float
) -> View:
    d, mean, P = cells.d, belief.mean.astype(np.float32), belief.covariance.astype(np.float32)
    centres = cells.centres
    even, Pc = np.float32(np.trace(P[:d, :d]) / d), centres @ P[:d, :d]
    variance = np.einsum("ij,ij->i", Pc, centres)
    cosines = [h.on_features and h.formula.name == "cosine" for h in distances]
    return View(
        theta=mean[:d],
        beta=mean[d:],
        P_zx=P[:d, d:].copy(),
        P_xx=P[d:, d:].copy(),
        centres=centres,
        Pc=Pc,
        variance=variance,
        # What its items scatter by adds to the variance of a cell's typical item.
        typical=variance + even * cells.scatters,
        cross=centres @ P[:d, d:],
        even=even,
        alpha=np.float32(exploration),
        column=cosines.index(True) if any(cosines) else -1,
        apart=np.float32(0.0),
        away=np.zeros(d, dtype=np.float32),
    )


def _ahead(view: View, cells: Cells) -> FloatArray:
    """By how much each cell's best item surpasses its centre: the score's slope times spreads."""
    deviations = np.sqrt(view.typical)
    share = np.divide(view.alpha, deviations, out=0.0 * deviations, where=deviations > 0.0)
    squares = np.einsum("ij,ij->i", view.Pc, view.Pc)
    slopes = view.theta @ view.theta + share * (2.0 * (view.Pc @ view.theta) + share * squares)
    return AHEAD * cells.partition.spreads * root_of(slopes)
