"""A prior fitted to MovieLens-100K, where the archive is there."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.extras import needs
from tests.paths import SHARED
from variegate import Catalogue
from variegate.arrays import FloatArray, IndexArray
from variegate.data.bpr import fit_bpr
from variegate.data.build import rated_catalogue
from variegate.data.dataset import Dataset
from variegate.data.movielens import load_movielens_100k
from variegate.data.splits import split_users
from variegate.policies import LogRank
from variegate.prior import ItemPrior, Observations, fit_prior

pytestmark = needs("cornac")

Fitted = tuple[Catalogue, ItemPrior, list[IndexArray]]


def likes_of(dataset: Dataset, catalogue: Catalogue) -> list[IndexArray]:
    """Return each user's likes as rows of the catalogue, users without any left out."""
    row_of = {item: row for row, item in enumerate(catalogue.ids)}
    likes: list[list[int]] = [[] for _ in dataset.user_ids]
    for user, item in zip(dataset.users.tolist(), dataset.items.tolist(), strict=True):
        if dataset.item_ids[item] in row_of:
            likes[user].append(row_of[dataset.item_ids[item]])
    return [np.array(rows, dtype=np.intp) for rows in likes if rows]


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    """Return the films, the training users' prior and the test users' likes."""
    path = Path(os.environ.get("VARIEGATE_DATA") or SHARED) / "ml-100k.zip"
    if not path.exists():
        pytest.skip("ml-100k.zip is neither in VARIEGATE_DATA nor in ../shared/data")
    parts = split_users(load_movielens_100k(path), rng=0)
    films = rated_catalogue(parts.train, fit_bpr(parts.train, seed=0))
    prior = fit_prior(films, likes_of(parts.train, films))
    return films, prior, likes_of(parts.test, films)


def recall_of(top: IndexArray, likes: list[IndexArray]) -> float:
    return float(np.mean([np.isin(liked, top).mean() for liked in likes]))


def first_ten(scores: FloatArray) -> IndexArray:
    return np.argsort(-scores, kind="stable")[:10]


def test_mean_ranks_nearly_as_well_as_logrank(fitted: Fitted) -> None:
    films, prior, likes = fitted

    by_prior = recall_of(first_ten(prior.mean), likes)
    by_logrank = recall_of(LogRank(films).recommend(10).items, likes)

    assert by_logrank > 0.05
    assert by_prior >= 0.9 * by_logrank


def test_films_that_most_like_are_reported_first(fitted: Fitted) -> None:
    films, prior, _likes = fitted

    lines = prior.describe(films)

    assert lines[0] == f"fitted to {prior.users} users"
    assert lines[1].startswith("most users like: Star Wars (1977)")


def test_five_likes_foretell_others(fitted: Fitted) -> None:
    _films, prior, likes = fitted
    rng, learnt, popular = np.random.default_rng(0), list[float](), list[float]()
    for liked in [liked for liked in likes if len(liked) >= 20]:
        shown = rng.permutation(liked)[:5]
        seen = Observations(shown, np.ones(5), np.zeros((5, 1)), np.ones(5))
        left = np.setdiff1d(liked, shown)
        for found, scores in (
            (learnt, prior.posterior(seen).relevance),
            (popular, prior.mean.copy()),
        ):
            scores[shown] = -np.inf
            found.append(float(np.isin(left, first_ten(scores)).mean()))

    assert np.mean(learnt) > 1.15 * np.mean(popular)
