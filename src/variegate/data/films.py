"""The bundled films as a catalogue with four distances."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from math import log, log1p
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from variegate.arrays import check_count
from variegate.errors import DataError, MissingExtraError
from variegate.model.catalogue import Catalogue
from variegate.model.columns import LabelColumn
from variegate.model.distances import cosine, difference, jaccard
from variegate.model.encoder import ColumnSource, Encoder, VectorSource, content_features
from variegate.model.item_table import ItemTable

#: Common names of countries for those in Wikidata.
COUNTRY_NAMES: Final = {
    "British Hong Kong": "Hong Kong",
    "Kingdom of Italy": "Italy",
    "People's Republic of China": "China",
    "The Bahamas": "Bahamas",
    "West Germany": "Germany",
}
#: The source has "Music" for a handful of films that "Musical" describes as well.
GENRE_NAMES: Final = {"Music": "Musical"}

#: Without ids all films are read, and no casts, which are most of the data
_QUERY: Final = """
    SELECT o.imdbID, o.Title, o.Year, o.Genre, o.Country, o.Director,
           CASE WHEN :ids IS NULL THEN '' ELSE ifnull(o.[Cast], '') END,
           o.Runtime, o.Oscars, t.Meter, t.Reviews, t.BoxOffice
    FROM omdb AS o JOIN tomatoes AS t ON o.ID = t.ID
    WHERE o.Genre != '' AND o.Country != '' AND o.Director != ''
      AND t.Meter IS NOT NULL AND t.Reviews > 0
      AND (:ids IS NULL OR o.imdbID IN (SELECT value FROM json_each(:ids)))
    ORDER BY o.ID
"""


class Film(NamedTuple):
    """The data of one film, from Wikidata (CC0) by way of bokeh_sampledata.

    Names are joined by commas, as in the source, and split where they are used: most films that
    are read are not.
    """

    imdb_id: str
    title: str
    year: int
    genre_names: str
    country_names: str
    director_names: str
    #: The whole cast, if the film was read by its id; empty for many animated films
    cast_names: str
    #: Minutes
    runtime: float | None
    oscars: int
    #: Per cent of the critics who liked it
    tomatometer: int
    #: How many critics wrote about it
    reviews: int
    #: US dollars
    box_office: float | None

    @property
    def decade(self) -> int:
        """The first year of its ten."""
        return self.year // 10 * 10

    @property
    def genres(self) -> tuple[str, ...]:
        """Its genres."""
        return _labels(self.genre_names, GENRE_NAMES)

    @property
    def countries(self) -> tuple[str, ...]:
        """The countries it was made in."""
        return _labels(self.country_names, COUNTRY_NAMES)

    @property
    def directors(self) -> tuple[str, ...]:
        """Its directors."""
        return _labels(self.director_names, {})

    @property
    def cast(self) -> tuple[str, ...]:
        """Its actors, stars and extras."""
        return _labels(self.cast_names, {})


def all_films(path: Path | None = None, ids: Sequence[str] | None = None) -> list[Film]:
    """Return every film with a genre, a country, a director and a review, each id once.

    Parameters
    ----------
    path
        The SQLite file; by default that of bokeh_sampledata.
    ids
        Return only these films, with their casts.
    """
    file = bundled_file() if path is None else path
    films: dict[str, Film] = {}
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            wanted = None if ids is None else json.dumps(list(ids))
            for row in database.execute(_QUERY, {"ids": wanted}):
                # Another cut of a film has the same id: the first one is kept.
                films.setdefault(row[0], Film._make(row))
    except sqlite3.Error as error:
        raise DataError(f"{file}: not the films of bokeh_sampledata: {error}") from None
    return list(films.values())


def bundled_file() -> Path:
    """Return the path of the films in the installed bokeh_sampledata."""
    # Found, not imported: its own modules would load pandas.
    spec = find_spec("bokeh_sampledata")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    files = [Path(folder, "_data", "movies.db") for folder in folders]
    for file in files:
        if file.is_file():
            return file
    raise MissingExtraError("the films are not installed: pip install 'variegate[films]'")


def _labels(joined: str, better: dict[str, str]) -> tuple[str, ...]:
    names = (better.get(name, name) for name in joined.split(", "))
    return tuple(dict.fromkeys(name for name in names if name))


#: Number of films of each decade per hundred. By the number of reviews alone, 95% of the films
#: would be from this century; 2014 is the last year.
SHARES: Final = {
    1940: 4,
    1950: 6,
    1960: 8,
    1970: 11,
    1980: 15,
    1990: 20,
    2000: 23,
    2010: 13,
}


def best_known(films: Iterable[Film]) -> list[Film]:
    """Return the films, best known first, with each decade's share in every prefix."""
    decades: defaultdict[int, list[Film]] = defaultdict(list)
    for film in films:
        decades[film.decade].append(film)
    placed = []
    for decade, of_decade in decades.items():
        of_decade.sort(key=lambda film: (-fame(film), film.imdb_id))
        share = SHARES.get(decade, 1)
        placed += [(place / share, film.imdb_id, film) for place, film in enumerate(of_decade, 1)]
    return [film for _place, _id, film in sorted(placed, key=lambda entry: entry[:2])]


