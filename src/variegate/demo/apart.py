"""How far the items of a list stand from those above them."""

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.model.catalogue import Catalogue

#: Items that typical distances are measured from. On the films they come within 2% of all pairs.
SAMPLE = 50


def distances_above(catalogue: Catalogue, items: IndexArray) -> FloatArray:
    """Return each item's mean distance to the items above it, (K, m); nan for the first.

    These are plain means, whatever the policy's normaliser is.
    """
    k = len(items)
    means = np.full((k, catalogue.m), np.nan)
    for column, h in enumerate(catalogue.distances):
        pairs = h.among(items).matrix()
        for place in range(1, k):
            means[place, column] = pairs[place, :place].mean()
    return means


def typical_distances(catalogue: Catalogue) -> FloatArray:
    """Return the mean distance between two items of the catalogue, (m,), from a sample of rows."""
    n = len(catalogue)
    rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))
    others = max(n - 1, 1)  # an item's distance to itself is 0 and does not count
    means = [
        np.mean([h.from_item(int(row)).sum() / others for row in rows]) for h in catalogue.distances
    ]
    return np.array(means, dtype=np.float64)


def new_in(
    catalogue: Catalogue, items: IndexArray, typical: FloatArray, *, most: int = 2
) -> list[tuple[str, ...]]:
    """Return for each item the names of the distances that set it apart from all above it.

    Those in which even the nearest item above is farther away than two items typically are, the
    farthest first, and at most `most`; none for the first item.
    """
    k = len(items)
    nearest = np.zeros((k, catalogue.m))
    for column, h in enumerate(catalogue.distances):
        pairs = h.among(items).matrix()
        nearest[1:, column] = [pairs[place, :place].min() for place in range(1, k)]
    names = [h.name for h in catalogue.distances]
    named = []
    for ratios in nearest / np.where(typical > 0, typical, np.inf):
        order = np.argsort(-ratios, kind="stable")[:most]
        named.append(tuple(names[place] for place in order if ratios[place] > 1.0))
    return named
