"""The distances h(i, j) that a dispersion function sums (Eq. 5).

A `Distance` is a formula with the data it is worked out from: cosine on embeddings,
Jaccard on genres, the difference of years. `cosine()`, `angular()` and `euclidean()`
without data take the catalogue's own features.
"""

from variegate.distances.distance import Distance
from variegate.distances.formulas import FORMULAS, Formula, unit_rows
from variegate.distances.makers import (
    angular,
    cosine,
    custom,
    difference,
    euclidean,
    hamming,
    jaccard,
)
from variegate.distances.values import distance_of_values

__all__ = [
    "FORMULAS",
    "Distance",
    "Formula",
    "angular",
    "cosine",
    "custom",
    "difference",
    "distance_of_values",
    "euclidean",
    "hamming",
    "jaccard",
    "unit_rows",
]
