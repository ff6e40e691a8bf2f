"""Where the films come from, and what is wrong when they do not."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from variegate.data.films import (
    Film,
    actors,
    all_films,
    best_known,
    bundled_file,
    countries,
    directors,
    fame,
)
from variegate.errors import DataError, MissingExtraError

ALIEN = Film(
    "tt1",
    "Alien",
    1979,
    "Horror",
    "United States",
    "Scott",
    "Weaver",
    117.0,
    1,
    93,
    208,
    1e8,
)


@pytest.fixture
def database(tmp_path: Path) -> Callable[..., Path]:
    """Make a file of the source's form, of rows that differ from one good row."""

    def make(*changes: dict[str, object]) -> Path:
        path = tmp_path / "movies.db"
        films = "imdbID, Title, Year, Genre, Country, Director, [Cast], Runtime, Oscars"
        with closing(sqlite3.connect(path)) as file, file:
            file.execute(f"CREATE TABLE omdb (ID, {films})")
            file.execute("CREATE TABLE tomatoes (ID, Meter, Reviews, BoxOffice)")
            for number, change in enumerate(changes):
                row = {
                    "imdbID": f"tt{number}",
                    "Title": "Alien",
                    "Year": 1979,
                    "Genre": "Sci-Fi, Music",
                    "Country": "West Germany, Germany",
                    "Director": "A, B",
                    "Cast": None,
                    "Runtime": None,
                    "Oscars": 0,
                    "Reviews": 9,
                    **change,
                }
                reviews = row.pop("Reviews")
                file.execute(
                    "INSERT INTO omdb VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (number, *row.values()),
                )
                file.execute("INSERT INTO tomatoes VALUES (?, 50, ?, NULL)", (number, reviews))
        return path

    return make


def test_lists_are_split_and_names_are_those_that_people_use(
    database: Callable[..., Path],
) -> None:
    (film,) = all_films(database({}))
    assert film.genres == ("Sci-Fi", "Musical")
    assert film.countries == ("Germany",)
    assert film.directors == ("A", "B")
    assert film.cast == ()
    assert film.runtime is None


def test_films_read_by_their_ids_have_their_casts(database: Callable[..., Path]) -> None:
    path = database({"Cast": "Weaver, Skerritt"}, {"Cast": "Weaver"}, {})
    assert [film.cast for film in all_films(path)] == [(), (), ()]
    films = all_films(path, ["tt2", "tt0"])
    assert [(film.imdb_id, film.cast) for film in films] == [
        ("tt0", ("Weaver", "Skerritt")),
        ("tt2", ()),
    ]


@pytest.mark.parametrize(
    "change",
    [{"Genre": ""}, {"Country": None}, {"Director": ""}, {"Reviews": 0}, {"Reviews": None}],
)
def test_films_of_which_too_little_is_known_are_left_out(
    database: Callable[..., Path], change: dict[str, object]
) -> None:
    assert [film.imdb_id for film in all_films(database(change, {}))] == ["tt1"]


def test_of_two_cuts_of_a_film_the_first_stays(database: Callable[..., Path]) -> None:
    path = database({"imdbID": "tt9"}, {"imdbID": "tt9", "Title": "Alien: the long one"})
    assert [film.title for film in all_films(path)] == ["Alien"]


def test_a_file_that_is_no_database_is_refused_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "movies.db"
    path.write_text("not a database, " * 100)
    with pytest.raises(DataError, match=r"movies\.db: not the films of bokeh_sampledata"):
        all_films(path)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("variegate.data.films.find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'variegate\[films\]'"):
        bundled_file()


def test_reviews_money_oscars_and_praise_make_a_film_better_known() -> None:
    less = [
        ALIEN._replace(reviews=100),
        ALIEN._replace(box_office=None),
        ALIEN._replace(oscars=0),
        ALIEN._replace(tomatometer=20),
    ]
    assert all(fame(film) < fame(ALIEN) for film in less)


def test_each_decade_comes_by_its_share_and_ties_by_id() -> None:
    new = [ALIEN._replace(imdb_id=f"new{n:02}", year=2005) for n in range(23)]
    old = [ALIEN._replace(imdb_id=f"old{n}", year=1945) for n in range(4)]
    order = [film.imdb_id for film in best_known([*old, *reversed(new)])]
    assert [item for item in order if item.startswith("new")] == [f.imdb_id for f in new]
    assert [order.index(film.imdb_id) for film in old] == [5, 12, 19, 26]


def test_countries_of_a_few_films_stand_together() -> None:
    films = [ALIEN] * 20 + [ALIEN._replace(country_names="Peru")]
    assert countries(films)[19:] == (("United States",), ("another country",))


def test_people_of_one_film_have_no_feature() -> None:
    films = [ALIEN, ALIEN, ALIEN._replace(director_names="Once", cast_names="Weaver, Extra")]
    assert directors(films) == (("Scott",), ("Scott",), ())
    assert actors(films) == (("Weaver",),) * 3


def test_directors_who_walk_past_in_their_own_film_are_no_actors() -> None:
    films = [ALIEN._replace(cast_names="Scott, Weaver")] * 2
    assert actors(films) == (("Weaver",), ("Weaver",))
