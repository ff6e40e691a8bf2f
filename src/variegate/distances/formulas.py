"""How each kind of distance h(i, j) is worked out (Eq. 5)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from variegate.arrays import FloatArray

#: Gives the distances from one prepared row (w,) to many (n, w), as (n,).
Between: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class Formula:
    """How a kind of distance is worked out, in two steps, so that work on all items is done once.

    Parameters
    ----------
    name
        What files, commands and reports call it.
    is_metric
        Whether it keeps the triangle inequality, which Theorem 1 asks of it.
    prepare
        Turns the items' data (L, w) into the form that `between` takes.
    between
        Gives the distances from one prepared row to many.
    largest
        The largest value that it can take, or None where the data decide.
    """

    name: str
    is_metric: bool
    prepare: Callable[[FloatArray], FloatArray]
    between: Between
    largest: float | None


def unit_rows(rows: FloatArray) -> FloatArray:
    """Return the rows at length 1; a zero row has no direction and stays zero."""
    # Scaled first: the squares of 1e200 or 1e-200 are outside the range of floats.
    sizes = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(sizes > 0, sizes, 1.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: FloatArray = rows / np.where(lengths > 0, lengths, 1.0)
    return units


def _cosines(point: FloatArray, points: FloatArray) -> FloatArray:
    cosines: FloatArray = np.clip(points @ point, -1.0, 1.0)
    return cosines


def _one_minus_cosine(point: FloatArray, points: FloatArray) -> FloatArray:
    distances: FloatArray = 1.0 - _cosines(point, points)
    return distances


def _angle(point: FloatArray, points: FloatArray) -> FloatArray:
    # From |a - b| = 2 sin(angle / 2) and |a + b| = 2 cos(angle / 2): arccos would lose half the
    # digits near angles 0 and pi. A zero row is a quarter turn from all, as its cosine is 0.
    apart, together = (np.linalg.norm(points + sign * point, axis=1) for sign in (-1.0, 1.0))
    angles = 2.0 * np.arctan2(apart, together) / np.pi
    directionless = ~points.any(axis=1) | ~point.any()
    shares: FloatArray = np.where(directionless, 0.5, angles)
    return shares


def _length(point: FloatArray, points: FloatArray) -> FloatArray:
    return _lengths(points - point)


def _lengths(rows: FloatArray) -> FloatArray:
    """Return the length of each row, also of those whose squares floats cannot hold."""
    with np.errstate(over="ignore", under="ignore"):
        lengths: FloatArray = np.linalg.norm(rows, axis=1)
    doubtful = ~((lengths > 1e-140) & (lengths < 1e140))
    # Scaled by powers of 2, which rounds nothing.
    _, powers = np.frexp(np.abs(rows[doubtful]).max(axis=1, initial=0.0))
    scaled = np.ldexp(rows[doubtful], -powers[:, None])
    lengths[doubtful] = np.ldexp(np.linalg.norm(scaled, axis=1), powers)
    return lengths


def _unlike(point: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(points[:, 0] != point[0], dtype=np.float64)


def _outside_both(point: FloatArray, points: FloatArray) -> FloatArray:
    shared = points @ point
    either = points.sum(axis=1) + point.sum() - shared
    overlap = np.divide(shared, either, out=np.ones_like(shared), where=either > 0)
    distances: FloatArray = 1.0 - overlap
    return distances


def diagonal(rows: FloatArray) -> float:
    """Return the diagonal of the box around the rows: no two are farther apart."""
    # By the same sum as the distances: another order could round to less than one of them.
    return float(_lengths(np.ptp(rows, axis=0)[None])[0]) if len(rows) else 0.0


#: Every kind of distance that can be saved by its name.
FORMULAS: Final[Mapping[str, Formula]] = MappingProxyType(
    {
        formula.name: formula
        for formula in (
            Formula("cosine", False, unit_rows, _one_minus_cosine, 2.0),
            Formula("angular", True, unit_rows, _angle, 1.0),
            Formula("euclidean", True, np.asarray, _length, None),
            Formula("difference", True, np.asarray, _length, None),
            Formula("hamming", True, np.asarray, _unlike, 1.0),
            Formula("jaccard", True, np.asarray, _outside_both, 1.0),
        )
    }
)
