"""Greedy MAP of a determinantal point process (Chen, Zhang and Zhou, NeurIPS 2018)."""

from copy import copy

import numpy as np

from variegate.arrays import FloatArray
from variegate.model.search import Scorer

#: A conditional variance below this is rounding error: the item lies in the span of those taken.
RANK_TOLERANCE = 1e-10


class Determinant(Scorer):
    """The gain in ln det(L_A) for L = Diag(q) Sim Diag(q), by a Cholesky factor.

    det(L_(A+i)) / det(L_A) is q_i^2 times s_i, the conditional variance of item i in Sim given
    the items taken. Beyond the rank of Sim every s_i is 0: it is held at the tolerance, and the
    remaining positions are filled by q.

    Parameters
    ----------
    log_quality
        ln q, (n,).
    root
        Rows phi with Sim = phi phi', (n, w).
    jitter
        Added to the diagonal of Sim.
    """

    def __init__(self, log_quality: FloatArray, root: FloatArray, jitter: float = 0.0) -> None:
        self._log_quality, self._root = log_quality, root
        self._first = np.einsum("ni,ni->n", root, root) + jitter
        self._variance = self._first
        self._columns: list[FloatArray] = []

    def __len__(self) -> int:
        return len(self._log_quality)

    def scores(self) -> FloatArray:
        scores: FloatArray = 2.0 * self._log_quality + self.log_variance()
        return scores

    def log_variance(self) -> FloatArray:
        """Return ln s of each candidate, (n,)."""
        logarithms: FloatArray = np.log(np.maximum(self._variance, RANK_TOLERANCE))
        return logarithms

    def take(self, place: int) -> None:
        variance = self._variance[place]
        if variance < RANK_TOLERANCE:
            return
        column = self._root @ self._root[place]
        for earlier in self._columns:
            column = column - earlier[place] * earlier
        column = column / np.sqrt(variance)
        self._columns = [*self._columns, column]
        self._variance = self._variance - column**2

    def fresh(self) -> "Determinant":
        other = copy(self)
        other._variance, other._columns = self._first, []
        return other


def similarity_root(units: FloatArray, *, shifted: bool) -> FloatArray:
    """Return rows phi whose products are the cosines, or (1 + cos) / 2 if `shifted`."""
    if not shifted:
        return units
    lifted: FloatArray = np.hstack([units, np.ones((len(units), 1))]) / np.sqrt(2.0)
    return lifted
