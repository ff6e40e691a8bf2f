"""The least variety that an operator promises."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from variegate import LMDH, LMDP, LMDT, Catalogue, Dial, default_prior
from variegate.errors import InputError
from variegate.policies.floor import Floor, checked_floor
from variegate.policies.lmdp import DEFAULT_PRIOR_FLOOR, FLOOR

ANY = st.floats(0.0, 5.0)


def items(distances: Any = "cosine") -> Catalogue:
    rng = np.random.default_rng(0)
    return Catalogue(range(30), rng.random((30, 3)), distances)


def disliking(floor: Any, distances: Any = "cosine") -> LMDH:
    """Return what learnt that a user clicks on the first item of a list and on no other."""
    policy = LMDH(items(distances), ridge=1.0, exploration=0.0, floor=floor)
    for _ in range(10):
        policy.update(policy.recommend(4), [1, 0, 0, 0])
    return policy


@pytest.mark.parametrize(("seen", "expected"), [(0, 0.2), (50, 0.5), (150, 0.65), (1e12, 0.8)])
def test_a_floor_rises_by_half_in_half(seen: float, expected: float) -> None:
    assert Floor(0.2, 0.8, 50).at(seen) == pytest.approx(expected)


@settings(deadline=None)
@given(ANY, ANY, st.floats(1e-3, 1e6), st.floats(0.0, 1e9))
def test_a_floor_stays_between_its_ends(
    opening: float, full: float, half: float, seen: float
) -> None:
    at = Floor(opening, full, half).at(seen)

    assert min(opening, full) - 1e-12 <= at <= max(opening, full) + 1e-12


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (None, None),
        (0.4, Floor(0.4, 0.4)),
        (1, Floor(1.0, 1.0)),
        ([0.2, 0.8], Floor(0.2, 0.8, 50.0)),
        ((0.2, 0.8, 30), Floor(0.2, 0.8, 30)),
        (Floor(0.1, 0.2), Floor(0.1, 0.2)),
    ],
)
def test_what_an_option_can_say(option: Any, expected: Floor | None) -> None:
    assert checked_floor(option) == expected


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (True, r"`floor` must be a number, \[opening, full\] or .*, got True"),
        ("much", r"`floor` must be a number, .*, got 'much'"),
        ([0.2], r"`floor` must be a number, .*, got \[0\.2\]"),
        ([1, 2, 3, 4], r"`floor` must be a number, .*, got \[1, 2, 3, 4\]"),
        (-0.1, r"`opening` must be a number of at least 0, got -0\.1"),
        (float("nan"), r"`opening` must be a number of at least 0, got nan"),
        ([0.1, float("inf")], r"`full` must be a number of at least 0, got inf"),
        ([0.1, "x"], r"`full` must be a number of at least 0, got 'x'"),
        ([0.1, 0.2, 0], r"`half` must be a number greater than 0, got 0"),
    ],
)
def test_a_floor_that_makes_no_sense(option: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        LMDH(items(), floor=option)


@pytest.mark.parametrize("policy", [LMDP, LMDT])
def test_a_given_floor_is_kept_whichever_object_it_is(policy: type[LMDP]) -> None:
    # It was compared by identity: the constant itself meant "not given", an equal tuple did not.
    same = pickle.loads(pickle.dumps(FLOOR))  # noqa: S301 - made on this line

    assert policy(items(), floor=FLOOR).floor == Floor(*FLOOR)
    assert policy(items(), floor=same).floor == Floor(*FLOOR)


def test_the_automatic_floor_depends_on_the_prior() -> None:
    without, fitted = LMDP(items()), LMDP(items(), prior=default_prior(items()))

    assert (
        without.floor
        == LMDP(items(), floor="auto").floor
        == Floor(DEFAULT_PRIOR_FLOOR, DEFAULT_PRIOR_FLOOR)
    )
    assert fitted.floor == Floor(*FLOOR)
    assert LMDP(items(), floor=None).floor is None


def test_lists_under_a_floor_are_those_of_one_who_cares() -> None:
    plain, floored = disliking(None), disliking(0.7)
    floored.restore(plain.state())
    assert plain.preferences.diversity[0] < 0.0

    without, under = plain.recommend(6), floored.recommend(6)

    assert under.diversity.sum() > without.diversity.sum()
    explained = floored.explain(under)
    np.testing.assert_allclose(explained.diversity, 0.7 * under.diversity)
    np.testing.assert_allclose(explained.relevance + explained.diversity[:, 0], under.scores)


def test_a_floor_does_not_change_what_is_learnt() -> None:
    plain, floored = LMDH(items()), LMDH(items(), floor=2.0)
    slate = plain.recommend(4)

    plain.update(slate, [1, 0, 1, 0])
    floored.update(slate, [1, 0, 1, 0])

    assert plain.state() == floored.state()
    np.testing.assert_array_equal(plain.preferences.diversity, floored.preferences.diversity)


def test_a_floor_below_what_was_learnt_changes_nothing() -> None:
    plain, floored = LMDH(items(), ridge=1.0), LMDH(items(), ridge=1.0, floor=1e-3)
    slate = plain.recommend(4)
    plain.update(slate, [0, 1, 1, 1])
    floored.update(slate, [0, 1, 1, 1])
    assert plain.preferences.diversity[0] > 1e-3

    assert floored.recommend(5).ids == plain.recommend(5).ids


def test_a_floor_is_shared_by_the_distances() -> None:
    policy = disliking(0.9, ["cosine", "euclidean", "angular"])

    weights = policy.explain(slate := policy.recommend(3)).diversity[1] / slate.diversity[1]

    assert policy.preferences.diversity.max() < 0.3
    np.testing.assert_allclose(weights, 0.3)


def test_a_floor_rises_with_the_positions_seen() -> None:
    policy = LMDH(items(), exploration=0.0, floor=[0.2, 0.8, 4])
    slate = policy.recommend(4)
    policy.update(slate, [0, 0, 0, 0])

    found = policy.explain(slate).diversity[:, 0] / np.where(slate.diversity[:, 0], 1, np.nan)

    np.testing.assert_allclose(found[1:] / slate.diversity[1:, 0], 0.5)


def test_without_distances_there_is_nothing_to_hold_up() -> None:
    slate = LMDH(items([]), floor=0.5).recommend(3)

    assert slate.ids == LMDH(items([])).recommend(3).ids


def test_a_dial_has_the_last_word() -> None:
    policy = disliking(0.7)

    slate = policy.recommend(3, dial=Dial(scale=0.0))

    np.testing.assert_array_equal(policy.explain(slate, dial=Dial(scale=0.0)).diversity, 0.0)
