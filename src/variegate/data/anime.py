"""The Anime Recommendations Database, as Kaggle ships it."""

from dataclasses import replace
from html import unescape

from variegate.data.dataset import Dataset, check_above, liked_dataset
from variegate.data.table_reader import Layout, read_delimited
from variegate.data.tables import ItemColumns, items_from, wanted_columns
from variegate.files import PathLike, read_member

#: Left out are the site's own mean rating and number of members: they tell of other users.
_COLUMNS: ItemColumns = {
    "title": "name",
    "numbers": ["episodes"],
    "categories": ["type"],
    "lists": ["genre"],
    "list_separator": ",",
    "missing": ["", "Unknown"],
}


def load_anime(path: PathLike, *, above: float = 6.0) -> Dataset:
    """Read `anime.csv` and `rating.csv` from the zip they come in, or from its folder.

    Ratings greater than `above` count as liked, as in the paper. A rating of -1 says
    "watched, not rated", which is no like. Genres are the categories; an anime without a
    genre has none.
    """
    least = check_above(above)
    content, where = read_member(path, "anime.csv", inner="anime")
    rows = read_delimited(content, where, Layout(), ["anime_id", *wanted_columns(_COLUMNS)])
    about = items_from(rows, "anime_id", _COLUMNS)
    about = replace(
        about,
        titles=tuple(map(unescape, about.titles)),
        lists={"genres": about.lists["genre"]},
    )
    rated = ("user_id", "anime_id", "rating")
    content, where = read_member(path, "rating.csv", inner="anime")
    ratings = read_delimited(content, where, Layout(), rated)
    return liked_dataset("anime", ratings, rated, above=max(least, -1.0), about=about)
