"""Coordinate descent: one setting at a time, from the defaults."""

from collections.abc import Callable, Sequence
from typing import Final

from variegate.evaluation.choosing.chosen import Candidate
from variegate.evaluation.choosing.settings import LearnerSettings
from variegate.evaluation.choosing.space import Coordinate

#: A setting is changed for a better score by more than this alone: a tenth of a percent of LMDH's
#: F1, less than what is known of it.
LEAST_GAIN: Final = 0.001

#: Scores settings; also told which setting is being looked at.
Judge = Callable[[Sequence[LearnerSettings], str], Sequence[Candidate]]


def coordinate_descent(
    judge: Judge, start: LearnerSettings, searched: Sequence[Coordinate], *, passes: int
) -> tuple[Candidate, ...]:
    """Return all that was tried, the best first, then in the order in which it was tried.

    Every value of one setting is tried beside the best so far, then of the next. When a pass
    through all of them changes nothing, or after `passes`, it ends. Of values with the same
    score the nearest to the present one wins, and of two as near the lower.
    """
    (best,) = judge([start], "defaults")
    tried = {start: best}
    for _ in range(passes):
        before = best
        for coordinate in searched:
            rivals = coordinate.others(best.settings)
            fresh = [settings for settings in rivals if settings not in tried]
            if fresh:
                tried |= zip(fresh, judge(fresh, coordinate.name), strict=True)
            # Of equals, max takes the first.
            rival = max((tried[one] for one in rivals), key=lambda one: one.score, default=best)
            if rival.score > best.score + LEAST_GAIN:
                best = rival
        if best is before:
            break
    return (best, *(one for one in tried.values() if one is not best))
