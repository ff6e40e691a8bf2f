"""Descriptions of items and of what was learnt."""

import numpy as np
import pytest

from tests.demo.making import boxes, many_boxes
from variegate import LMDH, Catalogue, make_policy
from variegate.demo import (
    Contrast,
    Session,
    WeightEstimate,
    distinguishing_distances,
    diversity_evidence,
    learnt_taste,
    mean_distances_above,
    short_values,
    shown_attributes,
    typical_distances,
)
from variegate.demo.session import contrast


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", "b", "c", "d"], ("a", "b", "c")),
        ({"b", "a"}, ("a", "b")),
        ([], ()),
        (None, ()),
        ("", ()),
        (1999, ("1999",)),
        (0.25, ("0.25",)),
        (12.0, ("12",)),
        ("two\nlines", ("two lines",)),
        ("x" * 50, ("x" * 39 + "…",)),
    ],
)
def test_values_are_short(value: object, expected: tuple[str, ...]) -> None:
    assert short_values(value) == expected


def test_attributes_that_a_distance_is_named_after_are_shown() -> None:
    assert shown_attributes(boxes()) == ("colour", "size")


def test_without_such_a_distance_the_first_attributes_are_shown() -> None:
    columns = {name: [1, 2] for name in ("one", "two", "three", "four")}
    plain = Catalogue(["a", "b"], [[1.0], [2.0]], "euclidean", attributes=columns)
    assert shown_attributes(plain) == ("one", "two", "three")
    assert shown_attributes(plain, max_names=1) == ("one",)


def test_distances_above_are_plain_means() -> None:
    above = mean_distances_above(boxes(), np.array([0, 1, 5]))
    np.testing.assert_allclose(above[1:], [[0.0, 0.2], [1.0, 0.9]])
    assert np.isnan(above[0]).all()


def test_typical_distances_are_the_mean_of_all_pairs_of_a_small_catalogue() -> None:
    # Nine of fifteen pairs differ in colour; sizes are 7/3 apart on average, of a spread of 5.
    np.testing.assert_allclose(typical_distances(boxes()), [9 / 15, 7 / 15])


def test_typical_distance_of_a_single_item_is_zero() -> None:
    np.testing.assert_array_equal(typical_distances(Catalogue(["a"], [[1.0]], "cosine")), [0.0])


def test_new_is_what_even_the_nearest_above_is_far_from() -> None:
    catalogue = boxes()
    named = distinguishing_distances(
        catalogue, np.array([0, 1, 5, 3]), typical_distances(catalogue)
    )
    # The fourth has the colour of the third, and the size of none, but not by far.
    assert named == [(), (), ("size", "colours"), ()]


def test_at_most_so_many_are_named() -> None:
    catalogue = boxes()
    named = distinguishing_distances(
        catalogue, np.array([0, 5]), typical_distances(catalogue), max_names=1
    )
    assert [len(names) for names in named] == [0, 1]


@pytest.mark.parametrize(
    ("belief", "is_sure", "strength"),
    [
        (WeightEstimate("x", 0.5, 0.1, 0.9), True, 1.25),
        (WeightEstimate("x", -0.5, -0.9, -0.1), True, 1.25),
        (WeightEstimate("x", 0.1, -0.3, 0.5), False, 0.25),
        (WeightEstimate("x", 0.0, 0.0, 0.0), False, 0.0),
        (WeightEstimate("x", 0.2, 0.2, 0.2), True, 1.0),
    ],
)
def test_a_belief_is_sure_when_its_interval_leaves_zero_out(
    belief: WeightEstimate, is_sure: bool, strength: float
) -> None:
    assert belief.is_sure is is_sure
    assert belief.strength == pytest.approx(strength)


def red_picker(lists: int) -> Session:
    session = Session(LMDH(many_boxes(), ridge=4.0, exploration=0.3), k=4)
    for _ in range(lists):
        slate = session.slate()
        session.answer([p for p, item in enumerate(slate.ids) if int(item) % 2 == 0])
    return session


def test_taste_is_a_lean_first_and_sure_later() -> None:
    early, late = learnt_taste(red_picker(1).policy), learnt_taste(red_picker(6).policy)

    assert early.likes == ()
    assert [belief.name for belief in early.leans][:1] == ["red"]
    assert [belief.name for belief in late.likes] == ["red"]
    assert late.avoids == ()


def test_what_is_refused_again_and_again_is_passed_by() -> None:
    # One feature is liked, the other cancels it: only a negative weight can express that.
    items = Catalogue(range(80), [[1.0, 0.0], [1.0, 1.0]] * 40, [], feature_names=["base", "salt"])
    session = Session(LMDH(items, ridge=1.0), k=8)
    for _ in range(10):
        slate = session.slate()
        session.answer([p for p, item in enumerate(slate.ids) if int(item) % 2 == 0])

    taste = learnt_taste(session.policy)

    assert [belief.name for belief in taste.likes] == ["base"]
    assert [belief.name for belief in taste.avoids] == ["salt"]
    assert taste.leans == ()


@pytest.mark.parametrize("name", ["popular", "uniform", "linucb"])
def test_a_policy_without_weights_has_nothing_to_say(name: str) -> None:
    session = Session(make_policy(name, many_boxes()), k=4, rng=0)
    session.answer([0])
    assert learnt_taste(session.policy).is_empty
    assert [variety.weight.strength for variety in diversity_evidence(session)] == [0.0]


def test_groups_are_cut_to_the_strongest() -> None:
    session = Session(LMDH(Catalogue(range(3), np.eye(3), []), ridge=3.0), k=3)
    session.answer(range(3))
    assert [len(learnt_taste(session.policy, max_weights=most).leans) for most in (1, 5)] == [1, 3]


@pytest.mark.parametrize(
    ("picked", "passed", "expected"),
    [
        ([1.0, 1.0, 1.0], [0.1, 0.2, 0.3], Contrast.FARTHER),
        ([0.1, 0.2, 0.3], [1.0, 1.0, 1.0], Contrast.CLOSER),
        ([0.1, 0.9, 0.5], [0.2, 0.8, 0.6], Contrast.SAME),
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], Contrast.SAME),
        ([1.0, 1.0], [0.1, 0.2, 0.3], Contrast.UNKNOWN),
        ([], [0.1, 0.2, 0.3], Contrast.UNKNOWN),
    ],
)
def test_contrast_needs_a_clear_difference(
    picked: list[float], passed: list[float], expected: Contrast
) -> None:
    assert contrast(np.array(picked), np.array(passed)) is expected


def test_variety_compares_picks_with_what_was_passed_by() -> None:
    session = Session(LMDH(boxes(), ridge=1.0), k=6)
    items = session.slate().items
    above = mean_distances_above(session.catalogue, items)

    session.answer([1, 2])

    (colours, size) = diversity_evidence(session)
    assert (colours.name, size.name) == ("colours", "size")
    assert colours.picked == pytest.approx(above[1:3, 0].mean())
    assert size.passed == pytest.approx(above[3:, 1].mean())
    np.testing.assert_array_equal(
        [colours.weight.weight, size.weight.weight], session.policy.preferences.diversity
    )


def test_before_any_answer_nothing_is_known_of_variety() -> None:
    (colours, _size) = diversity_evidence(Session(LMDH(boxes()), k=3))
    assert np.isnan(colours.picked)
    assert np.isnan(colours.passed)
    assert colours.contrast is Contrast.UNKNOWN