def fame(film: Film) -> float:
    """Return how well known a film is among those of its years: by its reviews above all.

    The weights were set by looking at who comes in. With the box office "Home Alone" does,
    with the Oscars "The Usual Suspects", with the tomatometer "Memento": a film that was liked
    is remembered. The critics counted are American, so a film from elsewhere with three
    quarters of the reviews is as well known.
    """
    elsewhere = "United States" not in film.countries
    return (
        log(film.reviews)
        + 0.15 * log1p((film.box_office or 0.0) / 1e6)
        + 0.05 * film.oscars
        + 0.5 * film.tomatometer / 100
        + 0.3 * elsewhere
    )


#: The labels of each film.
Labels: TypeAlias = tuple[tuple[str, ...], ...]

#: A country with fewer films than this counts as "another country".
FEWEST_FILMS: Final = 20
OTHER_COUNTRY: Final = "another country"
#: How many directors and how many actors have a feature.
MOST_DIRECTORS: Final = 40
MOST_ACTORS: Final = 30
#: An extra in the background of hundreds of films.
EXTRAS: Final = frozenset({"Bess Flowers"})


def countries(films: Sequence[Film]) -> Labels:
    """Return each film's countries, those of a few films together."""
    counts = Counter(name for film in films for name in film.countries)
    return tuple(
        tuple(name if counts[name] >= FEWEST_FILMS else OTHER_COUNTRY for name in film.countries)
        for film in films
    )


def directors(films: Sequence[Film]) -> Labels:
    """Return each film's directors, of those who made most of these films."""
    return _of_the_most([film.directors for film in films], [1.0] * len(films), MOST_DIRECTORS)


def actors(films: Sequence[Film]) -> Labels:
    """Return each film's actors, of those best known.

    A cast lists extras beside stars. An extra stands in long lists, so a film counts for less
    the longer its list is. Directors in their own film do not count: Hitchcock walks past.
    """
    others = [EXTRAS.union(film.directors) for film in films]
    casts = [
        tuple(name for name in film.cast if name not in left_out)
        for film, left_out in zip(films, others, strict=True)
    ]
    return _of_the_most(casts, [1.0 / (5 + len(cast)) for cast in casts], MOST_ACTORS)


def _of_the_most(people: Sequence[tuple[str, ...]], parts: Sequence[float], most: int) -> Labels:
    """Return each film's people, restricted to the `most` with the largest sums of parts.

    Films come best known first, so that of two with the same sum the better known stays.
    """
    films_of: Counter[str] = Counter(name for names in people for name in names)
    sums = dict.fromkeys(films_of, 0.0)
    for names, part in zip(people, parts, strict=True):
        for name in names:
            sums[name] += part
    often = [name for name, count in films_of.items() if count > 1]
    kept = set(sorted(often, key=lambda name: -sums[name])[:most])
    return tuple(tuple(name for name in names if name in kept) for names in people)


#: Weights of the columns of the relevance features: few enough to be learnt from some dozens of
#: clicks, and stored in 8 kB per user.
TASTE: Final = {
    "genres": 1.0,
    "decades": 0.5,
    "countries": 0.5,
    "tomatometer": 0.4,
    "popularity": 0.4,
}
#: Weights of the columns of the similarity: also people, who have too few clicks to be learnt.
LIKENESS: Final = {
    "genres": 1.0,
    "decades": 0.4,
    "countries": 0.5,
    "directors": 0.6,
    "actors": 0.6,
    "year": 0.5,
    "tomatometer": 0.3,
    "popularity": 0.2,
    "runtime": 0.2,
}
#: Years that count as distance 1: the mean distance of two films is then 0.5, as for countries,
#: and the largest one does not dominate.
YEARS_APART: Final = 40.0


