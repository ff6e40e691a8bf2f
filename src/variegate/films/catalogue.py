"""The bundled films as a catalogue with four distances."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from variegate.arrays import check_count
from variegate.catalogue import Catalogue
from variegate.content import ColumnSource, Encoder, VectorSource, content_features
from variegate.content.columns import LabelColumn
from variegate.datasets.items import ItemTable
from variegate.distances import cosine, difference, jaccard
from variegate.films.choice import best_known
from variegate.films.labels import OTHER_COUNTRY, actors, countries, directors
from variegate.films.source import Film, all_films

#: What a taste is learnt over, and how much each column counts: few enough to be learnt from
#: some dozens of clicks, and kept for each user in 8 kB.
TASTE: Final = {
    "genres": 1.0,
    "decades": 0.5,
    "countries": 0.5,
    "tomatometer": 0.4,
    "popularity": 0.4,
}
#: What makes two films alike: people too, whom no one clicks often enough to learn about.
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
#: Years that count as 1 apart: two films are then 0.5 apart on average, as they are by country,
#: and those of 1940 and 2014 not so far that one asks for nothing else.
YEARS_APART: Final = 40.0


def film_catalogue(*, films: int = 1500) -> Catalogue:
    """Return the best known of the bundled films, of 1940 to 2014, best known first.

    The facts are Wikidata's (CC0), as bokeh_sampledata brings them. The distances are
    "features" (cosine of all that is known, people too), "genres" and "countries" (Jaccard) and
    "years" (forty count as 1); the features that a taste is learnt over are fewer. Ids
    are those of IMDb; a title that several films have comes with the year. The attribute
    ``popularity`` falls from 1, in the order of the films.

    Parameters
    ----------
    films
        How many, from 1 to about 17,000.
    """
    ranked = best_known(all_films())
    chosen = ranked[: check_count(films, len(ranked), name="films", of="the bundled films")]
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
        _attributes(chosen),
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


def _attributes(films: Sequence[Film]) -> dict[str, list[Any]]:
    return {
        "year": [film.year for film in films],
        "genres": [list(film.genres) for film in films],
        "countries": [list(film.countries) for film in films],
        "directors": [list(film.directors) for film in films],
        "actors": [list(names) for names in actors(films)],
        "runtime": [None if film.runtime is None else int(film.runtime) for film in films],
        "tomatometer": [film.tomatometer for film in films],
        "reviews": [film.reviews for film in films],
        "oscars": [film.oscars for film in films],
        "popularity": _popularity(films),
    }
