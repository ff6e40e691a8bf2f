"""The diversity dial: what it makes of weights, and what LMDH makes of it."""

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policies.making import catalogue_of, played, shown
from variegate import LMDH, Catalogue, Dial, Slate
from variegate.arrays import FloatArray
from variegate.errors import InputError, NotFoundError
from variegate.model.shortlist import Shortlist

NAMES = ("cosine", "genres", "year")
weights = st.floats(-2.0, 2.0)


@pytest.mark.parametrize(
    ("dial", "expected"),
    [
        (Dial(), [-0.5, 0.0, 1.0]),
        (Dial(scale=2.0), [-1.0, 0.0, 2.0]),
        (Dial(scale=0.0), [0.0, 0.0, 0.0]),
        (Dial(floor=0.25), [0.25, 0.25, 1.0]),
        (Dial(ceiling=0.5), [-0.5, 0.0, 0.5]),
        (Dial(ceiling=-1), [-1.0, -1.0, -1.0]),
        (Dial(scale=3.0, floor=-1.0, ceiling=2.0), [-1.0, 0.0, 2.0]),
        (Dial(floor={"genres": 0.2}), [-0.5, 0.2, 1.0]),
        (Dial(floor={"genres": 0.2}, ceiling=0.3), [-0.5, 0.2, 0.3]),
        (Dial(floor=0.1, ceiling={"year": 0.1, "cosine": 4.0}), [0.1, 0.1, 0.1]),
        (Dial(floor={}), [-0.5, 0.0, 1.0]),
    ],
)
def test_weights_under_a_dial(dial: Dial, expected: list[float]) -> None:
    assert dial.applied([-0.5, 0.0, 1.0], NAMES).tolist() == expected


def test_names_are_needed_only_where_bounds_are_by_name() -> None:
    assert Dial(scale=2.0, floor=0.5).applied([0.1]).tolist() == [0.5]
    with pytest.raises(
        InputError, match=r"`names` must name the distances if `ceiling` is a mapping"
    ):
        Dial(ceiling={"genres": 0.5}).applied([0.1])


