"""Lists from a ranker's candidates: LMDH and its kin on open catalogues, and with scores."""

from typing import Any

import numpy as np
import pytest

from variegate import LMDH, LMDP, LMDT, MMR, Catalogue, Recommender, explore_slate, open_catalogue
from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.model.candidates import own_candidates
from variegate.model.distances import jaccard
from variegate.policies import Dial, State

N, K = 60, 8
IDS = [f"item {row}" for row in range(N)]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def vectors_of(rng: np.random.Generator, width: int = 16) -> FloatArray:
    """Return vectors of eight topics."""
    return rng.normal(size=(8, width))[rng.integers(8, size=N)] + rng.normal(size=(N, width)) / 2


def test_the_first_list_follows_the_ranker_with_variety_on_top(rng: np.random.Generator) -> None:
    scores, vectors = rng.normal(size=N), vectors_of(rng)
    ranking = np.argsort(-scores)

    slate = LMDP(open_catalogue()).recommend(K, IDS, scores=scores, vectors=vectors)

    assert slate.items[0] == ranking[0]
    assert set(slate.items.tolist()) <= set(ranking[: N // 2].tolist())
    assert spread(vectors, slate.items) > spread(vectors, ranking[:K])


def spread(vectors: FloatArray, rows: Any) -> float:
    units = vectors[rows] / np.linalg.norm(vectors[rows], axis=1, keepdims=True)
    return float((1.0 - units @ units.T).sum())


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_scores_on_any_scale_give_the_same_list(rng: np.random.Generator, scale: float) -> None:
    scores, vectors, policy = rng.normal(size=N), vectors_of(rng), LMDP(open_catalogue())

    one = policy.recommend(K, IDS, scores=scores, vectors=vectors)
    other = policy.recommend(K, IDS, scores=scale * scores - 7.0 * scale, vectors=vectors)

    assert one.ids == other.ids


@pytest.mark.parametrize("make", [LMDH, LMDP, LMDT])
def test_it_learns_from_its_slates(rng: np.random.Generator, make: Any) -> None:
    policy = make(open_catalogue(["price"]))
    before = policy.preferences.relevance
    scores, vectors = rng.normal(size=N), vectors_of(rng)
    given: dict[str, Any] = {"scores": scores, "vectors": vectors, "features": {"price": scores}}

    slate = policy.recommend(K, IDS, rng=1, **given)
    policy.update(slate, np.ones(K))

    assert slate.relevance.shape == (K, 2)
    assert slate.ids == tuple(IDS[row] for row in slate.items)
    assert (policy.preferences.relevance > before).all()
    parts = policy.explain(slate)
    assert parts.relevance.shape == (K,)


def test_a_state_of_a_score_and_a_distance_takes_less_than_200_bytes() -> None:
    policy = LMDP(open_catalogue())
    slate = policy.recommend(2, ["a", "b", "c"], scores=[1, 2, 3], vectors=np.eye(3))
    policy.update(slate, [1, 0])

    raw = policy.state().to_bytes()
    other = LMDP(open_catalogue())
    other.restore(State.from_bytes(raw))

    assert len(raw) < 200
    assert other.preferences.relevance == policy.preferences.relevance


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("make", [LMDP, lambda c: LMDP(c, search="local"), LMDH])
def test_vectors_as_they_are_give_the_list_of_a_catalogue_of_these_items(
    rng: np.random.Generator, make: Any, precision: type
) -> None:
    scores = rng.normal(size=N)
    vectors: Any = vectors_of(rng).astype(precision)
    policy = make(open_catalogue())
    candidates = own_candidates(policy.catalogue, IDS, scores=scores, vectors=vectors)

    slate = policy.recommend(K, candidates)
    other = policy._over(candidates)._search_slate(np.ones(N, dtype=bool), K, None)

    assert slate.ids == other.ids
    np.testing.assert_allclose(slate.scores, other.scores, atol=1e-5)
    np.testing.assert_allclose(slate.diversity, other.diversity, atol=1e-5)


def test_several_distances_and_attributes(rng: np.random.Generator) -> None:
    policy = LMDP(open_catalogue((), ["angular", jaccard([], name="genres")]))
    genres = [["a"], ["b"], ["a", "c"]] * (N // 3)

    slate = policy.recommend(
        K, IDS, scores=rng.normal(size=N), vectors=vectors_of(rng), attributes={"genres": genres}
    )

    assert slate.diversity.shape == (K, 2)
    assert slate.diversity[1:].min() > 0.0


def test_without_distances_it_is_the_ranking() -> None:
    policy = LMDP(open_catalogue(distances=[]), exploration=0.0)

    assert policy.recommend(3, list("abcd"), scores=[1, 9, 4, 5]).ids == ("b", "d", "c")


def test_excluded_ids_are_left_out() -> None:
    policy = LMDP(open_catalogue(distances=[]), exploration=0.0)

    slate = policy.recommend(2, list("abcd"), exclude=["b", "unknown"], scores=[1, 9, 4, 5])

    assert slate.ids == ("d", "c")
    with pytest.raises(InputError, match=r"`k` must be from 1 to 3 \(the candidates\), got 4"):
        policy.recommend(4, list("abcd"), exclude=["b"], scores=[1, 9, 4, 5])


def test_a_dial_changes_the_variety(rng: np.random.Generator) -> None:
    policy = LMDP(open_catalogue(), exploration=0.0)
    scores, vectors = rng.normal(size=N), vectors_of(rng)

    alike, varied = (
        policy.recommend(K, IDS, scores=scores, vectors=vectors, dial=Dial(scale=scale))
        for scale in (0.0, 20.0)
    )

    assert alike.items.tolist() == np.argsort(-scores)[:K].tolist()
    assert spread(vectors, varied.items) > spread(vectors, alike.items)


def test_vectors_that_are_no_numbers_are_an_error() -> None:
    vectors = np.eye(3)
    vectors[1, 2] = np.nan
    with pytest.raises(InputError, match=r"`vectors` must be finite, got nan at \[1, 2\]"):
        LMDP(open_catalogue()).recommend(3, list("abc"), scores=[1, 2, 3], vectors=vectors)


def test_what_was_unusual_about_the_scores_is_told() -> None:
    policy = LMDP(open_catalogue(distances=[]))

    slate = policy.recommend(2, list("abc"), scores=[1.0, None, 2.0])

    assert slate.notes == ("1 of 3 candidates has no score: it counts as the median",)


@pytest.mark.parametrize("make", [LMDP, LMDT])
def test_exploration_knows_its_propensities(rng: np.random.Generator, make: Any) -> None:
    policy = make(open_catalogue())
    candidates = own_candidates(
        policy.catalogue, IDS, scores=rng.normal(size=N), vectors=vectors_of(rng)
    )

    slate, propensities = explore_slate(policy, K, 0.5, candidates, rng=3)

    assert slate.ids == tuple(IDS[row] for row in slate.items)
    assert ((propensities > 0.0) & (propensities <= 1.0)).all()
    policy.update(slate, np.zeros(K))


def shop(rng: np.random.Generator) -> Catalogue:
    return Catalogue(IDS, vectors_of(rng, 4), "cosine").with_score()


def test_scores_of_items_in_a_catalogue_are_one_more_feature(rng: np.random.Generator) -> None:
    items = shop(rng)
    policy, rows = LMDP(items, exploration=0.0), [5, 3, 40]

    slate = policy.recommend(3, rows, scores=[0.1, 0.9, 0.5])
    policy.update(slate, [1, 0, 0])

    assert slate.ids[0] == "item 3"
    assert sorted(slate.items.tolist()) == sorted(rows)
    assert slate.relevance[0, :4].tolist() == items.features[3, :4].tolist()
    assert slate.relevance[0, 4] > slate.relevance[1:, 4].max()
    assert policy.recommend(3, rows).relevance[:, 4].tolist() == [0.0] * 3


def test_a_recommender_takes_the_same(rng: np.random.Generator) -> None:
    recommender = Recommender(open_catalogue())

    slate = recommender.recommend("ana", 2, list("abc"), scores=[1, 2, 3], vectors=np.eye(3))
    recommender.update(slate, [1, 1])

    assert slate.user_id == "ana"
    assert recommender.preferences("ana").relevance[0] > 0.5
    rows = Recommender(shop(rng)).recommend("ben", 2, [4, 7, 9], scores=[1, 2, 3])
    assert set(rows.items.tolist()) <= {4, 7, 9}


def test_a_saved_recommender_goes_on(tmp_path: Any) -> None:
    recommender = Recommender(open_catalogue())
    slate = recommender.recommend("ana", 2, list("abc"), scores=[1, 2, 3], vectors=np.eye(3))
    recommender.update(slate, [1, 1])
    recommender.save(tmp_path / "users.npz")

    loaded = Recommender.load(tmp_path / "users.npz", open_catalogue())

    assert loaded.preferences("ana").relevance == recommender.preferences("ana").relevance


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (MMR, {"scores": [1, 2]}, "`candidates` must be rows of a catalogue, without scores, for"),
        (LMDP, {"vectors": np.eye(2)}, "`vectors` must be None for .*: its items have their own"),
        (LMDP, {"scores": [1]}, "`scores` must have one number for each of 2 candidates, got 1"),
    ],
)
def test_other_requests_are_an_error(
    rng: np.random.Generator, make: Any, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make(shop(rng)).recommend(1, [3, 4], **given)


def test_candidates_of_another_catalogue_are_an_error() -> None:
    candidates = own_candidates(open_catalogue(), ["a"], vectors=[[1.0]])
    with pytest.raises(InputError, match=r"`candidates` must be of .*, got some of "):
        LMDP(open_catalogue()).recommend(1, candidates)


def test_an_open_catalogue_needs_candidates() -> None:
    with pytest.raises(InputError, match="`candidates` must be the ids to choose from, got None"):
        LMDP(open_catalogue()).recommend(1)


def test_what_the_feedback_says_of_variety_is_finite(rng: np.random.Generator) -> None:
    policy = LMDP(open_catalogue())
    for _ in range(5):
        slate = policy.recommend(K, IDS, scores=rng.normal(size=N), vectors=vectors_of(rng))
        policy.update(slate, rng.integers(2, size=K))

    mean, deviation = policy.total_diversity_likelihood()

    assert np.isfinite([mean, deviation]).all()
