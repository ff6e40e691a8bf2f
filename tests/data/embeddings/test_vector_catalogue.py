"""Long vectors serve the distances; few of their numbers become features."""

import numpy as np
import pytest

from variegate.data import make_embeddings, vector_catalogue
from variegate.errors import InputError, NotFoundError

RNG = np.random.default_rng(2)
#: Two strong directions among 200, around a mean that all share.
BASIS = np.linalg.qr(RNG.normal(size=(200, 2)))[0]
LATENT = RNG.normal(size=(60, 2)) * [5.0, 2.0]
VECTORS = LATENT @ BASIS.T + 0.01 * RNG.normal(size=(60, 200)) + 3.0
ITEMS = make_embeddings(range(60), VECTORS, mean_user=BASIS[:, 0])


def test_the_components_are_those_of_numpy_and_distances_are_of_whole_vectors() -> None:
    shop = vector_catalogue(ITEMS, features="pca:2", distances=["cosine", "euclidean"])

    centred = ITEMS.vectors - ITEMS.vectors.mean(axis=0)
    _u, _s, directions = np.linalg.svd(centred, full_matrices=False)
    ours, theirs = np.abs(shop.features), np.abs(centred @ directions[:2].T)
    np.testing.assert_allclose(ours, theirs / theirs.max(), atol=1e-9)
    whole = np.linalg.norm(ITEMS.vectors[3] - ITEMS.vectors[8])
    assert shop.distances[1].matrix()[3, 8] == pytest.approx(whole)


def test_the_mean_user_ranks_as_with_whole_vectors() -> None:
    shop = vector_catalogue(ITEMS, features="pca:2")

    assert ITEMS.mean_user is not None
    assert shop.mean_user is not None
    whole, few = ITEMS.vectors @ ITEMS.mean_user, shop.features @ shop.mean_user
    assert np.corrcoef(whole, few)[0, 1] > 0.999


def test_short_vectors_stay_as_they_are() -> None:
    short = make_embeddings(["a", "b", "c"], np.eye(3))
    for features in ("all", "pca:16", "pca:3"):
        shop = vector_catalogue(short, features=features)
        assert shop.features.tolist() == np.eye(3).tolist()
        assert shop.distances[0].on_features


def test_with_no_features_scores_are_all_there_is() -> None:
    shop = vector_catalogue(ITEMS, features="none")

    assert (shop.feature_names, shop.score_column) == (("score",), 0)
    assert not shop.features.any()


@pytest.mark.parametrize("features", ["pca", "pca:0", "pca:129", "pca:x", "some", ""])
def test_other_choices_are_refused(features: str) -> None:
    with pytest.raises(InputError, match=r"must be 'none', 'all' or 'pca:N' with N from 1 to 128"):
        vector_catalogue(ITEMS, features=features)


def test_too_many_features_are_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match=r"vectors of 200 numbers: .* would take 0\.2 MB"):
        vector_catalogue(ITEMS, features="all")
    with pytest.raises(NotFoundError, match="`distances` must be one of cosine, angular"):
        vector_catalogue(ITEMS, distances=["genres"])
