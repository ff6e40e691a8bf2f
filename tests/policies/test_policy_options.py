"""Options of the policies that make no sense are refused, in words."""

from typing import Any

import numpy as np
import pytest

from variegate import Catalogue, Policy, make_policy
from variegate.errors import InputError, NotFoundError


def made(name: str, **options: Any) -> Policy:
    items = Catalogue(["a", "b", "c"], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], "cosine")
    return make_policy(name, items, **options)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("lmdh", {"ridge": 0.0}, r"`ridge` must be a number greater than 0, got 0\.0"),
        ("lmdh", {"ridge": np.nan}, r"`ridge` must be a number greater than 0, got nan"),
        ("lmdh", {"ridge": True}, r"`ridge` must be a number greater than 0, got True"),
        ("lmdh", {"exploration": -1.0}, r"`exploration` must be a number of at least 0"),
        ("c2ucb", {"ridge": -1.0}, r"`ridge` must be a number greater than 0, got -1\.0"),
        ("c2ucb", {"entropy_weight": -1}, r"`entropy_weight` must be a number of at least 0"),
        ("c2ucb", {"noise_deviation": 0}, r"`noise_deviation` must be a number greater than 0"),
        ("c2ucb", {"prior_variance": 0}, r"`prior_variance` must be a number greater than 0"),
        ("dc2b", {"sharpness": -1}, r"`sharpness` must be a number of at least 0, got -1"),
        ("dc2b", {"prior_precision": 0}, r"`prior_precision` must be a number from 1e-60"),
        ("dc2b", {"hyperprior": (0, 1)}, r"`shape` must be a number greater than 0, got 0"),
        ("dc2b", {"prior_mean": [1.0]}, r"`prior_mean` must have shape \(2,\), got \(1,\)"),
        ("lsb", {"ridge": 0}, r"`ridge` must be a number greater than 0, got 0"),
        ("lsb", {"exploration": -1}, r"`exploration` must be a number of at least 0, got -1"),
        ("lsb", {"topics": [[1.0]]}, r"`topics` must have 3 rows, got 1"),
        ("lsb", {"topics": [[1.0], [2.0], [0.0]]}, r"`topics` must lie from 0 to 1, got .* 2\.0"),
        ("linucb", {"ridge": 0}, r"`ridge` must be a number greater than 0, got 0"),
        ("linucb", {"exploration": -1}, r"`exploration` must be a number of at least 0"),
        ("comblinucb", {"prior_deviation": 0}, r"`prior_deviation` must be a number greater"),
        ("comblinucb", {"noise_deviation": 0}, r"`noise_deviation` must be a number greater"),
        ("comblints", {"exploration": -1}, r"`exploration` must be a number of at least 0"),
        ("epsilon-greedy", {"epsilon": 1.5}, r"`epsilon` must be a number from 0 to 1, got 1\.5"),
        ("mmr", {"trade_off": -0.1}, r"`trade_off` must be a number from 0 to 1, got -0\.1"),
        ("logrank", {"mean_user": [1.0]}, r"`mean_user` must have shape \(2,\), got \(1,\)"),
        ("popular", {"popularity": [1.0]}, r"`popularity` must have 3 numbers, got 1"),
        ("popular", {"popularity": ["x"]}, r"`popularity` must be an array of numbers"),
    ],
)
def test_a_value_that_makes_no_sense(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        made(name, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lmdh", {"search": "local serch"}),
        ("dc2b", {"sharpness_of": "prior"}),
        ("dc2b", {"quality": "logit"}),
        ("dc2b", {"similarity": "angular"}),
        ("dc2b", {"beyond_rank": "stop"}),
        ("mmr", {"similarity": "median"}),
    ],
)
def test_a_choice_that_there_is_not(name: str, options: dict[str, Any]) -> None:
    ((option, value),) = options.items()

    with pytest.raises(NotFoundError, match=rf"`{option}` must be one of .*, got '{value}'"):
        made(name, **options)


def test_popularity_comes_from_the_catalogue_if_not_given() -> None:
    items = Catalogue(["a", "b", "c"], np.eye(3), [], attributes={"popularity": [1, 9, None]})

    assert make_policy("popular", items).recommend(3).ids == ("b", "a", "c")


def test_popularity_that_is_no_number() -> None:
    items = Catalogue(["a", "b"], np.eye(2), [], attributes={"popularity": ["few", "many"]})

    with pytest.raises(InputError, match=r"`attributes\['popularity'\]` must be an array of num"):
        make_policy("popular", items).recommend(1)


def test_lsb_learns_from_its_own_slates_only() -> None:
    policy, foreign = made("lsb"), made("uniform").recommend(2, rng=0)
    before = policy.state()

    with pytest.raises(InputError, match=r"`slate` must carry the coverage of 2 topics, got sh"):
        policy.update(foreign, [1, 0])
    with pytest.raises(InputError, match=r"`slate` must carry the coverage of 2 topics, got sh"):
        policy.explain(foreign)

    assert policy.state() == before


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dc2b", {"sharpness_of": "posterior"}),
        ("dc2b", {"quality": "sigmoid", "similarity": "cosine"}),
        ("dc2b", {"intercept": True, "hyperprior": (1.0, 1.0)}),
        ("dc2b", {"beyond_rank": "jitter", "prior_mean": [0.5, 0.5]}),
        ("lsb", {"topics": [[1.0], [0.0], [0.5]]}),
        ("mmr", {"similarity": "max"}),
        ("c2ucb", {"exploration": "theory", "condition_on_history": True}),
        ("lmdh", {"exploration": "theory"}),
    ],
)
def test_other_options_keep_the_same_promises(name: str, options: dict[str, Any]) -> None:
    policy, twin = made(name, **options), made(name, **options)
    policy.update(policy.recommend(2, rng=0), [1, 0])
    twin.restore(policy.state())

    slate = twin.recommend(3, rng=1)
    parts = policy.explain(slate)

    assert twin.state() == policy.state()
    assert slate.ids == policy.recommend(3, rng=1).ids
    total = parts.relevance + parts.diversity.sum(axis=1) + parts.exploration
    np.testing.assert_allclose(total, slate.scores, rtol=1e-11, atol=1e-12)
