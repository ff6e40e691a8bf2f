"""What each candidate adds, kept up to date as the list grows."""

import numpy as np
import pytest

from variegate import Catalogue
from variegate.model.gains import Gains, Normaliser, normalising_factor


@pytest.mark.parametrize(
    ("normaliser", "factors"),
    [
        ("none", [1.0, 1.0, 1.0, 1.0]),
        ("fixed", [1 / 6, 1 / 6, 1 / 6, 1 / 6]),
        ("growing", [1.0, 1.0, 1 / 3, 1 / 6]),
    ],
)
def test_the_factor_at_each_position_of_four(normaliser: Normaliser, factors: list[float]) -> None:
    found = [normalising_factor(normaliser, position, 4) for position in (1, 2, 3, 4)]

    assert found == pytest.approx(factors)


@pytest.mark.parametrize("normaliser", ["none", "fixed", "growing"])
def test_a_list_of_one_is_not_scaled(normaliser: Normaliser) -> None:
    assert normalising_factor(normaliser, 1, 1) == 1.0


def line() -> Catalogue:
    """Return four points on a line, at 0, 1, 3 and 7."""
    return Catalogue("abcd".__iter__(), [[0.0], [1.0], [3.0], [7.0]], "euclidean")


def test_relevance_stays_and_diversity_grows() -> None:
    gains = Gains(line(), np.array([0, 1, 2, 3]), 3, "none")

    assert gains.x.ravel().tolist() == [0.0, 0.0, 0.0, 0.0]
    gains.take(0)
    assert gains.x.ravel().tolist() == [0.0, 1.0, 3.0, 7.0]
    gains.take(3)
    assert gains.x.ravel().tolist() == [7.0, 7.0, 7.0, 7.0]
    assert gains.z.ravel().tolist() == [0.0, 1.0, 3.0, 7.0]
    assert gains.taken == 2


def test_candidates_are_numbered_by_their_place() -> None:
    gains = Gains(line(), np.array([3, 1]), 2, "none")

    gains.take(0)

    assert gains.x.ravel().tolist() == [0.0, 6.0]


def test_fresh_gains_have_nothing_taken_and_leave_the_first_alone() -> None:
    gains = Gains(line(), np.arange(4), 3, "none")
    gains.take(0)

    fresh = gains.fresh()
    fresh.take(3)

    assert fresh.x.ravel().tolist() == [7.0, 6.0, 4.0, 0.0]
    assert gains.x.ravel().tolist() == [0.0, 1.0, 3.0, 7.0]


@pytest.mark.parametrize("normaliser", ["none", "fixed", "growing"])
@pytest.mark.parametrize("distances", [[], ["euclidean"], ["euclidean", "cosine"]])
def test_lists_at_once_are_lists_one_by_one(normaliser: Normaliser, distances: list[str]) -> None:
    rng = np.random.default_rng(0)
    catalogue = Catalogue(range(6), rng.normal(size=(6, 2)), distances)
    lists = np.array([rng.permutation(6)[:4] for _ in range(9)])
    gains = Gains(catalogue, np.arange(6), 4, normaliser)

    at_once = gains.of_lists(lists)

    def one_by_one(places: list[int]) -> list[list[float]]:
        alone, found = gains.fresh(), []
        for place in places:
            found.append(alone.x[place].tolist())
            alone.take(place)
        return found

    expected = np.array([one_by_one(places) for places in lists.tolist()])
    np.testing.assert_allclose(at_once, expected.reshape(at_once.shape), rtol=1e-13, atol=1e-15)
