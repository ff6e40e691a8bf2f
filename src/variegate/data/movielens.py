"""MovieLens-100K and MovieLens-1M, as distributed by GroupLens."""

import re

import numpy as np

from variegate.arrays import FloatArray
from variegate.data.dataset import Dataset, check_threshold, implicit_feedback
from variegate.data.table_reader import Layout, Rows, read_delimited
from variegate.data.tables import items_from
from variegate.errors import DataError
from variegate.files import PathLike, read_member
from variegate.model.item_table import ItemTable

_RATED = ("user", "item", "rating", "time")
#: The flags of `u.item`, in the order of `u.genre`
_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
_FILM_100K = ("item", "title", "released", "on video", "address", *_GENRES)
_FILM_1M = ("item", "title", "genres")


def load_movielens_100k(path: PathLike, *, threshold: float = 3.0) -> Dataset:
    """Read MovieLens-100K from `ml-100k.zip` or the folder it was unpacked to.

    Ratings greater than `threshold` are likes; other ratings, and users and items without a
    like, are left out, as in the paper. The flag "unknown" is not a genre, which leaves 18. The
    year is that of the release date.
    """
    checked = check_threshold(threshold)
    films = _read(path, "u.item", "ml-100k", _layout("|", _FILM_100K))
    titled = items_from(films, "item", {"title": "title"})
    table = ItemTable(
        titled.ids,
        titled.titles,
        numbers={"year": _years(films, "released", r"-(\d{4})$")},
        lists={"genres": _genres(films)},
    )
    rated = _read(path, "u.data", "ml-100k", _layout("\t", _RATED))
    return implicit_feedback("ml-100k", rated, _RATED[:3], threshold=checked, item_table=table)


def load_movielens_1m(path: PathLike, *, threshold: float = 3.0) -> Dataset:
    """Read MovieLens-1M from `ml-1m.zip` or the folder it was unpacked to.

    Likes are as in `load_movielens_100k`. The year is the one in brackets at the end of a title.
    """
    checked = check_threshold(threshold)
    films = _read(path, "movies.dat", "ml-1m", _layout("::", _FILM_1M))
    titled = items_from(films, "item", {"title": "title", "lists": ["genres"]})
    table = ItemTable(
        titled.ids,
        titled.titles,
        numbers={"year": _years(films, "title", r"\((\d{4})\)\s*$")},
        lists=titled.lists,
    )
    rated = _read(path, "ratings.dat", "ml-1m", _layout("::", _RATED))
    return implicit_feedback("ml-1m", rated, _RATED[:3], threshold=checked, item_table=table)


def _layout(separator: str, names: tuple[str, ...]) -> Layout:
    return Layout(separator, names, quoted=False, encoding="latin-1")


def _read(path: PathLike, name: str, inner: str, layout: Layout) -> Rows:
    content, where = read_member(path, name, inner=inner)
    return read_delimited(content, where, layout, layout.names or ())


def _years(films: Rows, column: str, pattern: str) -> FloatArray:
    found = [re.search(pattern, text) for text in films.text(column).to_list()]
    return np.array([float(match[1]) if match else np.nan for match in found])


def _genres(films: Rows) -> tuple[tuple[str, ...], ...]:
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
