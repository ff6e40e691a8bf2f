"""Catalogues of what people rated."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from variegate.data.build import rated_catalogue
from variegate.data.dataset import Dataset
from variegate.data.embeddings import Embeddings, make_embeddings
from variegate.errors import InputError, NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.policies import LMDH, LogRank, Popular

EVERY = ("cosine", "angular", "euclidean", "genres", "years")


@pytest.fixture
def vectors(tastes: Dataset) -> Embeddings:
    matrix = np.random.default_rng(1).normal(size=(48, 4))
    # the dataset's order backwards, so that a mix-up of rows shows
    return make_embeddings(tastes.item_ids[-2::-1], matrix, mean_user=[1.0, 2.0, 3.0, 4.0])


@pytest.fixture
def catalogue(tastes: Dataset, vectors: Embeddings) -> Catalogue:
    return rated_catalogue(tastes, vectors, distances=EVERY)


def test_items_features_and_mean_user_are_those_of_the_embeddings(
    catalogue: Catalogue, vectors: Embeddings
) -> None:
    assert catalogue.ids == vectors.item_ids
    assert catalogue.titles[0] == "Item 47"
    assert catalogue.feature_scale == vectors.scale
    np.testing.assert_array_equal(catalogue.features, vectors.vectors)
    assert catalogue.mean_user is not None
    np.testing.assert_array_equal(catalogue.mean_user, [1.0, 2.0, 3.0, 4.0])


def test_what_is_known_of_items_becomes_attributes(catalogue: Catalogue) -> None:
    assert set(catalogue.attributes) == {"year", "country", "genres", "plot", "popularity"}
    assert catalogue.attributes["year"][0] == 2010
    assert catalogue.attributes["country"][:2] == (None, "fr")
    assert catalogue.attributes["genres"][0] == ["genre 3", "film"]
    assert catalogue.attributes["plot"][0] == "a plot"


def test_year_that_is_not_known_is_none(catalogue: Catalogue) -> None:
    row = int(catalogue.rows(["item 5"])[0])
    assert catalogue.attributes["year"][row] is None
    assert catalogue.attributes["year"].count(None) == 1


def test_popularity_counts_the_likes_of_this_dataset(tastes: Dataset, vectors: Embeddings) -> None:
    half = tastes.of_users(np.arange(30))
    popularity = rated_catalogue(half, vectors).attributes["popularity"]
    assert popularity == tuple(int(n) for n in half.popularity[-2::-1])
    assert sum(popularity) == len(half)


def test_numbers_that_are_not_whole_stay_as_they_are(tastes: Dataset, vectors: Embeddings) -> None:
    scores = np.linspace(0.25, 12.5, len(tastes.item_ids))
    item_table = replace(tastes.item_table, numbers={"score": scores})
    column = rated_catalogue(replace(tastes, item_table=item_table), vectors).attributes["score"]
    assert column == tuple(scores[-2::-1])


def test_cosine_is_the_only_distance_unless_reported(tastes: Dataset, vectors: Embeddings) -> None:
    assert [h.name for h in rated_catalogue(tastes, vectors).distances] == ["cosine"]


def test_one_distance_can_be_named_by_itself(tastes: Dataset, vectors: Embeddings) -> None:
    one = rated_catalogue(tastes, vectors, distances="years")
    assert [h.name for h in one.distances] == ["years"]


def test_distances_come_in_the_order_asked_for(catalogue: Catalogue) -> None:
    assert tuple(h.name for h in catalogue.distances) == EVERY


def test_genres_are_apart_by_what_they_do_not_share(catalogue: Catalogue) -> None:
    genres = catalogue.distances[3].matrix()
    first, same, other = catalogue.rows(["item 0", "item 1", "item 40"])
    assert genres[first, same] == 0.0
    # one genre of three is shared
    assert genres[first, other] == pytest.approx(2 / 3)


def test_years_are_apart_by_their_share_of_the_spread(catalogue: Catalogue) -> None:
    years = catalogue.distances[4].matrix()
    oldest, later, newest = catalogue.rows(["item 0", "item 12", "item 47"])
    assert years[oldest, newest] == 1.0
    assert years[oldest, later] == pytest.approx(1 / 3)


def test_unknown_year_stands_at_the_median(catalogue: Catalogue) -> None:
    years = catalogue.distances[4].matrix()
    unknown, oldest = catalogue.rows(["item 5", "item 0"])
    # 11 items of 1980 and 12 of each decade after: the median of the 47 is 2000
    assert years[unknown, oldest] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("columns", "name", "known"),
    [
        ({"lists": {}}, "genres", "cosine, angular, euclidean, years, got 'genres'"),
        ({"numbers": {}}, "years", "cosine, angular, euclidean, genres, got 'years'"),
        ({"numbers": {"year": np.full(49, np.nan)}}, "years", "euclidean, genres, got 'years'"),
        ({}, "genre", "years, got 'genre': did you mean 'genres'"),
        ({}, "colour", "cosine, angular, euclidean, genres, years, got 'colour'"),
    ],
)
def test_distance_that_the_data_cannot_give_is_reported_with_those_there_are(
    tastes: Dataset, vectors: Embeddings, columns: dict[str, object], name: str, known: str
) -> None:
    less = replace(tastes, item_table=replace(tastes.item_table, **columns))  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match=f"`distances` must be one of .*{known}"):
        rated_catalogue(less, vectors, distances=["cosine", name])


def test_distance_named_twice_is_refused(tastes: Dataset, vectors: Embeddings) -> None:
    with pytest.raises(InputError, match="distinct names, got 'years' twice"):
        rated_catalogue(tastes, vectors, distances=["years", "years"])


def test_item_that_the_dataset_does_not_have_is_refused(tastes: Dataset) -> None:
    with pytest.raises(NotFoundError, match="no item 'stranger' in `dataset` 'tastes'"):
        rated_catalogue(tastes, make_embeddings(["item 1", "stranger"], np.eye(2)))


def test_catalogue_is_saved_and_loaded_as_it_was(catalogue: Catalogue, tmp_path: Path) -> None:
    catalogue.save(tmp_path / "rated.npz")
    loaded = Catalogue.load(tmp_path / "rated.npz")
    assert dict(loaded.attributes) == dict(catalogue.attributes)
    assert loaded.titles == catalogue.titles
    np.testing.assert_array_equal(loaded.features, catalogue.features)
    np.testing.assert_array_equal(loaded.distances[3].matrix(), catalogue.distances[3].matrix())


@pytest.mark.parametrize("policy", [LMDH, LogRank, Popular])
def test_policies_recommend_from_it(
    catalogue: Catalogue, policy: type[LMDH] | type[LogRank] | type[Popular]
) -> None:
    slate = policy(catalogue).recommend(5)
    assert len(set(slate.ids)) == 5
