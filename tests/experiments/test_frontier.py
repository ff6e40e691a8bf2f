"""Frontiers: the hull of settings, and points compared with it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.frontier import Frontier, Point, points, recall_at, upper_hull
from tests.experiments.making import made_frontier

numbers = st.floats(0.0, 1.0, allow_nan=False).map(lambda value: round(value, 3))


def points_by_setting(frontier: Frontier, moment: int = 10) -> dict[tuple[str, str], Point]:
    return {(p.method, p.setting): p for p in points(frontier, moment, draws=200)}


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
@settings(deadline=None)
def test_no_setting_lies_above_its_own_hull(found: list[tuple[float, float]]) -> None:
    diversity, recall = np.array(found).T

    hull = upper_hull(diversity, recall)

    assert (recall_at(hull, diversity) >= recall - 1e-12).all()


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
@settings(deadline=None)
def test_hull_falls_ever_steeper(found: list[tuple[float, float]]) -> None:
    xs, ys = upper_hull(*np.array(found).T)

    assert (np.diff(xs) > 0).all()
    slopes = np.diff(ys) / np.diff(xs)
    assert (slopes <= 1e-12).all()
    assert (np.diff(slopes) <= 1e-9).all()


def test_mix_of_two_settings_is_recall_at() -> None:
    hull = upper_hull(np.array([0.4, 0.8]), np.array([0.9, 0.5]))

    assert recall_at(hull, 0.6) == pytest.approx(0.7)
    assert recall_at(hull, 0.1) == 0.9
    assert recall_at(hull, 0.803) == 0.5
    assert recall_at(hull, 0.81) == 0.0


def test_points_under_the_frontier_have_their_margin_in_recall() -> None:
    found = points_by_setting(made_frontier())

    # Between 0.8 at 0.4 and 0.7 at 0.7 lies 0.733 at 0.6.
    assert found["lmdh", "no floor"].margin == pytest.approx(0.133, abs=0.002)
    assert not any(point.is_above for point in found.values())


def test_point_above_the_frontier_is_seen_with_its_interval() -> None:
    found = points_by_setting(made_frontier(mmr={"trade off 1": (0.9, 0.65)}))["mmr", "trade off 1"]

    assert found.is_above
    assert found.is_clearly_above
    assert found.low <= found.margin <= found.high < 0.0


def test_more_diversity_than_ours_is_above_whatever_its_recall() -> None:
    found = points_by_setting(made_frontier(mmr={"trade off 0": (0.1, 0.99)}))["mmr", "trade off 0"]

    assert found.is_clearly_above
    assert found.margin == pytest.approx(-found.recall)


def test_without_our_settings_there_are_no_points() -> None:
    assert points_by_setting({}) == {}
