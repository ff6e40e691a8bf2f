"""Popularity and SVD features: they change relevance and nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.prior.making import made_catalogue
from variegate import LMDH, Catalogue
from variegate.errors import InputError
from variegate.model.distances import cosine, euclidean, jaccard
from variegate.prior import (
    add_collaborative_features,
    add_popularity_feature,
    add_svd_features,
    fit_prior,
)


def shop() -> Catalogue:
    features = np.random.default_rng(0).normal(size=(6, 3))
    genres = jaccard([{"a"}, {"b"}, {"a", "b"}, {"a"}, set(), {"c"}], name="genres")
    return Catalogue(
        list("abcdef"),
        features,
        ["cosine", euclidean(scale=2.0), genres],
        titles=list("ABCDEF"),
        attributes={"year": [1, 2, 3, 4, 5, 6]},
        mean_user=[0.1, 0.2, 0.3],
        feature_scale=2.0,
    )


def test_a_feature_is_added_at_the_end() -> None:
    before, values = shop(), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]

    after = before.with_features({"price": values})

    assert np.array_equal(after.features[:, :3], before.features)
    assert np.array_equal(after.features[:, 3], values)
    assert after.feature_names == (*before.feature_names, "price")
    assert after.mean_user is not None
    assert after.mean_user.tolist() == [0.1, 0.2, 0.3, 0.0]
    assert (after.ids, after.titles, after.feature_scale) == (before.ids, before.titles, 2.0)
    assert after.attributes == before.attributes
    assert before.d == 3


def test_distances_stay_what_they_were(tmp_path: Path) -> None:
    before = shop()
    after = before.with_features({"price": [9.0, 1.0, 4.0, 2.0, 8.0, 0.0]})
    after.save(tmp_path / "shop")
    again = Catalogue.load(tmp_path / "shop")

    for old, new, stored in zip(before.distances, after.distances, again.distances, strict=True):
        assert np.array_equal(new.matrix(), old.matrix())
        assert np.array_equal(stored.matrix(), old.matrix())
        assert (new.name, new.scale) == (old.name, old.scale)


def test_a_catalogue_with_a_feature_recommends_and_grows() -> None:
    catalogue = add_popularity_feature(shop(), [1, 2, 3, 4, 5, 6])
    policy = LMDH(catalogue)
    slate = policy.recommend(3)
    policy.update(slate, [1, 0, 1])
    more = {
        "cosine": cosine([[1.0, 0.0, 0.0]]),
        "euclidean": euclidean([[1.0, 0.0, 0.0]], scale=2.0),
        "genres": jaccard([{"a"}]),
    }

    larger = catalogue.with_items(["g"], [[1.0, 0.0, 0.0, 0.5]], more)

    assert len(set(slate.items.tolist())) == 3
    assert larger.distances[0].matrix()[6, 0] == pytest.approx(
        1 - catalogue.features[0, 0] / np.linalg.norm(catalogue.features[0, :3])
    )


def test_a_catalogue_without_a_mean_user_has_none_after() -> None:
    catalogue = Catalogue(["a"], [[1.0]], [])

    assert catalogue.with_features({"price": [2.0]}).mean_user is None


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("price", [1.0], "`price` must have 6 values, got 1"),
        ("price", np.ones((6, 1)), r"`price` must have 1 axes, got shape \(6, 1\)"),
        ("price", [1, 2, 3, 4, 5, np.nan], r"`price` must be finite, got nan at \[5\]"),
        ("feature 2", np.ones(6), "`columns` must have new names, got 'feature 2'"),
        ("price", np.full(6, 1e101), "`features` must be at most 1e"),
    ],
)
def test_a_feature_that_cannot_be_is_refused(name: str, values: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        shop().with_features({name: values})


def test_popularity_goes_from_none_to_the_most_liked() -> None:
    catalogue = add_popularity_feature(shop(), [0, 1, 3, 7, 15, 31])

    assert catalogue.feature_names[-1] == "popularity"
    np.testing.assert_allclose(catalogue.features[:, -1], np.arange(6) / 5, rtol=1e-15)


def test_where_nothing_is_liked_popularity_is_0() -> None:
    assert add_popularity_feature(shop(), np.zeros(6)).features[:, -1].tolist() == [0.0] * 6


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([1, 2], "`counts` must have 6 entries, one for each item, got 2"),
        ([1, 2, 3, 4, 5, -6], "`counts` must be at least 0, got -6"),
        ("many", "`counts` must be an array of numbers"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        add_popularity_feature(shop(), counts)


def crowd(users: int = 40, items: int = 12) -> list[list[int]]:
    """Two camps: one likes the first half of the items, the other the second."""
    rng = np.random.default_rng(5)
    halves = np.arange(items).reshape(2, -1)
    return [sorted(rng.choice(halves[u % 2], 4, replace=False).tolist()) for u in range(users)]


def test_the_first_tastes_tell_two_camps_apart() -> None:
    more = add_svd_features(made_catalogue(12, 3), crowd(), n_components=2)
    first, second = more.features[:6, 3:].copy(), more.features[6:, 3:].copy()
    # In two dimensions every item of a camp points the same way, and the camps point elsewhere.
    first /= np.linalg.norm(first, axis=1)[:, None]
    second /= np.linalg.norm(second, axis=1)[:, None]
    assert (first @ first.T).min() > 0.9
    assert (first @ second.T).max() < 0.1


def test_tastes_are_singular_vectors_in_the_order_of_their_weight() -> None:
    table = np.zeros((40, 12))
    for user, rows in enumerate(crowd()):
        table[user, rows] = 1.0
    found = add_svd_features(made_catalogue(12, 3), crowd(), n_components=4).features[:, 3:].T
    found = found / np.linalg.norm(found, axis=1)[:, None]
    weights = np.linalg.norm(table @ found.T, axis=0)
    np.testing.assert_allclose(weights, np.linalg.svd(table)[1][:4], rtol=1e-9)


def test_features_names_and_distances_that_were_there_stay() -> None:
    before = made_catalogue(12, 3)
    after = add_svd_features(before, crowd(), n_components=2)
    np.testing.assert_array_equal(after.features[:, :3], before.features)
    assert after.feature_names == (*before.feature_names, "taste 1", "taste 2")
    np.testing.assert_array_equal(after.distances[0].matrix(), before.distances[0].matrix())


def test_one_crowd_gives_one_result_and_users_in_any_order_the_same_tastes() -> None:
    catalogue, likes = made_catalogue(12, 3), crowd()
    one, again = (
        add_svd_features(catalogue, likes, n_components=3),
        add_svd_features(catalogue, likes, n_components=3),
    )
    np.testing.assert_array_equal(one.features, again.features)
    turned = add_svd_features(catalogue, likes[::-1], n_components=3)
    np.testing.assert_allclose(turned.features, one.features, atol=1e-8)


def test_values_lie_between_minus_one_and_one() -> None:
    tastes = add_svd_features(made_catalogue(12, 3), crowd(), n_components=5).features[:, 3:]
    np.testing.assert_allclose(np.abs(tastes).max(axis=0), 1.0)


@pytest.mark.parametrize("users", [1, 2, 3])
def test_few_users_have_few_tastes(users: int) -> None:
    more = add_svd_features(made_catalogue(12, 3), crowd()[:users], n_components=20)
    assert more.d == 3 + users - 1
    assert np.isfinite(fit_prior(more, crowd()[:users]).mean).all()


def test_a_crowd_without_likes_is_refused() -> None:
    with pytest.raises(InputError, match="`likes` must hold at least one user who likes an item"):
        add_svd_features(made_catalogue(12, 3), [[], []])


def test_no_tastes_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="`n_components` must be from 1 to 10000"):
        add_svd_features(made_catalogue(12, 3), crowd(), n_components=0)


def test_a_crowd_adds_popularity_and_tastes_once() -> None:
    before = made_catalogue(12, 3)
    once = add_collaborative_features(before, crowd(), n_components=2)
    assert once.feature_names == (*before.feature_names, "popularity", "taste 1", "taste 2")
    counts = np.bincount(np.concatenate(crowd()), minlength=12)
    np.testing.assert_array_equal(
        once.features,
        add_svd_features(add_popularity_feature(before, counts), crowd(), n_components=2).features,
    )
    assert (
        add_collaborative_features(once, crowd(), n_components=2).feature_names
        == once.feature_names
    )
    assert add_collaborative_features(before, crowd(), n_components=0).feature_names[3:] == (
        "popularity",
    )


def test_tastes_are_reported_by_examples_and_not_by_their_numbers() -> None:
    catalogue = add_collaborative_features(made_catalogue(12, 3), crowd(), n_components=2)
    result = "\n".join(fit_prior(catalogue, crowd()).describe(catalogue))
    assert "users differ most between" in result
    assert "taste" not in result
