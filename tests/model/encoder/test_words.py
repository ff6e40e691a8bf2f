"""What was learnt, in words."""

import pytest

from variegate.errors import InputError
from variegate.model.utility import format_weights, top_weights


def test_the_strongest_weights_come_first_whatever_their_sign() -> None:
    assert top_weights([0.1, -0.5, 0.3], ["a", "b", "c"], n=2) == [("b", -0.5), ("c", 0.3)]


def test_weights_of_zero_are_left_out() -> None:
    assert top_weights([0.0, 0.2, 0.0], ["a", "b", "c"]) == [("b", 0.2)]


def test_equally_strong_weights_keep_the_order_of_the_features() -> None:
    assert top_weights([0.2, -0.2], ["a", "b"]) == [("a", 0.2), ("b", -0.2)]


def test_words_have_a_sign_and_two_digits() -> None:
    assert format_weights([("Comedy", 0.312), ("year", -0.1)]) == "Comedy +0.31, year -0.10"


def test_nothing_learnt_is_nothing_stated() -> None:
    assert format_weights(top_weights([0.0, 0.0], ["a", "b"])) == ""


def test_names_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="`names` must have 2 entries, got 1"):
        top_weights([0.1, 0.2], ["a"])


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(InputError, match="`n` must be at least 0, got -1"):
        top_weights([0.1], ["a"], n=-1)
