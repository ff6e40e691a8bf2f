"""MovieLens, as GroupLens ships it."""

import re

import numpy as np

from variegate.arrays import FloatArray
from variegate.data.dataset import Dataset, check_above, liked_dataset
from variegate.data.table_reader import Layout, Rows, read_delimited
from variegate.data.tables import items_from
from variegate.errors import DataError
from variegate.files import PathLike, read_member
from variegate.model.item_table import ItemTable

_RATED = ("user", "item", "rating", "time")
#: The flags of `u.item` in their order, as `u.genre` has them
_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
_FILM_100K = ("item", "title", "released", "on video", "address", *_GENRES)
_FILM_1M = ("item", "title", "genres")


def load_movielens_100k(path: PathLike, *, above: float = 3.0) -> Dataset:
    """Read MovieLens-100K from `ml-100k.zip` or the folder it was unpacked to.

    Ratings greater than `above` count as liked, the rest are left out, as in the paper;
    users and items with nothing left go too. The flag "unknown" is no genre: a film that
    has no other has none, which leaves 18. The year is that of the release date.
    """
    least = check_above(above)
    films = _read(path, "u.item", "ml-100k", _layout("|", _FILM_100K))
    table = items_from(films, "item", {"title": "title"})
    about = ItemTable(
        table.ids,
        table.titles,
        numbers={"year": _years(films, "released", r"-(\d{4})$")},
        lists={"genres": _flagged(films)},
    )
    rated = _read(path, "u.data", "ml-100k", _layout("\t", _RATED))
    return liked_dataset("ml-100k", rated, _RATED[:3], above=least, about=about)


def load_movielens_1m(path: PathLike, *, above: float = 3.0) -> Dataset:
    """Read MovieLens-1M from `ml-1m.zip` or the folder it was unpacked to.

    Likes are as in `load_movielens_100k`. The year is the one in brackets that ends a title.
    """
    least = check_above(above)
    films = _read(path, "movies.dat", "ml-1m", _layout("::", _FILM_1M))
    table = items_from(films, "item", {"title": "title", "lists": ["genres"]})
    about = ItemTable(
        table.ids,
        table.titles,
        numbers={"year": _years(films, "title", r"\((\d{4})\)\s*$")},
        lists=table.lists,
    )
    rated = _read(path, "ratings.dat", "ml-1m", _layout("::", _RATED))
    return liked_dataset("ml-1m", rated, _RATED[:3], above=least, about=about)


def _layout(separator: str, names: tuple[str, ...]) -> Layout:
    return Layout(separator, names, quoted=False, encoding="latin-1")


def _read(path: PathLike, name: str, inner: str, layout: Layout) -> Rows:
    content, where = read_member(path, name, inner=inner)
    return read_delimited(content, where, layout, layout.names or ())


def _years(films: Rows, column: str, pattern: str) -> FloatArray:
    found = [re.search(pattern, text) for text in films.text(column).to_list()]
    return np.array([float(match[1]) if match else np.nan for match in found])


def _flagged(films: Rows) -> tuple[tuple[str, ...], ...]:
    flags = np.stack([films.text(genre).to_numpy() for genre in _GENRES], axis=1)
    wrong = np.argwhere((flags != "0") & (flags != "1"))
    if wrong.size:
        row, place = map(int, wrong[0])
        raise DataError(
            f"{films.place(row)}: the flag of {_GENRES[place]} must be 0 or 1, "
            f"got {flags[row, place]!r}"
        )
    return tuple(
        tuple(_GENRES[place] for place in np.flatnonzero(row == "1") if place > 0) for row in flags
    )
