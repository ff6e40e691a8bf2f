"""Whether one method is ahead of another, by paired bootstrap over users and splits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, check_choice
from variegate.errors import InputError
from variegate.evaluation.metrics import f_score
from variegate.evaluation.scores import Scores

#: From mean recall and mean diversity, (..., rounds) each, to a measure of the same shape.
Measure: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]

#: How often users are drawn anew.
DRAWS: Final = 1000

MEASURES: Final[Mapping[str, Measure]] = MappingProxyType(
    {
        "recall": lambda recall, _diversity: recall,
        "diversity": lambda _recall, diversity: diversity,
        "F1": lambda recall, diversity: f_score(recall, diversity, 1.0),
        "F2": lambda recall, diversity: f_score(recall, diversity, 2.0),
    }
)


@dataclass(frozen=True, eq=False)
class Difference:
    """How far the first method is ahead of the second in each round, with 95% intervals."""

    measure: str
    #: (rounds,)
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    #: The same for the mean over all rounds: mean, low, high
    overall: tuple[float, float, float]


def mean_measure(splits: Sequence[Scores], measure: str) -> FloatArray:
    """Return a measure in each round, mean over splits, (rounds,)."""
    value = MEASURES[check_choice("measure", measure, MEASURES)]
    per_split = [value(scores.mean_recall, scores.mean_diversity) for scores in splits]
    return np.asarray(np.mean(per_split, axis=0))


def standard_error(splits: Sequence[Scores], measure: str, *, draws: int = DRAWS) -> FloatArray:
    """Return the standard error of `mean_measure` over users, by bootstrap, (rounds,)."""
    return np.asarray(_drawn(splits, measure, draws).std(axis=0, ddof=1))


def difference(
    ours: Sequence[Scores], theirs: Sequence[Scores], measure: str, *, draws: int = DRAWS
) -> Difference:
    """Return how far `ours` is ahead of `theirs`, drawing the same users for both.

    Each is the scores of one method on the same splits in the same order. Users are drawn
    anew, with replacement, within each split; the draws are seeded.
    """
    for a, b in zip(ours, theirs, strict=True):
        if a.recall.shape != b.recall.shape:
            raise InputError(
                f"`theirs` must be of the same users as `ours`, got {b.recall.shape} for "
                f"{a.recall.shape}"
            )
    drawn = _drawn(ours, measure, draws) - _drawn(theirs, measure, draws)
    mean = mean_measure(ours, measure) - mean_measure(theirs, measure)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    overall = np.quantile(drawn.mean(axis=1), [0.025, 0.975])
    return Difference(
        measure, mean, low, high, (float(mean.mean()), float(overall[0]), float(overall[1]))
    )


def _drawn(splits: Sequence[Scores], measure: str, draws: int) -> FloatArray:
    """The measure for users drawn anew `draws` times, mean over splits, (draws, rounds)."""
    value = MEASURES[check_choice("measure", measure, MEASURES)]
    totals = [value(*drawn_means(scores, number, draws)) for number, scores in enumerate(splits)]
    return np.asarray(np.mean(totals, axis=0))


# Scores are compared with many others by many measures, and drawing users takes the time. With
# 30 rounds an entry is half a megabyte, and a reproduction in full has 800.
@lru_cache(maxsize=1024)
def drawn_means(scores: Scores, number: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """Return mean recall and mean diversity of users drawn anew, (draws, rounds) each.

    `number` is that of the split: the draws of the same split are the same for every method.
    """
    users = len(scores.recall)
    weights = _times_drawn(users, number, draws) / users
    return weights @ scores.recall, weights @ scores.diversity[0]


@lru_cache(maxsize=8)
def _times_drawn(users: int, number: int, draws: int) -> NDArray[np.uint16]:
    """How often each user comes up in each draw, the same for every method, (draws, users)."""
    rng = np.random.default_rng([users, number])
    return rng.multinomial(users, np.full(users, 1.0 / users), size=draws).astype(np.uint16)
