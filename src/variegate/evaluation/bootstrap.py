"""Bootstrap intervals over users: of one policy, and of the paired difference of two."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, check_choice
from variegate.errors import InputError
from variegate.evaluation.metrics import Scores, f_score

#: From mean recall and mean diversity, (..., rounds) each, to a measure of the same shape.
Measure: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]

#: Bootstrap resamples.
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
class Interval:
    """A measure, or a difference of two policies, in each round, with 95% intervals."""

    measure: str
    #: (rounds,)
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    #: Mean, low and high of the mean over all rounds
    overall: tuple[float, float, float]

    def by_round(self) -> Iterator[tuple[int, float, float, float]]:
        """Yield the round, the mean, low and high."""
        numbers = (self.mean.tolist(), self.low.tolist(), self.high.tolist())
        return zip(range(1, len(self.mean) + 1), *numbers, strict=True)


def mean_measure(splits: Sequence[Scores], measure: str) -> FloatArray:
    """Return a measure in each round, mean over splits, (rounds,)."""
    value = MEASURES[check_choice("measure", measure, MEASURES)]
    per_split = [value(scores.mean_recall, scores.mean_diversity) for scores in splits]
    return np.asarray(np.mean(per_split, axis=0))


def standard_error(splits: Sequence[Scores], measure: str, *, draws: int = DRAWS) -> FloatArray:
    """Return the standard error of `mean_measure` over users, by bootstrap, (rounds,)."""
    return np.asarray(_resample(splits, measure, draws).std(axis=0, ddof=1))


def interval(splits: Sequence[Scores], measure: str, *, draws: int = DRAWS) -> Interval:
    """Return a measure of one policy with its 95% intervals.

    Users are resampled with replacement within each split, with a fixed seed.
    """
    return _interval(measure, mean_measure(splits, measure), _resample(splits, measure, draws))


def difference(
    ours: Sequence[Scores], theirs: Sequence[Scores], measure: str, *, draws: int = DRAWS
) -> Interval:
    """Return a measure of `ours` minus that of `theirs`, with the same resampled users for both.

    Both are the scores of one policy on the same splits in the same order.
    """
    for a, b in zip(ours, theirs, strict=True):
        if a.recall.shape != b.recall.shape:
            raise InputError(
                f"`theirs` must have the same users and rounds as `ours`, got shape "
                f"{b.recall.shape} for {a.recall.shape}"
            )
    drawn = _resample(ours, measure, draws) - _resample(theirs, measure, draws)
    mean = mean_measure(ours, measure) - mean_measure(theirs, measure)
    return _interval(measure, mean, drawn)


def _interval(measure: str, mean: FloatArray, drawn: FloatArray) -> Interval:
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    overall = np.quantile(drawn.mean(axis=1), [0.025, 0.975])
    return Interval(
        measure, mean, low, high, (float(mean.mean()), float(overall[0]), float(overall[1]))
    )


def _resample(splits: Sequence[Scores], measure: str, draws: int) -> FloatArray:
    """The measure for `draws` resamples of the users, mean over splits, (draws, rounds)."""
    value = MEASURES[check_choice("measure", measure, MEASURES)]
    totals = [value(*drawn_means(scores, number, draws)) for number, scores in enumerate(splits)]
    return np.asarray(np.mean(totals, axis=0))


# One policy's scores are compared with many others by many measures, and resampling takes the
# time. With 30 rounds an entry takes half a megabyte; a full run of the experiments has 800.
@lru_cache(maxsize=1024)
def drawn_means(scores: Scores, number: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """Return mean recall and mean diversity of each resample, (draws, rounds) each.

    `number` is the number of the split: its resamples are the same for every policy.
    """
    users = len(scores.recall)
    weights = _user_counts(users, number, draws) / users
    return weights @ scores.recall, weights @ scores.diversity[0]


@lru_cache(maxsize=8)
def _user_counts(users: int, number: int, draws: int) -> NDArray[np.uint16]:
    """How often each user is in each resample, the same for every policy, (draws, users)."""
    rng = np.random.default_rng([users, number])
    return rng.multinomial(users, np.full(users, 1.0 / users), size=draws).astype(np.uint16)
