"""What every policy in the registry promises of its lists and scores."""

import pickle
from copy import copy

import numpy as np
import pytest

from tests.policies.making import LMDP_ITEMS, Make, catalogue_of, item_prior, played, shown
from variegate import POLICIES, Catalogue, Dial, make_policy
from variegate.model.gains import Normaliser, normalising_factor
from variegate.model.search import SEARCHES, Scorer

#: Policies that draw; the others give one list whatever the seed.
DRAWING = {"lmdt", "epsilon-greedy", "dc2b", "comblints", "uniform"}
#: Policies that learn weights of distances, and take a dial.
WITH_DIAL = {LMDP_ITEMS, "lmdp", "lmdt", "lmdh", "lmdh-greedy"}

SIZES = pytest.mark.parametrize("m", [0, 4])


@SIZES
@pytest.mark.parametrize("k", [1, 5, 12])
def test_slate_holds_k_distinct_candidates(make: Make, m: int, k: int) -> None:
    slate = played(make(catalogue_of(m))).recommend(k, rng=1)

    assert len(slate) == len(slate.items) == len(set(slate.items)) == k
    assert set(slate.items) <= set(range(12))


def test_only_candidates_given_by_rows_are_chosen(make: Make, catalogue: Catalogue) -> None:
    assert set(make(catalogue).recommend(3, candidates=[7, 2, 11], rng=0).items) == {2, 7, 11}


def test_a_candidate_given_twice_is_one_candidate(make: Make, catalogue: Catalogue) -> None:
    assert set(make(catalogue).recommend(2, candidates=[7, 2, 7], rng=0).items) == {2, 7}


def test_a_mask_says_the_same_as_rows(make: Make, catalogue: Catalogue) -> None:
    policy, mask = played(make(catalogue)), np.zeros(12, dtype=bool)
    mask[[2, 7, 8, 11]] = True

    by_mask = policy.recommend(3, candidates=mask, rng=0)

    assert shown(by_mask) == shown(policy.recommend(3, candidates=[2, 7, 8, 11], rng=0))


def test_excluded_rows_are_not_chosen(make: Make, catalogue: Catalogue) -> None:
    items = make(catalogue).recommend(9, exclude=[0, 5, 11], rng=0).items

    assert set(items) == set(range(12)) - {0, 5, 11}


def test_an_exclusion_mask_says_the_same_as_rows(make: Make, catalogue: Catalogue) -> None:
    policy, mask = played(make(catalogue)), np.zeros(12, dtype=bool)
    mask[[0, 5]] = True

    by_mask = policy.recommend(4, exclude=mask, rng=0)

    assert shown(by_mask) == shown(policy.recommend(4, exclude=[0, 5], rng=0))


def test_exclusion_wins_over_candidates(make: Make, catalogue: Catalogue) -> None:
    items = make(catalogue).recommend(1, candidates=[3, 4], exclude=[3], rng=0).items

    assert items.tolist() == [4]


def test_excluding_nothing_changes_nothing(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))

    assert shown(policy.recommend(4, exclude=[], rng=0)) == shown(policy.recommend(4, rng=0))


@SIZES
def test_weights_of_diversity_are_those_of_the_preferences(make: Make, m: int) -> None:
    policy = played(make(catalogue_of(m)))

    np.testing.assert_array_equal(policy.diversity_weights, policy.preferences.diversity)


def test_the_only_candidate_is_recommended(make: Make) -> None:
    alone = catalogue_of(1, items=1)

    assert make(alone).recommend(1, rng=0).ids == ("item 0",)


def test_the_same_seed_gives_the_same_list(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))

    assert shown(policy.recommend(5, rng=3)) == shown(policy.recommend(5, rng=3))


def test_a_generator_serves_as_well_as_its_seed(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))

    from_generator = policy.recommend(5, rng=np.random.default_rng(3))

    assert shown(from_generator) == shown(policy.recommend(5, rng=3))


@pytest.mark.parametrize("name", sorted(set(POLICIES) - DRAWING))
def test_without_draws_the_seed_does_not_matter(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))

    assert shown(policy.recommend(5, rng=3)) == shown(policy.recommend(5))


@pytest.mark.parametrize("name", sorted(DRAWING))
def test_with_draws_some_seed_gives_another_list(make: Make, catalogue: Catalogue) -> None:
    policy = make(catalogue)

    assert len({policy.recommend(5, rng=seed).ids for seed in range(40)}) > 1


def test_it_says_whether_it_draws(make: Make, catalogue: Catalogue, name: str) -> None:
    assert make(catalogue).is_stochastic == (name in DRAWING)


def test_its_repr_shows_the_catalogue_and_the_options_given(
    make: Make, catalogue: Catalogue, name: str
) -> None:
    policy = make(catalogue, normaliser="none")
    preset = "exploration=0.0, " if name == "lmdh-greedy" else ""
    if name in ("ease", LMDP_ITEMS):
        preset = f"prior={item_prior(catalogue)!r}, "

    expected = f"{type(policy).__name__}({catalogue!r}, {preset}normaliser='none')"
    pickled = pickle.loads(pickle.dumps(policy))  # noqa: S301 - made on this line
    assert repr(policy) == repr(copy(policy)) == repr(pickled) == expected


def test_the_repr_of_a_policy_is_short(catalogue: Catalogue) -> None:
    topics, many = np.ones((12, 3)), [0.1] * 4

    assert repr(make_policy("uniform", catalogue)) == f"Uniform({catalogue!r})"
    assert "topics=array of shape (12, 3))" in repr(make_policy("lsb", catalogue, topics=topics))
    assert "mean_user=[0.1, 0.1, 0.1, 0.1])" in repr(make_policy("mmr", catalogue, mean_user=many))
    long = repr(make_policy("popular", catalogue, popularity=[0.123456] * 12))
    assert long.endswith("0.123456, 0.1234...)")


