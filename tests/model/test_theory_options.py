"""The confidence width and the regret bound refuse what they are not defined for."""

from typing import Any

import pytest

from variegate import Confidence, confidence_width, regret_bound
from variegate.errors import InputError, NotFoundError
from variegate.model.theory import check_exploration


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": 0}, r"`size` must be a number greater than 0, got 0"),
        ({"observations": -1}, r"`observations` must be a number of at least 0, got -1"),
        ({"ridge": 0.0}, r"`ridge` must be a number greater than 0, got 0\.0"),
        ({"ridge": float("inf")}, r"`ridge` must be a number greater than 0, got inf"),
        ({"delta": 0.0}, r"`delta` must be a number greater than 0, got 0\.0"),
        ({"delta": 1.5}, r"`delta` must be a number from 0 to 1, got 1\.5"),
        ({"preference_norm": -1.0}, r"`preference_norm` must be a number of at least 0, got -1"),
        ({"feature_norm": 0.0}, r"`feature_norm` must be a number greater than 0, got 0"),
        ({"ridge": "50"}, r"`ridge` must be a number greater than 0, got '50'"),
    ],
)
def test_a_width_that_is_not_defined(changes: dict[str, Any], words: str) -> None:
    right: dict[str, Any] = {"size": 11, "observations": 300, "ridge": 50.0}

    with pytest.raises(InputError, match=words):
        confidence_width(**(right | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rounds": 0}, r"`rounds` must be a number greater than 0, got 0"),
        ({"k": 0}, r"`k` must be a number greater than 0, got 0"),
        ({"gamma": 0.0}, r"`gamma` must be a number greater than 0, got 0\.0"),
        ({"ridge": -1.0}, r"`ridge` must be a number greater than 0, got -1\.0"),
        ({"delta": 2.0}, r"`delta` must be a number from 0 to 1, got 2\.0"),
    ],
)
def test_a_bound_that_is_not_defined(changes: dict[str, Any], words: str) -> None:
    right: dict[str, Any] = {"size": 11, "rounds": 30, "k": 10, "ridge": 50.0}

    with pytest.raises(InputError, match=words):
        regret_bound(**(right | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"delta": 0.0}, r"`delta` must be a number greater than 0, got 0\.0"),
        ({"delta": 1.1}, r"`delta` must be a number from 0 to 1, got 1\.1"),
        ({"preference_norm": -1.0}, r"`preference_norm` must be a number of at least 0"),
        ({"observations": -3}, r"`observations` must be a number of at least 0, got -3"),
    ],
)
def test_a_confidence_that_is_none(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Confidence(**changes)


def test_exploration_is_a_number_or_theory() -> None:
    assert check_exploration(2) == 2.0
    assert check_exploration("theory") == Confidence()
    assert check_exploration(Confidence(delta=0.1)) == Confidence(delta=0.1)


def test_exploration_below_zero() -> None:
    with pytest.raises(InputError, match=r"`exploration` must be a number of at least 0, got -1"):
        check_exploration(-1.0)


def test_exploration_by_an_unknown_word() -> None:
    with pytest.raises(NotFoundError, match=r"`exploration` must be .* did you mean 'theory'\?"):
        check_exploration("teory")
