"""Which films people would know."""

from collections import defaultdict
from collections.abc import Iterable
from math import log, log1p
from typing import Final

from variegate.films.source import Film

#: Of a hundred films, how many are of each decade. Critics on the web write about new films, so
#: that by reviews alone nineteen films in twenty would be of this century; 2014 is the last year.
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
    """Return the films, best known first, with each decade's share all the way down."""
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
