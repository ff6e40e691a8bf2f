"""Every policy's score can serve any search: it starts anew, and values lists as it says."""

import numpy as np
import pytest

from tests.policies.making import Make, catalogue_of, played
from variegate.model.search import SEARCHES, Scorer


@pytest.fixture(params=[0, 1, 4], ids=lambda m: f"m={m}")
def scorer(make: Make, request: pytest.FixtureRequest) -> Scorer:
    """The score of a policy that has learnt something, for lists of three of twelve."""
    return played(make(catalogue_of(request.param)))._scorer(np.arange(12), 3, 7)


def test_a_fresh_scorer_has_nothing_taken(scorer: Scorer) -> None:
    places = np.array([5, 0, 8])
    first, along = scorer.scores().copy(), scorer.along(places)

    scorer.take(3)
    scorer.take(1)

    assert len(scorer.fresh()) == len(scorer) == 12
    np.testing.assert_array_equal(scorer.fresh().scores(), first)
    np.testing.assert_array_equal(scorer.along(places), along)


def test_a_fresh_scorer_leaves_the_first_alone(scorer: Scorer) -> None:
    scorer.take(3)
    before = scorer.scores().copy()

    scorer.fresh().take(5)

    np.testing.assert_array_equal(scorer.scores(), before)


def test_lists_are_worth_the_scores_along_them(scorer: Scorer) -> None:
    lists = np.array([[0, 1, 2], [2, 1, 0], [11, 4, 7]])

    np.testing.assert_allclose(
        scorer.values(lists), [scorer.along(places).sum() for places in lists], rtol=1e-11
    )


@pytest.mark.parametrize("search", SEARCHES)
def test_any_search_serves(scorer: Scorer, search: str) -> None:
    places, scores = SEARCHES[search](scorer, 3)

    assert len(set(places.tolist())) == 3
    np.testing.assert_allclose(scores, scorer.along(places), rtol=1e-11, atol=1e-13)
