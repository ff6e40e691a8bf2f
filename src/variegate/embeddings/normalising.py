"""Ways to bring vectors into [-1, 1]."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_choice, check_numbers

#: What `normalised` can do, by name; the first is the default everywhere.
NORMALISATIONS: Final = ("global", "min-max", "row", "none")


def normalised(vectors: ArrayLike, how: str = "global") -> tuple[FloatArray, float]:
    """Return the vectors in their new size, and the one number they were divided by.

    Parameters
    ----------
    vectors
        One row an item, (n, d).
    how
        ``global`` divides all by the largest absolute value, the only way that keeps angles
        and the ranking by any user vector. ``min-max`` stretches each column over [-1, 1].
        ``row`` gives each row the length 1. ``none`` leaves all as it is.

    Returns
    -------
    The vectors, and what ``global`` divided by; 1 for the others, which have no one such number.
    A matrix of zeros, a zero row and a column of one value only (``min-max``) become zeros.

    Examples
    --------
    >>> normalised([[4.0, 2.0], [0.0, -1.0]])
    (array([[ 1.  ,  0.5 ],
           [ 0.  , -0.25]]), 4.0)
    """
    array = check_numbers("vectors", vectors, ndim=2)
    check_choice("normalise", how, NORMALISATIONS)
    if how == "none" or not array.any():
        return array.copy(), 1.0
    if how == "min-max":
        return _over_the_range(array), 1.0
    if how == "row":
        return _of_length_one(array), 1.0
    scale = float(np.abs(array).max())
    return array / scale, scale


def _over_the_range(array: FloatArray) -> FloatArray:
    moderate = _within_one(array, axis=0)
    lowest = moderate.min(axis=0)
    spread = moderate.max(axis=0) - lowest
    varied = spread > 0
    stretched: FloatArray = 2 * (moderate - lowest) / np.where(varied, spread, 1.0) - 1
    return np.where(varied, stretched, 0.0)


def _of_length_one(array: FloatArray) -> FloatArray:
    moderate = _within_one(array, axis=1)
    lengths = np.linalg.norm(moderate, axis=1, keepdims=True)
    unit: FloatArray = moderate / np.where(lengths > 0, lengths, 1.0)
    return unit


def _within_one(array: FloatArray, *, axis: int) -> FloatArray:
    # Squares and spreads of very large or very small numbers would leave what a float can hold.
    largest = np.abs(array).max(axis=axis, keepdims=True)
    scaled: FloatArray = array / np.where(largest > 0, largest, 1.0)
    return scaled
