"""Rewards outside lists: every policy takes them, as rewards of items with nothing above them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.policies.making import LMDP_ITEMS, Make, catalogue_of, make_named, played
from variegate import LMDH, Catalogue, Recommender
from variegate.errors import InputError

LEARNERS = [
    *("lmdp", "lmdt", "lmdh", LMDP_ITEMS, "c2ucb", "dc2b", "lsb", "linucb", "comblinucb"),
    "comblints",
]


def test_it_equals_a_list_of_one_item(make: Make, catalogue: Catalogue) -> None:
    listed, alone = played(make(catalogue)), played(make(catalogue))

    listed.update(listed.as_slate(np.array([5]), np.zeros(1)), [0.75])
    alone.learn_relevance([5], [0.75])

    assert alone.state() == listed.state()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_likes_it_more_than_before(name: str) -> None:
    catalogue = catalogue_of(m=1)
    policy = make_named(name, catalogue)
    before = policy.explain(policy.items_alone([3])).relevance[0]

    policy.learn_relevance([3, 3], [1.0, 1.0])

    assert policy.explain(policy.items_alone([3])).relevance[0] > before


def test_ease_counts_it_as_clicked() -> None:
    policy = make_named("ease", catalogue_of(m=1))

    policy.learn_relevance([3, 3], [0.5, 1.0])

    assert policy.state().arrays["clicked"].tolist() == [[3.0, 1.0]]


@pytest.mark.parametrize("name", ["lmdp", "lmdh", LMDP_ITEMS])
def test_it_says_nothing_of_the_desired_diversity(name: str) -> None:
    policy = make_named(name, catalogue_of(m=2))
    before = policy.preferences

    policy.learn_relevance([1, 4, 6], [1.0, 0.0, 0.5])

    after = policy.preferences
    assert np.allclose(after.diversity, before.diversity, rtol=0, atol=1e-12)
    assert np.allclose(after.diversity_interval, before.diversity_interval, rtol=0, atol=1e-12)
    assert policy.total_diversity_likelihood() == (0.0, np.inf)


@pytest.mark.parametrize("name", ["lmdh", "lmdp", LMDP_ITEMS])
def test_neither_attention_nor_forgetting_apply(name: str) -> None:
    catalogue = catalogue_of(m=1)
    plain = make_named(name, catalogue)
    model = make_named(name, catalogue, attention=[0.5, 0.25], forgetting=0.5)
    for policy in (plain, model):
        policy.learn_relevance([2], [1.0])
        policy.learn_relevance([7, 8], [1.0, 0.0])

    assert model.state() == plain.state()


def test_later_lists_let_it_be_forgotten() -> None:
    policy = LMDH(catalogue_of(m=1), forgetting=0.5)
    policy.learn_relevance([2], [1.0])
    known = policy.state().arrays["response"].copy()

    policy.update(policy.recommend(2), [0.0, 0.0])

    assert policy.state().arrays["response"].tolist() == (0.5 * known).tolist()


def test_the_features_of_that_time_count() -> None:
    catalogue = catalogue_of(m=1)
    policy, other = LMDH(catalogue), LMDH(catalogue)
    then = policy.items_alone([4])
    policy.learn_relevance(replace(then, relevance=2.0 * then.relevance), [1.0])
    other.learn_relevance([4], [1.0])

    ours, theirs = policy.state().arrays["response"], other.state().arrays["response"]
    assert ours.tolist() == (2.0 * theirs).tolist()


@pytest.mark.parametrize(
    ("items", "rewards", "message"),
    [
        ([12], [1.0], "`items` must hold rows from 0 to 11, got 12"),
        (["item 1"], [1.0], "`items` must be a list of row numbers or a mask"),
        ([1, 2], [1.0], "`rewards` must have one number for each of 2 items, got 1"),
        ([1], [1.5], "`rewards` must lie from 0 to 1, got 1.5"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_learnt(
    make: Make, catalogue: Catalogue, items: list[int], rewards: list[float], message: str
) -> None:
    policy = played(make(catalogue))
    before = policy.state()

    with pytest.raises(InputError, match=message):
        policy.learn_relevance(items, rewards)

    assert policy.state() == before


def test_a_list_is_for_update() -> None:
    policy = LMDH(catalogue_of(m=1))

    with pytest.raises(InputError, match=r"a list whose items have diversity gains: `update`"):
        policy.learn_relevance(policy.recommend(3), [1.0, 1.0, 1.0])


def test_a_recommender_learns_for_a_user_who_may_be_new() -> None:
    catalogue = catalogue_of(m=1)
    recommender = Recommender(catalogue, "lmdh")

    recommender.learn_relevance("ana", catalogue.rows(["item 3"]), [1.0])
    with pytest.raises(InputError):
        recommender.learn_relevance("ben", [99], [1.0])

    policy = LMDH(catalogue)
    policy.learn_relevance([3], [1.0])
    assert list(recommender.users) == ["ana"]
    assert recommender.policy("ana").state() == policy.state()
