"""Another ranker's scores on one scale: what stays, what changes nothing, what is reported."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate.errors import InputError
from variegate.model.scores import normalise_scores

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=30))
def test_the_order_stays_and_every_number_is_between_minus_1_and_1(scores: list[float]) -> None:
    values = normalise_scores(scores).values

    assert (np.abs(values) <= 1.0).all()
    assert (np.diff(values[np.argsort(scores, kind="stable")]) >= 0.0).all()


def test_the_median_is_0_and_the_quartiles_are_a_half() -> None:
    values = normalise_scores(np.arange(101.0)).values

    assert values[[0, 25, 50, 75, 100]] == pytest.approx([-2 / 3, -0.5, 0.0, 0.5, 2 / 3])


@pytest.mark.parametrize(("factor", "added"), [(1000.0, 0.0), (1e-9, 0.0), (3.0, -50.0)])
def test_the_scale_of_the_scores_does_not_matter(factor: float, added: float) -> None:
    scores = np.random.default_rng(0).normal(size=50)

    np.testing.assert_allclose(
        normalise_scores(factor * scores + added).values,
        normalise_scores(scores).values,
        atol=1e-9,
    )


def test_the_top_has_no_ties() -> None:
    scores = np.linspace(0.0, 1.0, 200)
    scores[-1] = 1e6

    top = normalise_scores(scores).values[-5:]

    assert (np.diff(top) > 0.0).all()


def test_one_extreme_score_changes_the_others_little() -> None:
    scores = np.random.default_rng(0).normal(size=200)
    with_extreme = np.append(scores, -3.4e38)  # what implicit gives an item that it filters

    changes = normalise_scores(with_extreme).values[:-1] - normalise_scores(scores).values

    assert np.abs(changes).max() < 0.02


def test_scores_that_are_mostly_equal_keep_their_order() -> None:
    values = normalise_scores([0.0] * 20 + [1.0, 2.0]).values

    assert values[0] == 0.0
    assert 0.0 < values[20] < values[21] < 1.0


def test_a_missing_score_counts_as_the_median_and_is_told() -> None:
    found = normalise_scores([1.0, None, 2.0, np.nan, 3.0])

    assert found.values[[1, 3]].tolist() == [0.0, 0.0]
    assert found.values[[0, 2, 4]].tolist() == normalise_scores([1.0, 2.0, 3.0]).values.tolist()
    assert found.notes == ("2 of 5 candidates have no score: they count as the median",)


@pytest.mark.parametrize(
    ("scores", "notes"),
    [
        ([7.0, 7.0], ("all scores are equal: they do not order the candidates",)),
        ([7.0], ()),
        ([np.nan], ("1 of 1 candidates has no score: it counts as the median",)),
        ([], ()),
    ],
)
def test_scores_that_say_nothing_are_zeros(scores: list[float], notes: tuple[str, ...]) -> None:
    found = normalise_scores(scores)

    assert found.values.tolist() == [0.0] * len(scores)
    assert found.notes == notes


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, np.inf], r"`scores` must be finite, or None for a missing one, got inf at 1"),
        (["high"], r"`scores` must be numbers, None for a missing one: could not convert"),
        ([[1.0]], r"`scores` must have 1 axis, got shape \(1, 1\)"),
    ],
)
def test_other_scores_are_an_error(scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        normalise_scores(scores)
