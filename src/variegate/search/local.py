"""Local search by swaps: what greedy found, bettered until no swap helps."""

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.search.base import Scorer
from variegate.search.greedy import greedy

#: A swap must better the list's value by this share, so that rounding cannot go round in circles.
LEAST_GAIN = 1e-12


def local_search(
    scorer: Scorer, k: int, *, most_swaps: int = 1000
) -> tuple[IndexArray, FloatArray]:
    """Take the greedy list, then swap one item for one outside while that raises the value.

    The best of all swaps is made each time, at most `most_swaps` times. The list is never
    worth less than the greedy one; at a local optimum it is worth at least half of the best
    (Borodin et al. 2012, Theorem 2; for a metric distance and non-negative preferences).
    """
    places, scores = greedy(scorer, k)
    value = scores.sum()
    for _ in range(most_swaps):
        swaps = _swaps(places, len(scorer))
        if not len(swaps):
            break
        values = scorer.values(swaps)
        best = int(np.argmax(values))
        if values[best] <= value + LEAST_GAIN * max(abs(value), 1.0):
            break
        places, value = swaps[best], values[best]
    return places, scorer.along(places)


def _swaps(places: IndexArray, n: int) -> IndexArray:
    """Return every list that differs from `places` in one position, (k (n - k), k)."""
    outside = np.setdiff1d(np.arange(n), places)
    swaps = np.tile(places, (len(places) * len(outside), 1))
    position = np.repeat(np.arange(len(places)), len(outside))
    swaps[np.arange(len(swaps)), position] = np.tile(outside, len(places))
    return swaps