def test_it_says_whether_it_takes_a_dial(make: Make, catalogue: Catalogue, name: str) -> None:
    assert make(catalogue).takes_dial == (name in WITH_DIAL)


@SIZES
@pytest.mark.parametrize("name", sorted(WITH_DIAL))
@pytest.mark.parametrize("rounds", [0, 5])
def test_a_dial_that_turns_nothing_changes_nothing(make: Make, m: int, rounds: int) -> None:
    policy = played(make(catalogue_of(m)), rounds)
    plain = policy.recommend(6, rng=1)

    turned = policy.recommend(6, rng=1, dial=Dial(scale=1.0))

    assert shown(turned) == shown(plain)
    why, plainly = policy.explain(plain, dial=Dial(scale=1.0)), policy.explain(plain)
    np.testing.assert_array_equal(why.diversity, plainly.diversity)


@SIZES
@pytest.mark.parametrize("name", sorted(WITH_DIAL))
@pytest.mark.parametrize("dial", [Dial(0.0), Dial(floor=0.5), Dial(2.0, ceiling=0.0)], ids=str)
def test_the_parts_of_an_explanation_add_up_under_a_dial(make: Make, m: int, dial: Dial) -> None:
    policy = played(make(catalogue_of(m)))
    slate = policy.recommend(6, rng=4, dial=dial)

    parts = policy.explain(slate, dial=dial)

    total = parts.relevance + parts.diversity.sum(axis=1) + parts.exploration
    np.testing.assert_allclose(total, slate.scores, rtol=1e-11, atol=1e-12)


@SIZES
@pytest.mark.parametrize("normaliser", ["none", "fixed", "growing"])
def test_slate_carries_what_learning_needs(make: Make, m: int, normaliser: Normaliser) -> None:
    catalogue = catalogue_of(m)
    slate = played(make(catalogue, normaliser=normaliser)).recommend(5, rng=2)
    pairs = np.array([h.matrix() for h in catalogue.distances]).reshape(m, 12, 12)
    directly = [
        normalising_factor(normaliser, place + 1, 5)
        * pairs[:, item, slate.items[:place]].sum(axis=1)
        for place, item in enumerate(slate.items)
    ]

    assert slate.ids == tuple(catalogue.ids[item] for item in slate.items)
    assert np.isfinite(slate.scores).all()
    assert slate.scores.shape == (5,)
    np.testing.assert_array_equal(slate.relevance, catalogue.features[slate.items])
    np.testing.assert_allclose(slate.diversity, directly, rtol=1e-13, atol=1e-15)


@SIZES
@pytest.mark.parametrize("rounds", [0, 5])
def test_the_parts_of_an_explanation_add_up(make: Make, m: int, rounds: int) -> None:
    policy = played(make(catalogue_of(m)), rounds)
    slate = policy.recommend(6, rng=4)

    parts = policy.explain(slate)

    assert parts.diversity.shape == (6, len(parts.diversity_names))
    total = parts.relevance + parts.diversity.sum(axis=1) + parts.exploration
    np.testing.assert_allclose(total, slate.scores, rtol=1e-11, atol=1e-12)


@SIZES
@pytest.mark.parametrize("rounds", [0, 5])
def test_preferences_lie_inside_their_intervals(make: Make, m: int, rounds: int) -> None:
    wants = played(make(catalogue_of(m)), rounds).preferences
    (theta_low, theta_high), (beta_low, beta_high) = (
        wants.relevance_interval,
        wants.diversity_interval,
    )

    assert wants.relevance.shape == theta_low.shape == theta_high.shape == (4,)
    assert wants.diversity.shape == beta_low.shape == beta_high.shape == (m,)
    assert (theta_low <= wants.relevance).all()
    assert (wants.relevance <= theta_high).all()
    assert (beta_low <= wants.diversity).all()
    assert (wants.diversity <= beta_high).all()
    total_low, total_high = wants.total_diversity_interval
    assert total_low <= wants.total_diversity <= total_high


@SIZES
def test_prior_preferences_are_those_of_a_new_user_and_stay(make: Make, m: int) -> None:
    policy = make(catalogue_of(m))
    new = policy.preferences

    for before in (policy.prior_preferences, played(policy, 5).prior_preferences):
        np.testing.assert_allclose(before.relevance, new.relevance)
        np.testing.assert_allclose(before.diversity_interval, new.diversity_interval)
        np.testing.assert_allclose(before.total_diversity_interval, new.total_diversity_interval)


def test_duplicate_items_are_reported_apart_by_row(make: Make) -> None:
    equal_items = Catalogue(["a", "b", "c"], [[1.0, 0.5]] * 3, ["cosine", "euclidean"])

    assert set(played(make(equal_items), k=2).recommend(3, rng=0).ids) == {"a", "b", "c"}


@pytest.mark.parametrize("k", [1, 3])
def test_zero_vectors_are_items_like_others(make: Make, k: int) -> None:
    nothing = Catalogue(["a", "b", "c"], np.zeros((3, 2)), ["cosine", "angular", "euclidean"])
    policy = played(make(nothing), k=k)

    slate = policy.recommend(k, rng=0)

    assert np.isfinite(slate.scores).all()
    assert np.isfinite(policy.preferences.relevance_interval).all()
    assert len(set(slate.ids)) == k


@pytest.fixture(params=[0, 2], ids=lambda m: f"m={m}")
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