@given(beta=st.lists(weights, max_size=4), scale=st.floats(0.0, 5.0), floor=weights)
@settings(deadline=None, max_examples=50)
def test_a_dial_is_scaling_and_then_clipping(beta: list[float], scale: float, floor: float) -> None:
    found = Dial(scale=scale, floor=floor, ceiling=floor + 1.0).applied(beta)

    np.testing.assert_array_equal(found, np.clip(scale * np.array(beta), floor, floor + 1.0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scale": -0.1}, r"`scale` must be a number from 0 to 1,000,000, got -0\.1"),
        ({"scale": np.nan}, r"`scale` must be a number from 0 to 1,000,000, got nan"),
        ({"scale": np.inf}, r"`scale` must be a number .* got inf"),
        ({"scale": "2"}, r"`scale` must be a number .* got '2'"),
        ({"scale": True}, r"`scale` must be a number .* got True"),
        (
            {"floor": np.inf},
            r"`floor` must be a number from -1,000,000 to 1,000,000, or .* got inf",
        ),
        ({"floor": {"year": np.nan}}, r"`floor` must be a number .* got nan"),
        ({"floor": {3: 0.1}}, r"`floor` must have the distances' names as keys, got 3"),
        ({"ceiling": "high"}, r"`ceiling` must be a number .* got 'high'"),
        ({"ceiling": 1e7}, r"`ceiling` must be a number .* got 10000000\.0"),
        ({"floor": 0.5, "ceiling": 0.4}, r"`floor` must be at most `ceiling`, got 0\.5 and 0\.4$"),
        (
            {"floor": {"year": 0.5}, "ceiling": {"genres": 0.1, "year": 0.4}},
            r"`floor` must be at most `ceiling`, got 0\.5 and 0\.4 for 'year'",
        ),
        (
            {"floor": 0.5, "ceiling": {"genres": 0.1}},
            r"`floor` must be at most `ceiling`, got 0\.5 and 0\.1 for 'genres'",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_wrong_dial(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Dial(**options)


def test_a_distance_that_nobody_knows_is_reported_the_nearest() -> None:
    policy = LMDH(catalogue_of(4))

    with pytest.raises(NotFoundError, match=r"`floor` .* got 'genre': did you mean 'genres'\?"):
        policy.recommend(2, dial=Dial(floor={"genre": 0.5}))
    with pytest.raises(NotFoundError, match=r"`ceiling` must be one of cosine, genres, year, cou"):
        policy.recommend(2, dial=Dial(ceiling={"price": 0.5}))


@pytest.mark.parametrize(
    ("beta", "names", "words"),
    [
        ([[0.1]], None, r"`beta` must have 1 axes"),
        ([np.nan], None, r"`beta` must be finite"),
        ([0.1, 0.2], ["year"], r"`names` must have 2 entries, got 1"),
    ],
)
def test_weights_that_it_cannot_turn(beta: Any, names: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Dial().applied(beta, names)


def test_a_dial_is_a_value() -> None:
    bounds = {"year": 0.5}
    dial = Dial(floor=bounds)
    bounds["year"] = 9.0

    assert dial == Dial(floor={"year": 0.5}) == pickle.loads(pickle.dumps(dial))  # noqa: S301
    assert dial.applied([0.0], ["year"]).tolist() == [0.5]


@pytest.mark.parametrize("m", [0, 1, 4])
@pytest.mark.parametrize("rounds", [0, 5])
@pytest.mark.parametrize("dial", [Dial(scale=3.0), Dial(floor=0.4), Dial(scale=0.0)], ids=str)
def test_scores_are_the_sum_of_the_explanation(m: int, rounds: int, dial: Dial) -> None:
    policy = played(LMDH(catalogue_of(m), ridge=1.0), rounds)
    slate = policy.recommend(6, dial=dial)

    why = policy.explain(slate, dial=dial)

    total = why.relevance + why.diversity.sum(axis=1) + why.exploration
    np.testing.assert_allclose(total, slate.scores, rtol=1e-11, atol=1e-12)


def test_scale_zero_takes_the_diversity_out_of_the_explanation() -> None:
    policy = played(LMDH(catalogue_of(4), ridge=1.0))
    slate = policy.recommend(6, dial=Dial(scale=0.0))

    why, plainly = policy.explain(slate, dial=Dial(scale=0.0)), policy.explain(slate)

    assert not why.diversity.any()
    assert plainly.diversity.any()
    np.testing.assert_array_equal(why.relevance, plainly.relevance)
    np.testing.assert_array_equal(why.exploration, plainly.exploration)


def test_a_dial_leaves_the_policy_as_it_was() -> None:
    policy = played(LMDH(catalogue_of(4), ridge=1.0))
    before, plain = policy.state(), policy.recommend(5)

    policy.explain(policy.recommend(5, dial=Dial(floor=2.0)), dial=Dial(floor=2.0))

    assert policy.state() == before
    assert shown(policy.recommend(5)) == shown(plain)


def test_feedback_on_a_list_under_a_dial_is_learnt_as_on_any_other() -> None:
    policy = played(LMDH(catalogue_of(1), ridge=1.0))
    slate = policy.recommend(5, dial=Dial(floor=2.0))
    wants = policy.preferences

    policy.update(slate, [1, 0, 1, 0, 1])

    assert not np.array_equal(policy.preferences.diversity, wants.diversity)


def clustered(items: int = 300) -> Catalogue:
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(6, 5))
    near = centres[rng.integers(6, size=items)] + 0.05 * rng.normal(size=(items, 5))
    return Catalogue(range(items), near, "cosine")


def fan_of_one_cluster(catalogue: Catalogue, **options: Any) -> LMDH:
    """Return LMDH after lists on which what is like the first item was clicked."""
    policy = LMDH(catalogue, ridge=1.0, exploration=0.1, **options)
    rng = np.random.default_rng(0)
    for _ in range(10):
        slate = policy.recommend(10, candidates=rng.permutation(len(catalogue))[:60])
        policy.update(slate, catalogue.distances[0].from_item(0)[slate.items] < 0.2)
    return policy


def spread(slate: Slate, catalogue: Catalogue) -> float:
    pairs: FloatArray = catalogue.distances[0].among(slate.items).matrix()
    return float(pairs[np.triu_indices(len(slate), 1)].mean())


def test_the_higher_the_floor_the_farther_apart_the_items() -> None:
    catalogue = clustered()
    policy = fan_of_one_cluster(catalogue)

    spreads = [
        spread(policy.recommend(8, dial=Dial(floor=floor)), catalogue)
        for floor in (-1.0, 1.0, 3.0, 10.0)
    ]

    assert all(lower <= higher for lower, higher in pairwise(spreads))
    assert spreads[-1] > 2.0 * spreads[0]


def test_a_shortlist_is_made_under_the_dial_too() -> None:
    # Items far from the favourite cluster are no candidates until the dial asks for variety.
    catalogue = clustered(4_000)
    shortlist = Shortlist.build(catalogue, cells=60, effort=0.02)
    policy = fan_of_one_cluster(catalogue, shortlist=shortlist)
    plain, varied = policy.recommend(8), policy.recommend(8, dial=Dial(floor=10.0))

    assert len(shortlist) > 2 * len(policy._candidates(np.ones(4_000, dtype=bool), 8))
    assert shown(policy.recommend(8, dial=Dial())) == shown(plain)
    assert spread(varied, catalogue) > 2.0 * spread(plain, catalogue)
    exact = fan_of_one_cluster(catalogue)
    exact.restore(policy.state())
    by_all = exact.recommend(8, dial=Dial(floor=10.0))
    assert varied.scores.sum() == pytest.approx(by_all.scores.sum(), rel=0.02)
