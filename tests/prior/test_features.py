"""Popularity and SVD features: they change relevance and nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from variegate import LMDH, Catalogue
from variegate.errors import InputError
from variegate.model.distances import cosine, euclidean, jaccard
from variegate.prior import (
    add_popularity_feature,
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
