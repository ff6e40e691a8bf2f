"""Whether a method's recall lies under what ours reaches at the same diversity.

Giving one part of the users one setting and the rest another reaches, in the mean, every point
between the two: what a method can reach is all under the concave hull of its settings. If every
setting of another method lies under our hull, so does that method's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.beyond.methods import OURS
from variegate.arrays import FloatArray
from variegate.evaluation.bootstrap import DRAWS, drawn_means
from variegate.evaluation.metrics import Scores

#: The rounds at which methods are held against one another.
MOMENTS: Final = (10, 30)

#: So little more than a method's largest diversity is no more: no reader of lists could tell.
NO_MORE: Final = 0.005

#: By method, by setting, one for each split.
Frontier = Mapping[str, Mapping[str, Sequence[Scores]]]


@dataclass(frozen=True)
class Point:
    """One setting of one method at one round, and how far our frontier lies above it."""

    method: str
    setting: str
    moment: int
    diversity: float
    recall: float
    #: Our recall at this diversity less its own, and the 95% interval of it over users
    margin: float
    low: float
    high: float

    @property
    def is_above(self) -> bool:
        """Whether it lies above our frontier."""
        return self.margin < 0.0

    @property
    def is_clearly_above(self) -> bool:
        """Whether it does by its interval too."""
        return self.high < 0.0


def upper_hull(diversity: FloatArray, recall: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of what settings reach, diversity rising and recall falling.

    Less diversity with the recall of more of it is reached as well: a method is never worse off
    for being more varied.

    Examples
    --------
    >>> upper_hull(np.array([0.2, 0.5, 0.6, 0.9]), np.array([0.3, 0.8, 0.5, 0.4]))
    (array([0.5, 0.9]), array([0.8, 0.4]))
    """
    best = int(np.lexsort((-diversity, -recall))[0])
    corners = [(float(diversity[best]), float(recall[best]))]
    rest = sorted(zip(diversity.tolist(), recall.tolist(), strict=True))
    for x, y in [point for point in rest if point[0] > corners[0][0]]:
        while len(corners) > 1 and _turns_up(corners[-2], corners[-1], (x, y)):
            corners.pop()
        corners.append((x, y))
    xs, ys = np.array(corners).T
    return xs, ys


def reached(hull: tuple[FloatArray, FloatArray], diversity: float | FloatArray) -> FloatArray:
    """Return the most recall under a hull at a diversity; none where it does not reach."""
    xs, ys = hull
    there = np.asarray(diversity) <= xs[-1] + NO_MORE
    return np.asarray(np.where(there, np.interp(diversity, xs, ys), 0.0))


def points_of(frontier: Frontier, moment: int, *, draws: int = DRAWS) -> Iterator[Point]:
    """Yield every setting of the other methods, held against our frontier at a round."""
    if OURS not in frontier:
        return
    ours = [_measured(splits, moment, draws) for splits in frontier[OURS].values()]
    hulls = [
        upper_hull(diversity, recall)
        for diversity, recall in zip(
            *np.moveaxis(np.array(ours), (1, 2, 0), (0, 1, 2)), strict=True
        )
    ]
    for method, settings in frontier.items():
        if method == OURS:
            continue
        for setting, splits in settings.items():
            diversity, recall = _measured(splits, moment, draws)
            margins = np.array(
                [reached(hull, x) - y for hull, x, y in zip(hulls, diversity, recall, strict=True)]
            )
            low, high = np.quantile(margins[1:], [0.025, 0.975])
            yield Point(
                method,
                setting,
                moment,
                float(diversity[0]),
                float(recall[0]),
                float(margins[0]),
                float(low),
                float(high),
            )


def _measured(splits: Sequence[Scores], moment: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """Diversity and recall at a round: of the users as they are, then drawn anew, (1 + draws,)."""
    drawn = [drawn_means(scores, number, draws) for number, scores in enumerate(splits)]
    at = moment - 1
    recall = np.mean([scores.mean_recall[at] for scores in splits])
    diversity = np.mean([scores.mean_diversity[at] for scores in splits])
    return (
        np.append(diversity, np.mean([spread[:, at] for _, spread in drawn], axis=0)),
        np.append(recall, np.mean([level[:, at] for level, _ in drawn], axis=0)),
    )


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Whether b lies on or under the straight line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) >= (c[0] - a[0]) * (b[1] - a[1])
