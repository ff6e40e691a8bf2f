"""The bundled films: who is in, what is known of them, who stands next to whom."""

import json
from pathlib import Path

import numpy as np
import pytest

from variegate import LMDH, Catalogue
from variegate.data.films import film_catalogue
from variegate.errors import InputError
from variegate.model.distances import distance_of_values
from variegate.model.utility import format_weights, top_weights


def nearest(films: Catalogue, title: str, distance: str, n: int) -> list[int]:
    """The rows of the `n` films nearest to the one with `title`."""
    row = films.titles.index(title)
    (h,) = [h for h in films.distances if h.name == distance]
    away = h.from_item(row)
    away[row] = np.inf
    return [int(other) for other in np.argsort(away, kind="stable")[:n]]


def test_it_has_fifteen_hundred_films_and_four_distances(films: Catalogue) -> None:
    assert len(films) == 1500
    assert [h.name for h in films.distances] == ["features", "genres", "years", "countries"]


@pytest.mark.parametrize(
    ("title", "year", "director"),
    [
        ("The Matrix", 1999, "Lana Wachowski"),
        ("The Godfather", 1972, "Francis Ford Coppola"),
        ("Pulp Fiction", 1994, "Quentin Tarantino"),
        ("Casablanca", 1942, "Michael Curtiz"),
        ("Seven Samurai", 1954, "Akira Kurosawa"),
        ("Psycho (1960)", 1960, "Alfred Hitchcock"),
        ("Amélie", 2001, "Jean-Pierre Jeunet"),
        ("Alien", 1979, "Ridley Scott"),
    ],
)
def test_films_that_people_know_are_there(
    films: Catalogue, title: str, year: int, director: str
) -> None:
    row = films.titles.index(title)
    assert films.attributes["year"][row] == year
    assert director in films.attributes["directors"][row]


def test_every_decade_has_its_share(films: Catalogue) -> None:
    decades = np.array(films.attributes["year"]) // 10 * 10
    shares = {int(decade): float((decades == decade).mean()) for decade in np.unique(decades)}
    expected = {1940: 4, 1950: 6, 1960: 8, 1970: 11, 1980: 15, 1990: 20, 2000: 23, 2010: 13}
    assert shares == pytest.approx({d: share / 100 for d, share in expected.items()}, abs=0.002)


def test_titles_are_distinct_and_ids_are_of_imdb(films: Catalogue) -> None:
    titles = [(title, films.attributes["year"][row]) for row, title in enumerate(films.titles)]
    assert len(set(titles)) == len(set(films.titles)) == 1500
    assert all(title.strip() and title != "None" for title in films.titles)
    assert all(item.startswith("tt") for item in films.ids)


def test_attributes_are_whole_and_plain(films: Catalogue) -> None:
    assert json.loads(json.dumps(dict(films.attributes), allow_nan=False))
    assert all(len(genres) > 0 for genres in films.attributes["genres"])
    assert all(len(countries) > 0 for countries in films.attributes["countries"])
    assert all(len(directors) > 0 for directors in films.attributes["directors"])
    assert all(1940 <= year <= 2014 for year in films.attributes["year"])
    assert all(0 <= meter <= 100 for meter in films.attributes["tomatometer"])


def test_popularity_falls_from_one(films: Catalogue) -> None:
    popularity = np.array(films.attributes["popularity"])
    assert popularity[0] == 1.0
    assert (np.diff(popularity) < 0).all()
    assert popularity[-1] > 0


def test_features_are_named_and_short(films: Catalogue) -> None:
    assert {"Comedy", "Sci-Fi", "1980s", "France", "popularity"} <= set(films.feature_names)
    assert len(set(films.feature_names)) == films.d <= 40
    assert films.largest_norm <= 1.0


@pytest.mark.parametrize(
    ("title", "sequel"),
    [
        ("Toy Story", "Toy Story 2"),
        ("The Godfather", "The Godfather Part II"),
        ("Raiders of the Lost Ark", "Indiana Jones and the Temple of Doom"),
        ("Star Wars: Episode IV – A New Hope", "Star Wars: Episode VI – Return of the Jedi"),
        ("Annie Hall", "Manhattan"),
        ("Pulp Fiction", "Jackie Brown"),
    ],
)
def test_the_nearest_film_is_the_one_that_a_person_would_name(
    films: Catalogue, title: str, sequel: str
) -> None:
    assert films.titles[nearest(films, title, "features", 1)[0]] == sequel


