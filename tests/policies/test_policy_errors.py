"""Bad input and bad options: a clear message, and the policy unchanged."""

from typing import Any

import numpy as np
import pytest

from tests.policies.making import LMDP_ITEMS, Make, catalogue_of, grown, played
from variegate import POLICIES, Catalogue, Dial, Policy, make_policy
from variegate.errors import InputError, NotFoundError

WITH_DIAL = {LMDP_ITEMS, "lmdp", "lmdt", "lmdh", "lmdh-greedy"}
#: One that learns by ridge regression, one that learns otherwise, one that does not learn. The
#: checks are the base class's; that an error changes nothing is tested for every policy below.
each_kind = pytest.mark.parametrize("name", ["lmdp", "linucb", "mmr"])
NUMBER = r"`k` must be from 1 to 12 \(the candidates\), got"


@each_kind
@pytest.mark.parametrize(
    ("k", "words"),
    [
        (0, rf"{NUMBER} 0"),
        (-3, rf"{NUMBER} -3"),
        (13, rf"{NUMBER} 13"),
        (2.5, r"`k` must be a whole number, got 2\.5"),
        ("3", r"`k` must be a whole number, got '3'"),
        (None, r"`k` must be a whole number, got None"),
    ],
)
def test_a_wrong_k(make: Make, catalogue: Catalogue, k: Any, words: str) -> None:
    policy = played(make(catalogue))
    before = policy.state()

    with pytest.raises(InputError, match=words):
        policy.recommend(k, rng=0)

    assert policy.state() == before


def test_a_mistake_changes_nothing(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))
    before, slate = policy.state(), policy.recommend(4, rng=0)

    with pytest.raises(InputError, match="`k` must be from 1 to 12"):
        policy.recommend(13, rng=0)
    with pytest.raises(InputError, match="`rewards` must lie from 0 to 1"):
        policy.update(slate, [0, 1, 0, 2])
    with pytest.raises(InputError, match="`seen` must hold distinct positions"):
        policy.update(slate, [0, 1, 0, 1], seen=[4])

    assert policy.state() == before


def test_more_items_than_are_left(make: Make, catalogue: Catalogue) -> None:
    policy = make(catalogue)

    with pytest.raises(InputError, match=r"`k` must be from 1 to 2 \(the candidates\), got 3"):
        policy.recommend(3, candidates=[1, 2, 3], exclude=[2])


@each_kind
@pytest.mark.parametrize("name_of", ["candidates", "exclude"])
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([0, 12], r"must hold rows from 0 to 11, got 12"),
        ([-1], r"must hold rows from 0 to 11, got -1"),
        (["item 3"], r"must be a list of row numbers or a mask, got <U6 .* catalogue\.rows\(ids\)"),
        ([1.0, 2.0], r"must be a list of row numbers or a mask, got float64"),
        ([[1, 2]], r"must be a list of row numbers or a mask, got int64 of shape \(1, 2\)"),
        ([True, False], r"as a mask must have shape \(12,\), got \(2,\)"),
    ],
)
def test_wrong_candidates(
    make: Make, catalogue: Catalogue, name_of: str, rows: Any, words: str
) -> None:
    with pytest.raises(InputError, match=f"`{name_of}` {words}"):
        make(catalogue).recommend(1, **{name_of: rows})


@each_kind
@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        ([1, 0, 1], r"`rewards` must have one number for each of 4 items, got 3"),
        ([], r"`rewards` must have one number for each of 4 items, got 0"),
        ([[1, 0, 1, 0]], r"`rewards` must have 1 axes, got shape \(1, 4\)"),
        (1.0, r"`rewards` must have 1 axes, got shape \(\)"),
        ([0, 1, np.nan, 0], r"`rewards` must be finite, got nan at \[2\]"),
        ([0, 1, 0, None], r"`rewards` must be finite, got nan at \[3\]"),
        ([0, np.inf, 0, 0], r"`rewards` must be finite, got inf at \[1\]"),
        ([0, 1.5, 0, 0], r"`rewards` must lie from 0 to 1, got 1\.5"),
        ([0, 0, 0, -0.1], r"`rewards` must lie from 0 to 1, got -0\.1"),
        (["liked", "", "", ""], r"`rewards` must be an array of numbers: .*'liked'"),
    ],
)
def test_wrong_rewards(make: Make, catalogue: Catalogue, rewards: Any, words: str) -> None:
    policy = played(make(catalogue))
    before, slate = policy.state(), policy.recommend(4, rng=0)

    with pytest.raises(InputError, match=words):
        policy.update(slate, rewards)

    assert policy.state() == before


