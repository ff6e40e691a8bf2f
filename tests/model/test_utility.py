"""The utility of a list: its value, its gains, and the search for a good one."""

from typing import Any

import numpy as np
import pytest

from variegate import SEARCHES, Catalogue, Utility
from variegate.errors import InputError, NotFoundError
from variegate.model.gains import Normaliser
from variegate.model.utility import known_preferences


def square() -> Catalogue:
    """Return the corners of a square, with the cosine and the Euclidean distance."""
    corners = [[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]]
    return Catalogue("abcd".__iter__(), corners, ["cosine", "euclidean"])


def test_the_parts_of_a_value() -> None:
    taste = Utility(square(), [0.5, 0.0], [1.0, 0.25])

    assert taste.modular([0, 1]).tolist() == [2.0, 0.0]
    np.testing.assert_allclose(taste.dispersion([0, 1, 2]), [4.0, 4.0 + np.sqrt(8.0)])
    assert taste.value([0, 1]) == pytest.approx(0.5 * 2.0 + 1.0 * 1.0 + 0.25 * 2.0)
    np.testing.assert_allclose(taste.gains([0, 2]), [0.5, -0.5 + 2.0 + 0.25 * np.sqrt(8.0)])


def test_an_empty_list_is_worth_nothing() -> None:
    assert Utility(square(), [0.5, 0.0], [1.0, 0.25]).value([]) == 0.0


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_finds_the_one_good_pair(search: str) -> None:
    items = Catalogue(range(4), [[1.0, 0.0], [0.9, 0.0], [0.0, 1.0], [0.1, 0.0]], "cosine")
    taste = Utility(items, [1.0, 1.0], [3.0])

    assert set(taste.best(2, search=search).tolist()) == {0, 2}
    assert taste.best(1, candidates=[3, 1], search=search).tolist() == [1]


def test_preferences_that_are_known_have_no_width() -> None:
    wants = known_preferences([1.0, 2.0], [0.5])

    assert wants.relevance_interval.tolist() == [[1.0, 2.0], [1.0, 2.0]]
    assert wants.diversity_interval.tolist() == [[0.5], [0.5]]
    assert wants.total_diversity == 0.5
    assert wants.total_diversity_interval.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("normaliser", ["none", "fixed"])
def test_the_order_does_not_matter_but_under_growing(normaliser: Normaliser) -> None:
    taste = Utility(square(), [0.5, 0.1], [1.0, 0.25], normaliser=normaliser)

    assert taste.value([3, 0, 1]) == pytest.approx(taste.value([1, 3, 0]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"relevance": [1.0]}, r"`relevance` must have shape \(2,\), got \(1,\)"),
        ({"relevance": [1.0, np.nan]}, r"`relevance` must be finite, got nan at \[1\]"),
        ({"diversity": [1.0]}, r"`diversity` must have shape \(2,\), got \(1,\)"),
        ({"diversity": 1.0}, r"`diversity` must have 1 axes, got shape \(\)"),
    ],
)
def test_wrong_weights(options: dict[str, Any], words: str) -> None:
    right: dict[str, Any] = {"relevance": [1.0, 0.0], "diversity": [1.0, 0.0]}

    with pytest.raises(InputError, match=words):
        Utility(square(), **(right | options))


def test_a_search_that_nobody_knows() -> None:
    taste = Utility(square(), [1.0, 0.0], [1.0, 0.0])

    with pytest.raises(NotFoundError, match=r"`search` must be one of greedy, .*mean 'greedy'\?"):
        taste.best(2, search="gredy")


def test_a_list_longer_than_the_candidates() -> None:
    with pytest.raises(InputError, match=r"`k` must be from 1 to 4 \(the candidates\), got 5"):
        Utility(square(), [1.0, 0.0], [1.0, 0.0]).best(5)