@pytest.mark.parametrize(
    ("title", "genre"),
    [
        ("Star Wars: Episode IV – A New Hope", "Sci-Fi"),
        ("The Matrix", "Action"),
        ("Psycho (1960)", "Thriller"),
        ("The Lion King", "Animation"),
        ("Singin' in the Rain", "Musical"),
        ("Saving Private Ryan", "War"),
        ("Bridesmaids", "Comedy"),
    ],
)
def test_neighbours_share_the_genre(films: Catalogue, title: str, genre: str) -> None:
    genres = [films.attributes["genres"][row] for row in nearest(films, title, "features", 7)]
    assert sum(genre in theirs for theirs in genres) >= 6


def test_each_distance_means_what_it_is_called(films: Catalogue) -> None:
    row = films.titles.index("Seven Samurai")
    years = [films.attributes["year"][r] for r in nearest(films, "Seven Samurai", "years", 5)]
    lands = [
        films.attributes["countries"][r] for r in nearest(films, "Seven Samurai", "countries", 5)
    ]
    alike = [films.attributes["genres"][r] for r in nearest(films, "Toy Story", "genres", 3)]
    assert years == [films.attributes["year"][row]] * 5
    assert lands == [["Japan"]] * 5
    assert all("Animation" in genres for genres in alike)


def test_two_builds_are_equal_to_the_bit(films: Catalogue) -> None:
    again = film_catalogue()
    assert again.features.tobytes() == films.features.tobytes()
    assert (again.ids, again.titles) == (films.ids, films.titles)
    assert again.attributes == films.attributes


def test_it_comes_back_from_its_file(films: Catalogue, tmp_path: Path) -> None:
    films.save(tmp_path / "films.npz")
    again = Catalogue.load(tmp_path / "films.npz")
    assert again.attributes == films.attributes
    assert again.feature_names == films.feature_names
    for h, loaded in zip(films.distances, again.distances, strict=True):
        np.testing.assert_array_equal(h.from_item(7), loaded.from_item(7))


@pytest.mark.parametrize("count", [1, 2, 60])
def test_a_smaller_choice_is_the_best_known(films: Catalogue, count: int) -> None:
    assert film_catalogue(films=count).ids == films.ids[:count]


@pytest.mark.parametrize("count", [0, 100_000])
def test_a_number_of_films_that_is_not_there_is_refused(films: Catalogue, count: int) -> None:
    assert len(films) > 0
    with pytest.raises(InputError, match=r"`films` must be from 1 to 1\d{4} \(the bundled films\)"):
        film_catalogue(films=count)


def test_who_takes_science_fiction_is_reported_so_in_words(films: Catalogue) -> None:
    policy = LMDH(films, ridge=1.0)
    shown: list[int] = []
    for _ in range(8):
        slate = policy.recommend(10, exclude=shown)
        shown += [int(row) for row in slate.items]
        likes = ["Sci-Fi" in films.attributes["genres"][row] for row in slate.items]
        policy.update(slate, np.array(likes, dtype=np.float64))
    words = format_weights(top_weights(policy.preferences.relevance, films.feature_names, n=3))
    assert words.startswith("Sci-Fi +")
    assert np.mean(likes) > 0.5


def test_attributes_alone_come_to_the_features_and_distances(films: Catalogue) -> None:
    made = films.encoded_features(films.ids, films.attributes)
    np.testing.assert_array_equal(made, films.features)
    values = films.encoded_distances(len(films), films.attributes)
    assert set(values) == {h.name for h in films.distances}
    for h in films.distances:
        again = distance_of_values(h, values[h.name])
        np.testing.assert_array_equal(again.from_item(7), h.from_item(7))


def test_an_edited_year_is_another_decade(films: Catalogue) -> None:
    row = films.titles.index("Alien")
    edited = films.with_attributes([films.ids[row]], {"year": [2009], "countries": [["Atlantis"]]})
    result = dict(zip(edited.feature_names, edited.features[row], strict=True))
    assert (result["1970s"], result["2000s"] > 0, result["another country"] > 0) == (
        0.0,
        True,
        True,
    )
    assert edited.distances[2].from_item(row)[row + 1] != films.distances[2].from_item(row)[row + 1]
