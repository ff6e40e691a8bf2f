"""Which items of a catalogue cut into cells may get into one user's list."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.kernels.cells import Single
from variegate.shortlist.cells import Cells
from variegate.shortlist.draft import Draft
from variegate.shortlist.opening import Opening

#: Of the items kept for a position, so many come into the draft of the list.
DRAFTED: Final = 64


class Quota(NamedTuple):
    """How many items are looked at, and how many kept as candidates, for one position."""

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

    At each position that has a quota the cells that could hold the next item are opened and the
    best of their items kept; `draft` takes the best of what it was given to be in the list.
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
    """Return how many free items each cell has, (C,)."""
    closed = len(free) - int(np.count_nonzero(free))
    if 2 * closed <= len(free):
        taken = cells.partition.cell_of[np.flatnonzero(~free)]
        return cells.sizes - np.bincount(taken, minlength=len(cells))
    return np.bincount(cells.partition.cell_of[np.flatnonzero(free)], minlength=len(cells))


def next_cells(scores: FloatArray, left: IndexArray, wanted: int) -> IndexArray:
    """Return the best cells with items left, as many as hold `wanted` of them, or all."""
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
