"""Approximate scores of the items in some cells of a catalogue, in one pass over their features.

The variance of an item z in a cell around c is s^2 |z|^2 + z'(P - s^2 I)z, with s^2 the mean of
the diagonal of P = P_zz. The second term is linearised at c: 2 z'(P - s^2 I)c, minus its value at
c. So two products with z give the item's score: close enough to choose candidates, and exact for
a user without observations. The diversity gains x are those of the cell, except for one cosine
distance on the features themselves, which a third product gives.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.kernels.layout import KINDS

if TYPE_CHECKING:
    from variegate.model.distances import Distance

Single: TypeAlias = NDArray[np.float32]


class CellItems(NamedTuple):
    """Items, sorted by cell."""

    #: Features (L, d), and their squared lengths (L,)
    z: Single
    squares: Single
    #: The row of each in the catalogue, (L,)
    rows: IndexArray
    #: Where each cell's items start, and where the last one's end, (C + 1,)
    starts: IndexArray


class CellView(NamedTuple):
    """The cells as one user's list sees them, in single precision."""

    #: Estimates of the weights, (d,) and (m,), and blocks of their covariance, (d, m) and (m, m)
    theta: Single
    beta: Single
    P_zx: Single
    P_xx: Single
    #: Centres c, and P_zz c, (C, d)
    centres: Single
    Pc: Single
    #: The variance of the centre and of a typical item, (C,), and c'P_zx, (C, m)
    variance: Single
    typical: Single
    cross: Single
    #: s^2 and alpha
    even: np.float32
    alpha: np.float32
    #: Which distance is the cosine on the features, or -1
    column: int
    #: Its scaled sum for an item orthogonal to all above, and what the items above subtract from
    #: it: the scaled sum of their directions, (d,)
    apart: np.float32
    away: Single


def item_scores(
    items: CellItems, free: MaskArray, view: CellView, opened: IndexArray, x: Single
) -> tuple[IndexArray, Single]:
    """Return the rows of all items of the cells `opened`, and their scores; -inf if not `free`.

    `x` are the diversity gains of the cells, (C, m).
    """
    from variegate.kernels.loops.cells import fill_scores  # numba: not at import

    cells = len(items.starts) - 1
    is_cell = (opened >= 0) & (opened < cells)
    if not is_cell.all() or len(free) != len(items.rows) or len(x) != cells:
        raise InputError(
            f"`opened` must hold cells from 0 to {cells - 1}, `free` {len(items.rows)} items and "
            f"`x` {cells} rows, got {opened.tolist()}, {len(free)} and {len(x)}"
        )
    number = int((items.starts[opened + 1] - items.starts[opened]).sum())
    rows, scores = np.empty(number, dtype=np.intp), np.empty(number, dtype=np.float32)
    fill_scores(items, free, view, opened, x, rows, scores)
    return rows, scores


def item_scores_reference(
    items: CellItems, free: MaskArray, view: CellView, opened: IndexArray, x: Single
) -> tuple[IndexArray, Single]:
    """Return what `item_scores` does, by NumPy, cell by cell."""
    found = [_cell_scores(items, free, view, int(cell), x[cell]) for cell in opened]
    return np.concatenate([rows for rows, _ in found]), np.concatenate([s for _, s in found])


def _cell_scores(
    items: CellItems, free: MaskArray, view: CellView, cell: int, x: Single
) -> tuple[IndexArray, Single]:
    here = slice(items.starts[cell], items.starts[cell + 1])
    z, squares, rows = items.z[here], items.squares[here], items.rows[here]
    c, Pc, cross = view.centres[cell], view.Pc[cell], view.cross[cell]
    bend = 2.0 * (Pc - view.even * c + view.P_zx @ x)
    level = view.even * (c @ c) - view.variance[cell] + x @ view.P_xx @ x
    variance = view.even * squares + z @ bend + level
    scores = z @ view.theta + view.beta @ x + view.alpha * np.sqrt(np.maximum(variance, 0.0))
    if view.column >= 0:
        typical = view.typical[cell] + 2.0 * cross @ x + x @ view.P_xx @ x
        slope = (cross + view.P_xx @ x)[view.column]
        towards = view.beta[view.column]
        towards += view.alpha * slope / np.sqrt(typical) if typical > 0.0 else 0.0
        along = np.divide(z @ view.away, np.sqrt(squares), out=0.0 * squares, where=squares > 0.0)
        scores = scores + towards * (view.apart - along - x[view.column])
    return rows, np.where(free[rows], scores, -np.inf).astype(np.float32)


def single_rows(h: "Distance", rows: IndexArray) -> NDArray[Any]:
    """Return the data of some items, in single precision if the compiled loops implement `h`."""
    data = h.rows[rows]
    return data.astype(np.float32) if h.formula.name in KINDS else data


def add_distances(
    h: "Distance", rows: NDArray[Any], row: NDArray[Any], column: int, sums: FloatArray
) -> None:
    """Add h between each of `single_rows` and one of them to a column of `sums` (n, m)."""
    kind = KINDS.get(h.formula.name)
    if kind is None:
        sums[:, column] += h.formula.between(row, rows) / h.scale
        return
    from variegate.kernels.loops.cells import add_row_distances

    if row.shape != rows.shape[1:] or len(sums) != len(rows) or not 0 <= column < sums.shape[1]:
        raise InputError(
            f"`row`, `column` and `sums` must fit rows {rows.shape}, "
            f"got {row.shape}, {column} and {sums.shape}"
        )
    add_row_distances(rows, row, kind, h.scale, column, sums)
