"""Scores of another ranker, brought to one scale for each request."""

from collections.abc import Sequence
from math import isfinite
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray
from variegate.errors import InputError

#: Scores on any scale; None or nan where there is none.
ScoresLike: TypeAlias = ArrayLike | Sequence[float | None]
#: Of scores with a larger range, differences and sums can overflow.
LARGEST_RANGE: Final = 1e150
#: The feature that holds the scores of a request.
SCORE: Final = "score"


class NormalisedScores(NamedTuple):
    """Scores on the scale of every request, and what was unusual about them."""

    #: From -1 to 1, (n,)
    values: FloatArray
    #: Sentences for the caller; none for ordinary scores
    notes: tuple[str, ...] = ()


def normalise_scores(scores: ScoresLike) -> NormalisedScores:
    """Return scores on any scale as numbers from -1 to 1, in the same order.

    With s = (score - median) / (half the interquartile range) it is s / (1 + abs(s)): the median
    becomes 0 and the quartiles of symmetric scores -0.5 and 0.5. Adding a number to all scores, or
    multiplying them by a positive one, changes nothing, and a single extreme score changes little.
    Equal scores stay equal. Where more than half of the scores are equal, the mean distance to the
    median takes the place of the interquartile range. A missing score (nan or None) counts as the
    median, 0; if all scores are equal or missing, all are 0.

    Examples
    --------
    >>> normalise_scores([10.0, 20.0, 30.0, 40.0, 50.0]).values.round(2).tolist()
    [-0.67, -0.5, 0.0, 0.5, 0.67]
    >>> normalise_scores([7.0, None, 7.0])
    NormalisedScores(values=array([0., 0., 0.]), notes=('1 of 3 candidates has no score: it \
counts as the median', 'all scores are equal: they do not order the candidates'))
    """
    given = _as_scores(scores)
    missing = 0
    if not isfinite(given.sum()):  # nearly all scores pass, as one sum shows
        missing = _count_missing(given)
    count, notes = len(given) - missing, _notes_on_missing(missing, len(given))
    if count == 0:
        return NormalisedScores(np.zeros(len(given)), notes)
    ordered = np.sort(given)[:count]  # nan comes last
    lowest, highest = float(ordered[0]), float(ordered[-1])
    if lowest == highest:
        notes += ("all scores are equal: they do not order the candidates",) if count > 1 else ()
        return NormalisedScores(np.zeros(len(given)), notes)
    if highest - lowest > LARGEST_RANGE:  # the sums below would overflow
        ordered, given = ordered / LARGEST_RANGE, given / LARGEST_RANGE
    low, middle, high = (_quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    scale = (high - low) / 2.0 or float(np.abs(ordered - middle).mean())
    from_middle = given - middle
    # s / (1 + |s|), without a division by a tiny scale, which could overflow.
    values = from_middle / (scale + np.abs(from_middle))
    if missing:
        values[np.isnan(values)] = 0.0
    return NormalisedScores(values, notes)


def _as_scores(scores: ScoresLike) -> FloatArray:
    try:
        given = np.asarray(scores, dtype=np.float64)  # None becomes nan
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"`scores` must be numbers, None for a missing one: {error}") from None
    if given.ndim != 1:
        raise InputError(f"`scores` must have 1 axis, got shape {given.shape}")
    return given


def _count_missing(given: FloatArray) -> int:
    for at in np.flatnonzero(np.isinf(given))[:1].tolist():
        raise InputError(
            f"`scores` must be finite, or None for a missing one, got {given[at]} at {at}"
        )
    return int(np.count_nonzero(np.isnan(given)))


def _quantile(ordered: FloatArray, share: float) -> float:
    """Return a quantile of sorted numbers, as `np.quantile` does in twenty times the time."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    start, end = float(ordered[below]), float(ordered[above])
    return start + (place - below) * (end - start)


def _notes_on_missing(missing: int, total: int) -> tuple[str, ...]:
    if not missing:
        return ()
    verbs = "has no score: it counts" if missing == 1 else "have no score: they count"
    return (f"{missing} of {total} candidates {verbs} as the median",)
