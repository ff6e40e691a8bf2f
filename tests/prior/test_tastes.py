"""The tastes of a crowd as features."""

import numpy as np
import pytest

from tests.prior.making import made_catalogue
from variegate.errors import InputError
from variegate.prior import (
    add_collaborative_features,
    add_popularity_feature,
    add_svd_features,
    fit_prior,
)


def crowd(users: int = 40, items: int = 12) -> list[list[int]]:
    """Two camps: one likes the first half of the items, the other the second."""
    rng = np.random.default_rng(5)
    halves = np.arange(items).reshape(2, -1)
    return [sorted(rng.choice(halves[u % 2], 4, replace=False).tolist()) for u in range(users)]


def test_the_first_tastes_tell_two_camps_apart() -> None:
    more = add_svd_features(made_catalogue(12, 3), crowd(), count=2)
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
    found = add_svd_features(made_catalogue(12, 3), crowd(), count=4).features[:, 3:].T
    found = found / np.linalg.norm(found, axis=1)[:, None]
    weights = np.linalg.norm(table @ found.T, axis=0)
    np.testing.assert_allclose(weights, np.linalg.svd(table)[1][:4], rtol=1e-9)


def test_features_names_and_distances_that_were_there_stay() -> None:
    before = made_catalogue(12, 3)
    after = add_svd_features(before, crowd(), count=2)
    np.testing.assert_array_equal(after.features[:, :3], before.features)
    assert after.feature_names == (*before.feature_names, "taste 1", "taste 2")
    np.testing.assert_array_equal(after.distances[0].matrix(), before.distances[0].matrix())


def test_one_crowd_gives_one_result_and_users_in_any_order_the_same_tastes() -> None:
    catalogue, likes = made_catalogue(12, 3), crowd()
    one, again = (
        add_svd_features(catalogue, likes, count=3),
        add_svd_features(catalogue, likes, count=3),
    )
    np.testing.assert_array_equal(one.features, again.features)
    turned = add_svd_features(catalogue, likes[::-1], count=3)
    np.testing.assert_allclose(turned.features, one.features, atol=1e-8)


def test_values_lie_between_minus_one_and_one() -> None:
    tastes = add_svd_features(made_catalogue(12, 3), crowd(), count=5).features[:, 3:]
    np.testing.assert_allclose(np.abs(tastes).max(axis=0), 1.0)


@pytest.mark.parametrize("users", [1, 2, 3])
def test_few_users_have_few_tastes(users: int) -> None:
    more = add_svd_features(made_catalogue(12, 3), crowd()[:users], count=20)
    assert more.d == 3 + users - 1
    assert np.isfinite(fit_prior(more, crowd()[:users]).mean).all()


def test_a_crowd_without_likes_is_refused() -> None:
    with pytest.raises(InputError, match="`likes` must hold at least one user who likes an item"):
        add_svd_features(made_catalogue(12, 3), [[], []])


def test_no_tastes_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="`count` must be from 1 to 10000"):
        add_svd_features(made_catalogue(12, 3), crowd(), count=0)


def test_a_crowd_adds_popularity_and_tastes_once() -> None:
    before = made_catalogue(12, 3)
    once = add_collaborative_features(before, crowd(), tastes=2)
    assert once.feature_names == (*before.feature_names, "popularity", "taste 1", "taste 2")
    counts = np.bincount(np.concatenate(crowd()), minlength=12)
    np.testing.assert_array_equal(
        once.features,
        add_svd_features(add_popularity_feature(before, counts), crowd(), count=2).features,
    )
    assert add_collaborative_features(once, crowd(), tastes=2).feature_names == once.feature_names
    assert add_collaborative_features(before, crowd(), tastes=0).feature_names[3:] == (
        "popularity",
    )


def test_tastes_are_told_by_examples_and_not_by_their_numbers() -> None:
    catalogue = add_collaborative_features(made_catalogue(12, 3), crowd(), tastes=2)
    told = "\n".join(fit_prior(catalogue, crowd()).describe(catalogue))
    assert "they differ most between" in told
    assert "taste" not in told
