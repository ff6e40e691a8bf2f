"""The most similar items by their features, with weights: what new items are predicted from."""

from typing import Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray

#: Similar items that a new item is predicted from.
NEIGHBOURS: Final = 10
#: Items that are searched for them, at most: evenly spaced among all.
MAX_REFERENCES: Final = 5000
#: Numbers of a table of distances that is in memory at once.
_CHUNK: Final = 2**22


def reference_rows(items: int) -> IndexArray:
    """Return the rows that are searched for similar items."""
    spaced = np.linspace(0, items - 1, min(items, MAX_REFERENCES))
    return np.unique(spaced.astype(np.intp))


def similar_items(references: FloatArray, features: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Return the places of the most similar references of each item, and their weights.

    Weights are not negative and sum to 1. They fall with the squared distance of the features, in
    units of its mean over the similar items.

    Parameters
    ----------
    references
        Features of the items that are searched, (n, d).
    features
        Features of the items to predict, (new, d).
    """
    count = min(NEIGHBOURS, len(references))
    rows = np.zeros((len(features), count), dtype=np.intp)
    squares = np.zeros((len(features), count))
    pieces = max(1, -(-len(features) * len(references) // _CHUNK))
    for part in np.array_split(np.arange(len(features)), pieces):
        rows[part], squares[part] = _nearest(references, features[part], count)
    scale = squares.mean(axis=1, keepdims=True)
    weights = 1.0 / (1.0 + squares / np.where(scale > 0.0, scale, 1.0))
    return rows, weights / weights.sum(axis=1, keepdims=True)


def _nearest(
    references: FloatArray, features: FloatArray, count: int
) -> tuple[IndexArray, FloatArray]:
    """Return the references nearest to each row, the first of equals, and squared distances."""
    squares = (
        np.square(features).sum(axis=1)[:, None]
        - 2.0 * features @ references.T
        + np.square(references).sum(axis=1)
    )
    # Rounded, so that rounding errors do not decide between items with equal features.
    squares = np.round(np.maximum(squares, 0.0), 9)
    nearest = np.argsort(squares, axis=1, kind="stable")[:, :count]
    return nearest, np.take_along_axis(squares, nearest, axis=1)
