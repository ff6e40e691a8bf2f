"""Coordinate descent on scores that are known."""

from collections.abc import Callable, Sequence

import pytest

from variegate.evaluation.choosing import Candidate, LearnerSettings
from variegate.evaluation.choosing.search import LEAST_GAIN, coordinate_descent
from variegate.evaluation.choosing.space import Coordinate

#: Set out from, whatever the defaults are
START = LearnerSettings(exploration=0.25, full=0.8)
SEARCHED = (
    Coordinate("full", (0.4, 0.8, 1.2)),
    Coordinate("exploration", (0.0, 0.25, 0.5)),
)


class Judge:
    """Scores settings by a function, and remembers what it was asked."""

    def __init__(self, score: Callable[[LearnerSettings], float]) -> None:
        self.score = score
        self.asked: list[tuple[str, list[LearnerSettings]]] = []

    def __call__(self, settings: Sequence[LearnerSettings], doing: str) -> list[Candidate]:
        self.asked.append((doing, list(settings)))
        return [Candidate(one, {"made": self.score(one)}, (), 0.0) for one in settings]


def test_the_best_of_each_setting_is_kept_while_the_next_is_searched() -> None:
    judge = Judge(lambda s: -abs(s.full - 1.2) - abs(s.exploration - 0.5) * s.full)

    found = coordinate_descent(judge, START, SEARCHED, passes=3)

    assert (found[0].settings.full, found[0].settings.exploration) == (1.2, 0.5)
    assert judge.asked[0] == ("defaults", [START])
    assert judge.asked[2][0] == "exploration"
    assert {one.full for one in judge.asked[2][1]} == {1.2}


def test_a_later_pass_goes_on_where_settings_depend_on_each_other() -> None:
    # Only with exploration 0.5 is a floor of 1.2 any good.
    judge = Judge(lambda s: s.exploration + (s.full == 1.2) * (2 * s.exploration - 0.6))

    once = coordinate_descent(judge, START, SEARCHED, passes=1)
    twice = coordinate_descent(judge, START, SEARCHED, passes=3)

    assert (once[0].settings.full, once[0].settings.exploration) == (0.8, 0.5)
    assert (twice[0].settings.full, twice[0].settings.exploration) == (1.2, 0.5)


def test_nothing_is_tried_twice() -> None:
    judge = Judge(lambda s: s.full)

    found = coordinate_descent(judge, START, SEARCHED, passes=5)
    asked = [one for _, batch in judge.asked for one in batch]

    assert len(asked) == len(set(asked)) == len(found)
    assert {one.settings for one in found} == set(asked)


@pytest.mark.parametrize("gain", [0.0, LEAST_GAIN])
def test_settings_stay_where_others_are_hardly_better(gain: float) -> None:
    judge = Judge(lambda s: 1.0 + gain * (s != START))

    found = coordinate_descent(judge, START, SEARCHED, passes=3)

    assert found[0].settings == START


def test_of_values_as_good_the_nearest_and_then_the_lower_wins() -> None:
    searched = (Coordinate("full", (0.2, 0.4, 0.8, 1.2)),)
    judge = Judge(lambda s: float(s.full != 0.8))

    found = coordinate_descent(judge, START, searched, passes=3)

    assert found[0].settings.full == 0.4


def test_nothing_to_search_leaves_the_defaults() -> None:
    (found,) = coordinate_descent(Judge(lambda _: 1.0), START, (), passes=3)

    assert found.settings == START