@each_kind
@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ([True, False], r"`seen` as a mask must have shape \(4,\), got \(2,\)"),
        ([0, 4], r"`seen` must hold distinct positions from 0 to 3, got \[0, 4\]"),
        ([-1], r"`seen` must hold distinct positions from 0 to 3, got \[-1\]"),
        ([2, 2], r"`seen` must hold distinct positions from 0 to 3, got \[2, 2\]"),
        ([[0, 1]], r"`seen` must be a list of positions or a mask, got int64 of shape \(1, 2\)"),
        ([0.0, 1.0], r"`seen` must be a list of positions or a mask, got float64"),
        (["item 3"], r"`seen` must be a list of positions or a mask, got <U6"),
    ],
)
def test_wrong_positions_seen(make: Make, catalogue: Catalogue, seen: Any, words: str) -> None:
    policy = played(make(catalogue))
    before, slate = policy.state(), policy.recommend(4, rng=0)

    with pytest.raises(InputError, match=words):
        policy.update(slate, [1, 0, 1, 0], seen=seen)

    assert policy.state() == before


@each_kind
@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            catalogue_of(1, called="film"),
            r"`slate` has 'film \d+' in row \d+, and Catalogue\(12 items.* from another catalogue",
        ),
        (catalogue_of(1, d=5), r"`slate` must have features .* got \(12, 5\) and \(12, 1\): it is"),
        (catalogue_of(0), r"`slate` must have features .* got \(12, 4\) and \(12, 0\): it is"),
        (catalogue_of(4), r"`slate` must have features .* got \(12, 4\) and \(12, 4\): it is"),
        (grown(catalogue_of(1), more=4), r"`slate` has 'new \d+' in row 1[2-5], and "),
    ],
    ids=["ids", "features", "no distance", "more distances", "items not here yet"],
)
def test_the_slate_of_another_catalogue(
    make: Make, catalogue: Catalogue, other: Catalogue, words: str
) -> None:
    policy = played(make(catalogue))
    slate = make(other).recommend(12, candidates=range(len(other) - 12, len(other)), rng=0)
    before = policy.state()

    with pytest.raises(InputError, match=words):
        policy.update(slate, np.ones(12))
    with pytest.raises(InputError, match=words):
        policy.explain(slate)

    assert policy.state() == before


@pytest.mark.parametrize("name", ["lmdt", "epsilon-greedy", "dc2b", "comblints", "uniform"])
def test_an_rng_that_is_none(make: Make, catalogue: Catalogue) -> None:
    with pytest.raises(InputError, match=r"`rng` must be a numpy Generator or a seed, got 'dice'"):
        make(catalogue).recommend(2, rng="dice")


@pytest.mark.parametrize("name", sorted(set(POLICIES) - WITH_DIAL))
def test_a_dial_for_a_policy_that_takes_none(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))
    words = rf"`dial` must be None for {policy.name}, .*: lmdp, lmdt, lmdh, lmdh-greedy accept one"

    with pytest.raises(InputError, match=words):
        policy.recommend(2, rng=0, dial=Dial())
    with pytest.raises(InputError, match=words):
        policy.explain(policy.recommend(2, rng=0), dial=Dial())


def test_a_dial_that_is_none(make: Make, catalogue: Catalogue) -> None:
    policy: Any = make(catalogue)

    with pytest.raises(InputError, match=r"`dial` must be a Dial or None, got 0\.5"):
        policy.recommend(2, rng=0, dial=0.5)


def test_a_wrong_normaliser(make: Make, catalogue: Catalogue) -> None:
    with pytest.raises(NotFoundError, match=r"`normaliser` must be .*: did you mean 'growing'\?"):
        make(catalogue, normaliser="groing")


def test_an_unknown_policy_names_the_nearest(catalogue: Catalogue) -> None:
    with pytest.raises(NotFoundError, match=r"got 'lmhd': did you mean 'lmdh'\?"):
        make_policy("lmhd", catalogue)


def test_an_unknown_option_names_the_nearest(make: Make, catalogue: Catalogue, name: str) -> None:
    words = rf"`option of {name.split()[0]}` .* mean 'normaliser'\?"
    with pytest.raises(NotFoundError, match=words):
        make(catalogue, normalizer="none")


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
