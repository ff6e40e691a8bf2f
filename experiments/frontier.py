"""Whether a method's recall lies under what ours reaches at the same diversity.

Giving one part of the users one setting and the rest another reaches, in the mean, every point
between the two: a method can reach everything under the concave hull of its settings. If every
setting of another method lies under our hull, so does that method's own hull.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from experiments.methods import OURS, sweep_title
from experiments.results import Replays
from variegate.arrays import FloatArray
from variegate.evaluation.bootstrap import DRAWS, drawn_means
from variegate.evaluation.metrics import Scores

#: The rounds at which methods are compared.
MOMENTS: Final = (1, 5, 10, 30)
#: A hull ends this much beyond its largest diversity: the difference is not noticeable.
MARGIN: Final = 0.005

#: By method, by setting.
Frontier: TypeAlias = Mapping[str, Replays]


@dataclass(frozen=True)
class Point:
    """One setting of one method at one round, and how far our frontier lies above it."""

    method: str
    setting: str
    moment: int
    diversity: float
    recall: float
    #: Our recall at this diversity minus its own, and the 95% interval of it over users
    margin: float
    low: float
    high: float

    @property
    def is_above(self) -> bool:
        """Whether it lies above our frontier."""
        return self.margin < 0.0

    @property
    def is_clearly_above(self) -> bool:
        """Whether it lies above our frontier by its interval too."""
        return self.high < 0.0


def moments(frontier: Frontier) -> list[int]:
    """Return the rounds of the comparison that were played."""
    played = [
        scores.recall.shape[1]
        for settings in frontier.values()
        for splits in settings.values()
        for scores in splits
    ]
    return [t for t in MOMENTS if t <= min(played, default=0)]


def point_title(point: Point) -> str:
    """Return the name of a setting of a method in a sentence."""
    return f"{sweep_title(point.method).partition(', by')[0]} ({point.setting})"


def upper_hull(diversity: FloatArray, recall: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of what settings reach, diversity rising and recall falling.

    The recall of a more diverse setting also counts as reached at less diversity.

    Examples
    --------
    >>> upper_hull(np.array([0.2, 0.5, 0.6, 0.9]), np.array([0.3, 0.8, 0.5, 0.4]))
    (array([0.5, 0.9]), array([0.8, 0.4]))
    """
    best = int(np.lexsort((-diversity, -recall))[0])
    corners = [(float(diversity[best]), float(recall[best]))]
    rest = sorted(zip(diversity.tolist(), recall.tolist(), strict=True))
    for x, y in [point for point in rest if point[0] > corners[0][0]]:
        while len(corners) > 1 and _is_under(corners[-1], corners[-2], (x, y)):
            corners.pop()
        corners.append((x, y))
    xs, ys = np.array(corners).T
    return xs, ys


def recall_at(hull: tuple[FloatArray, FloatArray], diversity: float | FloatArray) -> FloatArray:
    """Return the most recall under a hull at a diversity; 0 beyond its end."""
    xs, ys = hull
    reached = np.asarray(diversity) <= xs[-1] + MARGIN
    return np.asarray(np.where(reached, np.interp(diversity, xs, ys), 0.0))


def mean_points(settings: Replays, moment: int) -> tuple[FloatArray, FloatArray]:
    """Return the diversity and the recall of each setting at a round, mean over splits."""
    at = moment - 1
    diversity = [np.mean([s.mean_diversity[at] for s in each]) for each in settings.values()]
    recall = [np.mean([s.mean_recall[at] for s in each]) for each in settings.values()]
    return np.array(diversity), np.array(recall)


def points(frontier: Frontier, moment: int, *, draws: int = DRAWS) -> Iterator[Point]:
    """Yield every setting of the other methods, compared with our frontier at a round."""
    if OURS not in frontier:
        return
    for method, settings in frontier.items():
        if method == OURS or not settings:
            continue
        # Over the splits that the method was replayed on.
        hulls = _our_hulls(frontier[OURS], len(next(iter(settings.values()))), moment, draws)
        for setting, splits in settings.items():
            diversity, recall = _with_resamples(splits, moment, draws)
            margins = np.array(
                [
                    recall_at(hull, x) - y
                    for hull, x, y in zip(hulls, diversity, recall, strict=True)
                ]
            )
            low, high = np.quantile(margins[1:], [0.025, 0.975])
            numbers = (diversity[0], recall[0], margins[0], low, high)
            yield Point(method, setting, moment, *map(float, numbers))


def _our_hulls(
    ours: Replays, splits: int, moment: int, draws: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Return our hull over the first splits: of all users, then of each resample."""
    drawn = [_with_resamples(scores[:splits], moment, draws) for scores in ours.values()]
    by_draw = np.moveaxis(np.array(drawn), (1, 2, 0), (0, 1, 2))
    return [upper_hull(*both) for both in zip(*by_draw, strict=True)]


def _with_resamples(
    splits: Sequence[Scores], moment: int, draws: int
) -> tuple[FloatArray, FloatArray]:
    """Return diversity and recall at a round: of all users, then of each resample, (1 + draws,)."""
    drawn = [drawn_means(scores, number, draws) for number, scores in enumerate(splits)]
    at = moment - 1
    recall = np.mean([scores.mean_recall[at] for scores in splits])
    diversity = np.mean([scores.mean_diversity[at] for scores in splits])
    return (
        np.append(diversity, np.mean([spread[:, at] for _, spread in drawn], axis=0)),
        np.append(recall, np.mean([level[:, at] for level, _ in drawn], axis=0)),
    )


def _is_under(b: tuple[float, float], a: tuple[float, float], c: tuple[float, float]) -> bool:
    """Whether b lies on or under the straight line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) >= (c[0] - a[0]) * (b[1] - a[1])
