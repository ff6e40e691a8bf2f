"""Which countries and people have a feature: those with enough films to learn from."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeAlias

from variegate.films.source import Film

#: The labels of each film.
Labels: TypeAlias = tuple[tuple[str, ...], ...]

#: A country with fewer films than this counts as "another country".
FEWEST_FILMS: Final = 20
OTHER_COUNTRY: Final = "another country"
#: How many directors and how many actors have a feature.
MOST_DIRECTORS: Final = 40
MOST_ACTORS: Final = 30
#: In the background of hundreds of films: no one goes to see her.
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
    casts = [
        tuple(name for name in film.cast if name not in EXTRAS.union(film.directors))
        for film in films
    ]
    return _of_the_most(casts, [1.0 / (5 + len(cast)) for cast in casts], MOST_ACTORS)


def _of_the_most(people: Sequence[tuple[str, ...]], parts: Sequence[float], most: int) -> Labels:
    """Return each film's people, of the `most` whose films' parts sum to most.

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
