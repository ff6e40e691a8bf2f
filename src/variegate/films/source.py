"""The films of the package bokeh_sampledata: facts from Wikidata, free of rights (CC0)."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from variegate.errors import DataError, MissingExtraError

#: Names that Wikidata gives and people would not, and states that have another name now.
COUNTRY_NAMES: Final = {
    "British Hong Kong": "Hong Kong",
    "Kingdom of Italy": "Italy",
    "People's Republic of China": "China",
    "The Bahamas": "Bahamas",
    "West Germany": "Germany",
}
#: The source has "Music" for a handful of films that "Musical" describes as well.
GENRE_NAMES: Final = {"Music": "Musical"}

_QUERY: Final = """
    SELECT o.imdbID, o.Title, o.Year, o.Genre, o.Country, o.Director, o.[Cast],
           o.Runtime, o.Oscars, t.Meter, t.Reviews, t.BoxOffice
    FROM omdb AS o JOIN tomatoes AS t ON o.ID = t.ID
    WHERE o.Genre != '' AND o.Country != '' AND o.Director != ''
      AND t.Meter IS NOT NULL AND t.Reviews > 0
    ORDER BY o.ID
"""


@dataclass(frozen=True)
class Film:
    """What is known of one film."""

    imdb_id: str
    title: str
    year: int
    genres: tuple[str, ...]
    countries: tuple[str, ...]
    directors: tuple[str, ...]
    #: Everyone who is in it, small parts too, by name; none for many animated films
    cast: tuple[str, ...]
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


def all_films(path: Path | None = None) -> list[Film]:
    """Return every film with a genre, a country, a director and a review, each id once.

    `path` is the SQLite file; the one that bokeh_sampledata brings, if not given.
    """
    file = bundled_file() if path is None else path
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute(_QUERY).fetchall()
    except sqlite3.Error as error:
        raise DataError(f"{file}: not the films of bokeh_sampledata: {error}") from None
    films: dict[str, Film] = {}
    for imdb_id, title, year, genres, countries, directors, cast, *numbers in rows:
        film = Film(
            imdb_id,
            title,
            year,
            _labels(genres, GENRE_NAMES),
            _labels(countries, COUNTRY_NAMES),
            _labels(directors, {}),
            _labels(cast or "", {}),
            *numbers,
        )
        # A second cut of a film has the id of the first: the first stays.
        films.setdefault(imdb_id, film)
    return list(films.values())


def bundled_file() -> Path:
    """Return where the installed bokeh_sampledata keeps its films."""
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