def film_catalogue(*, films: int = 1500) -> Catalogue:
    """Return the best known of the bundled films, of 1940 to 2014, best known first.

    The data are from Wikidata (CC0), in the package bokeh_sampledata. The distances are
    "features" (cosine of all features, people too), "genres" and "countries" (Jaccard) and
    "years" (forty count as 1); relevance has fewer features. Ids are those of IMDb; a title of
    several films includes the year. The attribute ``popularity`` decreases from 1 in the order of
    the films.

    Parameters
    ----------
    films
        How many, from 1 to about 17,000.
    """
    ranked = best_known(all_films())
    count = check_count(films, len(ranked), name="films", of="the bundled films")
    ids = [film.imdb_id for film in ranked[:count]]
    with_casts = {film.imdb_id: film for film in all_films(ids=ids)}
    chosen = [with_casts[imdb_id] for imdb_id in ids]
    table = film_table(chosen)
    taste = content_features(table, columns=TASTE, weights=TASTE)
    likeness = content_features(table, weights=LIKENESS)
    years = difference([film.year for film in chosen], scale=YEARS_APART, name="years")
    return Catalogue(
        table.ids,
        taste.features,
        [
            cosine(likeness.features, name="features"),
            jaccard([film.genres for film in chosen], name="genres"),
            years,
            jaccard([film.countries for film in chosen], name="countries"),
        ],
        table.titles,
        _attributes(chosen, table),
        feature_names=taste.names,
        encoder=_of_attributes(taste.encoder),
        sources={
            "features": VectorSource(_of_attributes(likeness.encoder)),
            "genres": ColumnSource("genres", "list"),
            "years": ColumnSource("year", "number", float(np.median(years.rows))),
            "countries": ColumnSource("countries", "list"),
        },
    )


def _of_attributes(encoder: Encoder) -> Encoder:
    """Return the encoder as it reads a film's attributes, which have the years and all countries.

    A director or an actor who has no feature says nothing, as in the table.
    """
    columns = tuple(
        replace(column, rest=OTHER_COUNTRY)
        if isinstance(column, LabelColumn) and OTHER_COUNTRY in column.labels
        else column
        for column in encoder.columns
    )
    return replace(encoder, columns=columns, decades={"decades": "year"})


def film_table(films: Sequence[Film]) -> ItemTable:
    """Return the films as an item table, with the columns that features are made from."""
    return ItemTable(
        tuple(film.imdb_id for film in films),
        _titles(films),
        numbers={
            "year": np.array([film.year for film in films], dtype=np.float64),
            "tomatometer": np.array([film.tomatometer for film in films], dtype=np.float64),
            "popularity": np.array(_popularity(films)),
            "runtime": np.array(
                [np.nan if film.runtime is None else film.runtime for film in films]
            ),
        },
        lists={
            "genres": tuple(film.genres for film in films),
            "decades": tuple((f"{film.decade}s",) for film in films),
            "countries": countries(films),
            "directors": directors(films),
            "actors": actors(films),
        },
    )


def _titles(films: Sequence[Film]) -> tuple[str, ...]:
    counts = Counter(film.title for film in films)
    return tuple(
        film.title if counts[film.title] == 1 else f"{film.title} ({film.year})" for film in films
    )


def _popularity(films: Sequence[Film]) -> list[float]:
    return [1.0 - place / len(films) for place in range(len(films))]


def _attributes(films: Sequence[Film], table: ItemTable) -> dict[str, list[Any]]:
    return {
        "year": [film.year for film in films],
        "genres": [list(film.genres) for film in films],
        "countries": [list(film.countries) for film in films],
        "directors": [list(film.directors) for film in films],
        "actors": [list(names) for names in table.lists["actors"]],
        "runtime": [None if film.runtime is None else int(film.runtime) for film in films],
        "tomatometer": [film.tomatometer for film in films],
        "reviews": [film.reviews for film in films],
        "oscars": [film.oscars for film in films],
        "popularity": _popularity(films),
    }
